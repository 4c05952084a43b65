/** A histogram: counts per bucket, as Prometheus adds them up; each bucket reaches a power of two further than the last. */

export interface Scale {
  /** The largest value of the first bucket. */
  readonly unit: number
  /** Each bound is the one before times 2 to this. */
  readonly doublings: number
  readonly bounds: readonly number[]
}

const powers = (unit: number, doublings: number, buckets: number): Scale => ({
  unit,
  doublings,
  bounds: Array.from({ length: buckets }, (_, n) => unit * 2 ** (n * doublings)),
})

/** 10 ms doubled up to 82 s, and once more for answers that think long (those of the GenAI conventions, and one). */
export const MILLISECONDS: Scale = powers(10, 1, 15)

/** 1, 4, 16 … 67 million: the ones of the GenAI conventions. */
export const TOKENS: Scale = powers(1, 2, 14)

export interface Histogram {
  readonly scale: Scale
  /** Per bound, and last of all what lies beyond; not cumulative. */
  readonly counts: number[]
  sum: number
}

export const startHistogram = (of: Scale): Histogram => ({
  scale: of,
  counts: new Array<number>(of.bounds.length + 1).fill(0),
  sum: 0,
})

/** Into the first bucket whose bound is not less: how often the unit has to be doubled is how many bits its count has. */
export function observe(histogram: Histogram, value: number): void {
  const { scale, counts } = histogram
  const { unit, doublings } = scale
  const units = Math.min(Math.ceil(value / unit), MOST_UNITS)
  const doubled = units <= 1 ? 0 : 32 - Math.clz32(units - 1)
  const bucket = Math.min(Math.ceil(doubled / doublings), counts.length - 1)
  counts[bucket] = (counts[bucket] ?? 0) + 1
  histogram.sum += value
}

const MOST_UNITS = 2 ** 31
