/** Hours and days of the dashboard: read from the log once a minute, of which only the last hours can have changed. */
import {
  type Clock,
  DAY_MS,
  dayOf,
  dayStart,
  HOUR_MS,
  type Instant,
  instant,
  later,
  pause,
  renderInstant,
} from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import { NO_MONEY, renderUsd } from '#domain/money.ts'
import { addHours, type TrendHour } from '#domain/trend.ts'
import type { OperatorDeps } from '../deps.ts'
import type { TrendPointRecord, TrendsRecord } from './record.ts'

const HOURS = 24
const DAYS = 14
/** A request may run for so long before the log has it. */
const UNSETTLED_MS = 2 * HOUR_MS

/** Remembers the hours that are over: what it answers is what there was a moment ago. */
export function prepareTrends(deps: OperatorDeps, accountId: AccountId | null) {
  const known = new Map<Instant, TrendHour>()
  let readUntil: Instant | null = null
  return async (): Promise<TrendsRecord> => {
    const now = deps.clock.now()
    const first = dayStart((dayOf(now) - DAYS + 1) as ReturnType<typeof dayOf>)
    const since: Instant = readUntil === null ? first : hourOf(later(readUntil, -UNSETTLED_MS))
    const read = await deps.store.activity.trend({ since, ...(accountId && { accountId }) })
    for (const one of read) known.set(one.hour, one)
    for (const hour of known.keys()) if (hour < first) known.delete(hour)
    readUntil = now
    return render(known, now)
  }
}

const hourOf = (at: Instant): Instant => instant(Math.floor(at / HOUR_MS) * HOUR_MS)

function render(known: ReadonlyMap<Instant, TrendHour>, now: Instant): TrendsRecord {
  const thisHour = hourOf(now)
  const today = dayStart(dayOf(now))
  const sum = (from: Instant, ms: number): TrendPointRecord => {
    const own = [...known.values()].filter(({ hour }) => hour >= from && hour < from + ms)
    return renderPoint(own.reduce(addHours, { ...NOTHING, hour: from }))
  }
  return {
    hours: Array.from({ length: HOURS }, (_, n) =>
      sum(later(thisHour, (n - HOURS + 1) * HOUR_MS), HOUR_MS),
    ),
    days: Array.from({ length: DAYS }, (_, n) =>
      sum(later(today, (n - DAYS + 1) * DAY_MS), DAY_MS),
    ),
  }
}

const NOTHING: Omit<TrendHour, 'hour'> = {
  requests: 0,
  failed: 0,
  refused: 0,
  answered: 0,
  firstEventMs: 0,
  tokens: 0,
  cost: NO_MONEY,
}

const renderPoint = (one: TrendHour): TrendPointRecord => ({
  at: renderInstant(one.hour),
  requests: one.requests,
  failed: one.failed,
  refused: one.refused,
  first_byte_mean_ms: one.answered === 0 ? null : Math.round(one.firstEventMs / one.answered),
  tokens: one.tokens,
  spend_usd: renderUsd(one.cost),
})

/** How long the first frame waits for a log that is read for the first time. */
const PATIENCE_MS = 250
const MINUTE_MS = 60_000

/** Read in the background: a frame has what was read last, null before that is soon enough. */
export function startTrends(
  { monotonicMs }: Pick<Clock, 'monotonicMs'>,
  read: () => Promise<TrendsRecord>,
) {
  let value: TrendsRecord | null = null
  let version = 0
  let dueMs = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | null = null
  const refresh = async (): Promise<void> => {
    dueMs = monotonicMs() + MINUTE_MS
    try {
      value = await read()
      version++
    } catch {
      // The next minute tries again.
    } finally {
      reading = null
    }
  }
  return {
    async read() {
      if (reading === null && monotonicMs() >= dueMs) {
        reading = refresh()
        if (version === 0) await Promise.race([reading, pause(PATIENCE_MS)])
      }
      return { value, version }
    },
  }
}
