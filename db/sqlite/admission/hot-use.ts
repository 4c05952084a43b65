/** What is used of the limits of a key, or of an account: its windows, which are read from the log, and its sums. */
import type { Claim, Grant } from '#domain/admission.ts'
import { UNKNOWN_MARK } from '#domain/ceiling-marks.ts'
import { DAY_MS, type Day, type Instant, MINUTE_MS } from '#domain/clock.ts'
import type { GenerationId } from '#domain/id.ts'
import type { Limits } from '#domain/limits.ts'
import { addUsd, NO_MONEY, subtractUsd, type UsdNanos } from '#domain/money.ts'
import { tokensFor } from '#domain/offer-cost.ts'
import { promptTokens, type Usage } from '#domain/usage.ts'
import { type Weighed, Window } from '#domain/window.ts'

export interface MutableSpending {
  spent: UsdNanos
  held: UsdNanos
  /** From what is spent on somebody is to be told (`ceiling-marks.ts`). */
  mark: UsdNanos
}

export const isMarkPassed = ({ spent, mark }: MutableSpending): boolean => spent >= mark

export interface HotUse {
  minute: Window | null
  day: Window | null
  /** By tokens: every request of the minute. */
  tokens: Window | null
  /** False until the windows are read from the log; no request is admitted before. */
  hasWindows: boolean
  /** The latest time that it was asked at; after a step back of the clock, since then. */
  seenAt: Instant
  /** The same moment by `Clock.monotonicMs`. */
  seenMs: number
  /** From where the clock was last set back; null if it was not, or has been there again. */
  setBackFrom: Instant | null
  /** Where the clock was behind the log, or behind itself, when the windows were read: from when they must be read again. */
  windowsEndAt: Instant | null
  /** The read in progress, if any. */
  loadingWindows: Promise<void> | null
  today: Day
  thisMonth: Day
  /** False where what is spent is not read, or lacks writes that the disk refused. */
  hasSums: boolean
  readonly daySpend: MutableSpending
  readonly monthSpend: MutableSpending
  /** What its requests in progress hold. */
  holds(): Iterable<Held>
}

/** Nothing is read yet; when it was seen and the day are those of the first question. */
export const startUse = (
  seenAt: Instant,
  seenMs: number,
  today: Day,
  thisMonth: Day,
  holds: HotUse['holds'],
): HotUse => ({
  holds,
  minute: null,
  day: null,
  tokens: null,
  hasWindows: false,
  seenAt,
  seenMs,
  setBackFrom: null,
  windowsEndAt: null,
  loadingWindows: null,
  today,
  thisMonth,
  hasSums: false,
  daySpend: { spent: NO_MONEY, held: NO_MONEY, mark: UNKNOWN_MARK },
  monthSpend: { spent: NO_MONEY, held: NO_MONEY, mark: UNKNOWN_MARK },
})

/** They are found out again with the next charge. */
export function forgetUseMarks({ daySpend, monthSpend }: HotUse): void {
  daySpend.mark = monthSpend.mark = UNKNOWN_MARK
}

/** The windows after a change of limits: one stays while its limit is the same or lower; a new or higher one needs instants that were not kept. */
export function keepWindows(use: HotUse, before: Limits, limits: Limits): void {
  use.hasWindows &&= keepsWindow(before.rpm, limits.rpm) && keepsWindow(before.rpd, limits.rpd)
  // It keeps every request, so that a changed limit needs no read.
  use.hasWindows &&= before.tpm !== null || limits.tpm === null
  if (limits.tpm === null) use.tokens = null
  if (limits.rpm === null) use.minute = null
  if (limits.rpd === null) use.day = null
}

const keepsWindow = (before: number | null, limit: number | null): boolean =>
  limit === null || (before !== null && limit <= before)

/** The requests of a key, or of an account, in the log. */
export interface WindowSource {
  /** Null without a limit. */
  read(spanMs: number, limit: number | null, at: Instant): Promise<Window | null>
  /** The requests of a minute that have ended, with their tokens. */
  readTokens(at: Instant): Promise<readonly LoggedTokens[]>
  /** The first request that lies a span ahead or more; null as long as the clock is not behind the log. */
  firstAhead(spanMs: number, at: Instant): Promise<Instant | null>
}

export interface LoggedTokens extends Weighed {
  readonly id: GenerationId
}

interface ReadWindows {
  readonly minute: Window | null
  readonly day: Window | null
  readonly tokens: ReadTokens | null
  readonly windowsEndAt: Instant | null
}

/** Other turns pass meanwhile. */
export async function readWindows(
  source: WindowSource,
  use: HotUse,
  limits: Limits,
  at: Instant,
): Promise<ReadWindows> {
  const [minute, day, tokens, windowsEndAt] = await Promise.all([
    source.read(MINUTE_MS, limits.rpm, at),
    source.read(DAY_MS, limits.rpd, at),
    limits.tpm === null ? null : readTokens(source, use, at),
    (limits.rpm ?? limits.rpd ?? limits.tpm ?? limits.endUserRpm) === null
      ? null
      : source.firstAhead(MINUTE_MS, at),
  ])
  return { minute, day, tokens, windowsEndAt }
}

