/** Short times and sizes for people. */
import { type Instant, readInstant } from '#domain/clock.ts'

const STEPS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
] as const

/** "3d ago", "in 2h", "now"; null stays null. */
export function relativeTime(time: string | null, now: Instant): string | null {
  const at = time === null ? undefined : readInstant(time)
  if (at === undefined) return null
  const span = Math.abs(now - at)
  const step = STEPS.find(([ms]) => span >= ms)
  if (step === undefined) return 'now'
  const text = `${Math.floor(span / step[0])}${step[1]}`
  return at > now ? `in ${text}` : `${text} ago`
}

/** "3d 4h", "12m 5s", "4s". */
export function duration(seconds: number): string {
  const parts = STEPS.map(([ms, unit], index) => {
    const larger = STEPS[index - 1]?.[0]
    const rest = larger === undefined ? seconds * 1000 : (seconds * 1000) % larger
    return [Math.floor(rest / ms), unit] as const
  })
  const first = parts.findIndex(([count]) => count > 0)
  if (first === -1) return '0s'
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ')
}

/** "40s" until a time that is yet to come; null stays null. */
export function timeLeft(time: string | null, now: Instant): string | null {
  const at = time === null ? undefined : readInstant(time)
  return at === undefined ? null : duration(Math.max(1, Math.ceil((at - now) / 1000)))
}

/** "412 MB" */
export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = count
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`
}
