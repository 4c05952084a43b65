/** Whether a life grew: memory and descriptors against time, by least squares over what follows its warm-up. */
import { median } from '../bench/compare.ts'
import type { Life, Sample } from './life.ts'

/** The first of a life is its warm-up, and says nothing. */
const WARM_UP_MS = 60_000
/** Of a shorter rest no slope is told. */
const MIN_MS = 60_000
const MAX_MEBIBYTES = 64
const MAX_DESCRIPTORS = 64

export interface Growth {
  readonly mebibytesPerHour: number
  readonly descriptorsPerHour: number
  /** The middle of the last quarter over that of the first, after the warm-up. */
  readonly mebibytes: number
  readonly descriptors: number
  readonly isFlat: boolean
}

/** Undefined for a life that was too short to tell. */
export function readGrowth({ samples }: Life): Growth | undefined {
  const warm = samples.filter(({ atMs }) => atMs >= WARM_UP_MS)
  const first = warm[0]
  const last = warm.at(-1)
  if (!first || !last || last.atMs - first.atMs < MIN_MS) return undefined
  const mebibytes = rise(warm, (one) => one.mebibytes)
  const descriptors = rise(warm, (one) => one.descriptors)
  return {
    mebibytesPerHour: slope(warm, (one) => one.mebibytes) * 3_600_000,
    descriptorsPerHour: slope(warm, (one) => one.descriptors) * 3_600_000,
    mebibytes,
    descriptors,
    isFlat: mebibytes <= MAX_MEBIBYTES && descriptors <= MAX_DESCRIPTORS,
  }
}

type Read = (sample: Sample) => number

/** Per millisecond. */
function slope(samples: readonly Sample[], read: Read): number {
  const mean = (of: Read): number => samples.reduce((sum, one) => sum + of(one), 0) / samples.length
  const at = mean(({ atMs }) => atMs)
  const value = mean(read)
  const [above, below] = samples.reduce(
    ([up, down], one) => [up + (one.atMs - at) * (read(one) - value), down + (one.atMs - at) ** 2],
    [0, 0],
  )
  return above / below
}

function rise(samples: readonly Sample[], read: Read): number {
  const quarter = Math.ceil(samples.length / 4)
  return median(samples.slice(-quarter).map(read)) - median(samples.slice(0, quarter).map(read))
}

/** One line: how it ended, how long it lasted, and what it used. */
export function renderLife(life: Life): string {
  const { number, samples, endedBy, startedMs, endedMs = startedMs, complaints } = life
  const seconds = Math.round((endedMs - startedMs) / 1000)
  const most = (read: Read): string => Math.max(0, ...samples.map(read)).toFixed(0)
  const growth = readGrowth(life)
  const line =
    `life ${String(number).padStart(3)}  ${String(seconds).padStart(5)} s  ${endedBy ?? 'unended'}  ` +
    `RSS middle ${median(samples.map((one) => one.mebibytes)).toFixed(0)}, most ${most((one) => one.mebibytes)} MiB  ` +
    `descriptors middle ${median(samples.map((one) => one.descriptors)).toFixed(0)}, most ${most((one) => one.descriptors)}`
  const slopes = growth
    ? `  slopes ${signed(growth.mebibytesPerHour)} MiB/h, ${signed(growth.descriptorsPerHour)} descriptors/h; ` +
      `rose by ${signed(growth.mebibytes)} MiB, ${signed(growth.descriptors)}: ${growth.isFlat ? 'flat' : 'GROWING'}`
    : ''
  return line + slopes + (complaints.length > 0 ? `  complaints ${complaints.length}` : '')
}

const signed = (number: number): string => (number < 0 ? '' : '+') + number.toFixed(0)