interface ReadTokens {
  /** Those that were in progress before the log was read: they count as they are now, whatever it tells of them. */
  readonly running: readonly Held[]
  readonly ended: readonly LoggedTokens[]
}

async function readTokens(source: WindowSource, use: HotUse, at: Instant): Promise<ReadTokens> {
  const running = [...use.holds()]
  return { running, ended: await source.readTokens(at) }
}

/** The tokens of the minute, where no window keeps them. */
export const countTokens = async (
  source: WindowSource,
  use: HotUse,
  at: Instant,
): Promise<number> => tokensWindow(await readTokens(source, use, at), at).used(at)

/** A changed limit is no step of the clock: then the log alone tells, and what is not in it has left the window. */
export const isReadByClock = ({ setBackFrom, windowsEndAt }: HotUse): boolean =>
  setBackFrom !== null || windowsEndAt !== null

/** From now on the windows are those that were read at `at`. */
export function takeWindows(use: HotUse, read: ReadWindows, at: Instant): void {
  const tokens = read.tokens && tokensWindow(read.tokens, at)
  if (isReadByClock(use)) {
    if (use.tokens !== null) tokens?.carry(use.tokens, at)
    if (use.minute !== null) read.minute?.carry(use.minute, at)
    if (use.day !== null) read.day?.carry(use.day, at)
  }
  use.minute = read.minute
  use.day = read.day
  use.tokens = tokens
  if (use.setBackFrom !== null && use.setBackFrom <= at) use.setBackFrom = null
  const ends = [read.windowsEndAt, use.setBackFrom].filter((one) => one !== null)
  use.windowsEndAt = ends.length === 0 ? null : (Math.min(...ends) as Instant)
  use.hasWindows = true
}

function tokensWindow({ running, ended }: ReadTokens, now: Instant): Window {
  const known = new Set(running.map(({ claim }) => claim.generationId))
  const found: Weighed[] = ended.filter(({ id }) => !known.has(id))
  for (const held of running) {
    const { at } = held.claim
    const weight = held.outcome === null ? -heldTokens(held) : allTokens(held.outcome.usage)
    if (Math.abs(at - now) < MINUTE_MS) found.push({ at, weight })
  }
  const window = new Window(MINUTE_MS, true)
  window.restoreWeighed(
    found.toSorted((a, b) => a.at - b.at),
    now,
  )
  return window
}

/** What an admission was granted. */
export interface Held {
  readonly claim: Claim
  readonly grant: Grant
  /** The periods that its hold and later its charge count in, however late it ends. */
  readonly day: Day
  readonly month: Day
  /** Null while it is in progress. */
  outcome: Outcome | null
}

/** What became of it. */
export interface Outcome {
  readonly spent: UsdNanos
  readonly usage: Usage
}

/** A slot and a hold are taken, on the day of the use. */
export function reserveUse(use: HotUse, held: Held): void {
  const { at } = held.claim
  const { hold } = held.grant
  use.minute?.take(at)
  use.day?.take(at)
  use.tokens?.take(at, heldTokens(held))
  addHold(use.daySpend, hold)
  addHold(use.monthSpend, hold)
}

/** One that is admitted holds a token at least, so that it is known to be in progress. */
const heldTokens = ({ claim, grant }: Held): number =>
  Math.max(1, tokensFor(claim.offers, grant.money))

/** A hold ends. */
export function releaseUse(use: HotUse, held: Held, { spent, usage }: Outcome): void {
  use.tokens?.settle(held.claim.at, heldTokens(held), allTokens(usage))
  const { hold } = held.grant
  if (held.day === use.today) endHold(use.daySpend, hold, spent)
  if (held.month === use.thisMonth) endHold(use.monthSpend, hold, spent)
}

/** What the requests in progress hold of the day and of the month of `use`. */
export function sumHolds(use: HotUse): { readonly day: UsdNanos; readonly month: UsdNanos } {
  let day = NO_MONEY
  let month = NO_MONEY
  for (const held of use.holds()) {
    const { hold } = held.grant
    if (held.day === use.today) day = addUsd(day, hold)
    if (held.month === use.thisMonth) month = addUsd(month, hold)
  }
  return { day, month }
}

/** As `readTokens` counts those of the log. */
const allTokens = (usage: Usage): number =>
  promptTokens(usage) + usage.outputTokens + usage.imageOutputTokens

export function addHold(spending: MutableSpending, amount: UsdNanos): void {
  spending.held = addUsd(spending.held, amount)
}

export function endHold(spending: MutableSpending, held: UsdNanos, spent: UsdNanos): void {
  spending.held = subtractUsd(spending.held, held)
  spending.spent = addUsd(spending.spent, spent)
}
