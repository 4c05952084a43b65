/** Randomness that can be repeated: the same seed gives the same run. */

export interface Chance {
  /** At least 0, less than 1. */
  draw(): number
  /** Of a process without memory: most are short, a few are long. */
  exponential(mean: number): number
  between(least: number, most: number): number
  /** A whole number of at least 0 and less than `count`. */
  pick(count: number): number
}

export function startChance(seed: number): Chance {
  let state = seed >>> 0
  // A Weyl sequence, mixed twice (mulberry32); good enough for queues, never for secrets.
  const draw = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  return {
    draw,
    exponential: (mean) => -Math.log(1 - draw()) * mean,
    between: (least, most) => least + draw() * (most - least),
    pick: (count) => Math.floor(draw() * count),
  }
}
