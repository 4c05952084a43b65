/** The clock port, through which all of the gateway reads the time, and the UTC calendar. */
import { Canceller, type CancelSignal } from './cancel.ts'

declare const unit: unique symbol

/** Milliseconds since the Unix epoch. */
export type Instant = number & { readonly [unit]: 'epoch-ms' }

/** A UTC day: whole days since the Unix epoch. */
export type Day = number & { readonly [unit]: 'utc-day' }

export interface Clock {
  /** The time of day. It may be wrong, and steps when it is corrected. */
  now(): Instant
  /** Whole milliseconds since some moment, which no correction moves: for durations. */
  monotonicMs(): number
}

export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

/** A backward step of the clock by more than this is a correction: what was noted in the future must not be waited for. */
export const LARGE_STEP_MS = 5 * MINUTE_MS

export const systemClock: Clock = {
  now: () => Date.now() as Instant,
  monotonicMs: () => Math.floor(performance.now()),
}

/** The clock of a process that may have to go by that of its store. */
export interface SettableClock extends Clock {
  /** It goes on from there by the time that passes, whatever the machine's clock does. */
  follow(at: Instant): void
  /** How far the machine's clock is ahead of it. */
  aheadMs(): number
}

export function settable(machine: Clock): SettableClock {
  let originMs: number | null = null
  const { monotonicMs } = machine
  const now = (): Instant =>
    originMs === null ? machine.now() : ((monotonicMs() + originMs) as Instant)
  return {
    now,
    monotonicMs,
    follow(at) {
      originMs = at - monotonicMs()
    },
    aheadMs: () => machine.now() - now(),
  }
}

const NEVER: CancelSignal = new Canceller()

/** Resolves after `ms`; rejects with the signal's reason when that comes first. */
export const pause = (ms: number, signal: CancelSignal = NEVER): Promise<void> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const leave = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', leave)
      resolve()
    }, ms)
    signal.addEventListener('abort', leave, { once: true })
  })

export const instant = (epochMs: number): Instant => epochMs as Instant
export const later = (from: Instant, ms: number): Instant => (from + ms) as Instant
/** Milliseconds from one instant to a later one; 0 where the clock was set back in between. */
export const elapsedMs = (from: Instant, to: Instant): number => Math.max(0, to - from)
export const dayOf = (at: Instant): Day => Math.floor(at / DAY_MS) as Day
export const dayStart = (day: Day): Instant => (day * DAY_MS) as Instant
export const nextDay = (day: Day): Day => (day + 1) as Day

/** The first day of the UTC month that `day` lies in. */
export function monthStart(day: Day): Day {
  const date = new Date(day * DAY_MS)
  return (Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / DAY_MS) as Day
}

/** The first day of the UTC month after the one that `day` lies in. */
export function nextMonthStart(day: Day): Day {
  const date = new Date(day * DAY_MS)
  return (Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / DAY_MS) as Day
}

const FIRST_INSTANT = Date.parse('0000-01-01T00:00:00Z')
const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z')

/** Whether it can be written: RFC 3339 has years of four digits. */
export const isOfCalendar = (at: Instant): boolean => at >= FIRST_INSTANT && at <= LAST_INSTANT

/** The last rendered second is cached, because the log has many lines per second. */
let second = Number.NaN
let secondText = ''

/** ISO 8601 in UTC with `Z`; whole seconds carry no fraction. Null stays null. */
export function renderInstant(at: Instant): string
export function renderInstant(at: Instant | null): string | null
export function renderInstant(at: Instant | null): string | null {
  if (at === null) return null
  const whole = Math.trunc(at)
  const ms = ((whole % 1000) + 1000) % 1000
  if (whole - ms !== second) {
    secondText = new Date(whole - ms).toISOString().slice(0, -'.000Z'.length)
    second = whole - ms
  }
  return ms === 0 ? `${secondText}Z` : `${secondText}.${String(ms).padStart(3, '0')}Z`
}

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** Reads an RFC 3339 time with an offset; undefined for anything else, including a date that does not exist. */
export function readInstant(text: string): Instant | undefined {
  const [, year, month, day] = RFC_3339.exec(text) ?? []
  if (!isCalendarDay(Number(year), Number(month), Number(day))) return undefined
  const epochMs = Date.parse(text)
  return Number.isNaN(epochMs) ? undefined : (epochMs as Instant)
}

/** `Date.parse` reads 30 February as 2 March, which is never what was meant. */
const isCalendarDay = (year: number, month: number, day: number): boolean =>
  new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day

/** Unix seconds, for OpenAI's `created`. */
export const unixSeconds = (at: Instant): number => Math.floor(at / 1000)

/** The UTC date of a day: "2026-08-23". */
export const renderDay = (day: Day): string => new Date(day * DAY_MS).toISOString().slice(0, 10)

/** Reads "2026-08-23"; undefined for anything else, including a date that does not exist. */
export function readDay(text: string): Day | undefined {
  const start = /^\d{4}-\d\d-\d\d$/.test(text) ? readInstant(`${text}T00:00:00Z`) : undefined
  return start === undefined ? undefined : dayOf(start)
}

const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

/** Reads an HTTP date in the preferred format of RFC 9110 §5.6.7; undefined for anything else. */
export function readHttpDate(text: string): Instant | undefined {
  const epochMs = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(epochMs) ? undefined : (epochMs as Instant)
}

const CERTIFICATE_DATE = /^[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d \d{4} GMT$/

/** Reads a date of a certificate as OpenSSL prints it, "Oct 28 10:53:18 2026 GMT"; undefined for anything else. */
export function readCertificateDate(text: string): Instant | undefined {
  const epochMs = CERTIFICATE_DATE.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(epochMs) ? undefined : (epochMs as Instant)
}

/** When a request arrived. */
export interface Arrival {
  /** When the request arrived. */
  readonly arrivedAt: Instant
  /** The same moment by `Clock.monotonicMs`. */
  readonly arrivedMs: number
}

/** How long ago a request arrived. */
export const sinceArrivalMs = (clock: Clock, { arrivedMs }: Arrival): number =>
  clock.monotonicMs() - arrivedMs
