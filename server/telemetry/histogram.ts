/** A histogram of durations: counts per bucket, as Prometheus adds them up. */

/** 10 ms doubled up to 82 s, and once more for answers that think long (those of the GenAI conventions, and one). */
export const BUCKETS_MS: readonly number[] = Array.from({ length: 15 }, (_, n) => 10 * 2 ** n)

export interface Histogram {
  /** Per bucket of `BUCKETS_MS`, and last of all what lies beyond; not cumulative. */
  readonly counts: number[]
  sumMs: number
}

export const startHistogram = (): Histogram => ({
  counts: new Array<number>(BUCKETS_MS.length + 1).fill(0),
  sumMs: 0,
})

export function observe(histogram: Histogram, ms: number): void {
  let bucket = 0
  while (bucket < BUCKETS_MS.length && ms > (BUCKETS_MS[bucket] ?? 0)) bucket++
  histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1
  histogram.sumMs += ms
}
