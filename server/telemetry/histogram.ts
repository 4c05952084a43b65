/** A histogram with exponential buckets: each bound is a fixed power of two times the one before. */

export interface Scale {
  /** The largest value of the first bucket. */
  readonly unit: number
  /** Each bound is 2 ** doublings times the one before. */
  readonly doublings: number
  readonly bounds: readonly number[]
}

const powers = (unit: number, doublings: number, buckets: number): Scale => ({
  unit,
  doublings,
  bounds: Array.from({ length: buckets }, (_, n) => unit * 2 ** (n * doublings)),
})

/** From 10 ms, doubled 14 times up to 164 s: the bounds of OpenTelemetry's GenAI conventions, and one more for long reasoning. */
export const MILLISECONDS: Scale = powers(10, 1, 15)

/** 1, 4, 16 … 67 million: the bounds of the GenAI conventions. */
export const TOKENS: Scale = powers(1, 2, 14)

export interface Histogram {
  readonly scale: Scale
  /** One per bound and one above the last; not cumulative. */
  readonly counts: number[]
  sum: number
}

export const startHistogram = (of: Scale): Histogram => ({
  scale: of,
  counts: new Array<number>(of.bounds.length + 1).fill(0),
  sum: 0,
})

/** Counts a value in the first bucket whose bound is not less; the bit length of value / unit gives the bucket without a search. */
export function observe(histogram: Histogram, value: number): void {
  const { scale, counts } = histogram
  const { unit, doublings } = scale
  const units = Math.min(Math.ceil(value / unit), MAX_UNITS)
  const doubled = units <= 1 ? 0 : 32 - Math.clz32(units - 1)
  const bucket = Math.min(Math.ceil(doubled / doublings), counts.length - 1)
  counts[bucket] = (counts[bucket] ?? 0) + 1
  histogram.sum += value
}

const MAX_UNITS = 2 ** 31
