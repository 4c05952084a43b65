/** Claim → Admission → release: one verdict takes every slot and the hold, or nothing (contract §2, §8). */
import type { ActivityEntry } from './activity.ts'
import type { Stale } from './catalogue.ts'
import { type Day, dayStart, type Instant, nextDay, nextMonthStart } from './clock.ts'
import type { AccountId, EpochId, GenerationId, KeyId } from './id.ts'
import type { Repeat, Repetition, StagedAnswer } from './idempotency.ts'
import type { Charge } from './ledger.ts'
import type { Limits } from './limits.ts'
import { addUsd, NO_MONEY, renderUsd, type UsdNanos } from './money.ts'
import { holdFor, mostOf, type OfferCost, tokensFor } from './offer-cost.ts'
import type { Owner } from './owner.ts'
import { type QuotaReading, toReset, type Window, type WindowReadings } from './window.ts'
import type { Dialect } from './work.ts'

/** What a request asks for before it goes upstream. */
export interface Claim {
  readonly generationId: GenerationId
  readonly requestId: string
  readonly owner: Owner
  readonly keyId: KeyId
  readonly accountId: AccountId
  /** The moment of admission: it decides the windows, the UTC day and the UTC month. */
  readonly at: Instant
  readonly model: string
  /** The end user that the request names (`user`); null where it names none. */
  readonly endUser: string | null
  /** The surface that it came to. */
  readonly surface: Dialect
  /** Null where the client names none. */
  readonly session: string | null
  /** Null for a request that its client does not mean to repeat. */
  readonly repeat: Repeat | null
  /** What it costs at most at each offer, in the order of the offers. */
  readonly offers: readonly OfferCost[]
  /** The version of the catalogue that these offers are of. */
  readonly catalogue: number
}

/** What a claim is granted: held until it is settled or voided. */
export interface Grant {
  /** The moment of the verdict. */
  readonly at: Instant
  /** What the answer's tokens may cost; null where no bound is lowered for want of money. */
  readonly money: UsdNanos | null
  /** The upper bound of the charge, whichever offer serves within its bound. */
  readonly hold: UsdNanos
}

/** An admission in progress, as one who opens the store takes it over from the one before. */
export interface OpenAdmission {
  readonly claim: Claim
  readonly grant: Grant
  /** That of its key at its admission, which pays. */
  readonly accountId: AccountId
  /** The periods that it counts in. */
  readonly day: Day
  readonly month: Day
  /** As whom the end user is counted; null where it names none. */
  readonly countedAs: string | null
}

/** What is used of the limits of a key, or of an account. */
export interface Use {
  /** Null where there is no such limit. */
  readonly minute: Window | null
  readonly day: Window | null
  /** By tokens. */
  readonly tokens: Window | null
  readonly daySpend: Spending
  readonly monthSpend: Spending
}

/** What a key and its account have used, as the rules of admission need it. */
export interface Standing extends Use {
  readonly key: { readonly limits: Limits }
  readonly inProgress: number
  /** That its sums are of. After a step of the clock back over midnight it is the day after that of the claim. */
  readonly today: Day
  readonly account: {
    readonly balance: UsdNanos
    /** Σ of the account's holds, over all its keys. */
    readonly held: UsdNanos
    /** How many requests they are of. */
    readonly inProgress: number
    readonly limits: Limits
    /** Null where the account has no limit that is used up. */
    readonly use: Use | null
  }
}

/** What one end user of a key has used. */
export interface EndUserStanding {
  /** Null where the key caps no rate. */
  readonly minute: Window | null
  readonly daySpend: Spending
  readonly inProgress: number
}

export type RefusalCode =
  | 'daily_spend_limit_exceeded'
  | 'monthly_spend_limit_exceeded'
  | 'insufficient_balance'
  | 'rate_limit_exceeded'
  | 'concurrency_limit_exceeded'
  | 'spend_reserved'
  | 'key_revoked'

/** Why a claim was refused: which limit, its value, what is used, and when it lifts. */
export interface Refusal {
  readonly code: RefusalCode
  readonly limit: string
  /** Whose limit it is; absent: the key's, or one of its end users'; and of the balance, whose name says it. */
  readonly of?: 'account'
  readonly limitValue: string | number
  readonly used: string | number
  /** Of a limit of tokens: what the request may use, and what of `used` others in progress hold. */
  readonly tokens?: { readonly needed: number; readonly held: number }
  /** When the limit lifts by itself; null when only an operator or another request lifts it. */
  readonly resetsAt: Instant | null
  /** At least 1; null where waiting is not the remedy. */
  readonly retryAfterSeconds: number | null
  /** What others in progress hold of it, in dollars, and how many they are; absent where they are not the reason. */
  readonly held?: { readonly usd: string; readonly requests: number }
}

/** Whose limit refuses. */
export function whoseLimit({ limit, of }: Refusal): 'account' | 'key' | 'end_user' {
  if (of === 'account' || limit === 'balance_usd') return 'account'
  return limit.startsWith('end_user_') ? 'end_user' : 'key'
}

export type Verdict =
  | { readonly admitted: true; readonly quota: QuotaReading; readonly grant: Grant }
  | {
      readonly admitted: false
      readonly quota: QuotaReading
      /** What it would have been granted. */
      readonly grant: Grant
      readonly refusal: Refusal
    }

/** A claim that repeats another, which is judged by no limit and takes nothing. */
export interface Repeated {
  readonly admitted: false
  readonly refusal: null
  readonly repetition: Repetition
}

/** How an admitted request ended. A null charge voids the hold. */
export interface Settlement {
  readonly at: Instant
  readonly charge: Charge | null
  readonly activity: ActivityEntry
  /** Shown with the charge. */
  readonly answer: StagedAnswer | null
}

/** A key's spend, holds and requests in progress, as lists show them. */
export interface KeySpending {
  readonly spendDay: UsdNanos
  readonly spendMonth: UsdNanos
  readonly reserved: UsdNanos
  readonly requestsInProgress: number
}

/** Live usage of a key, for `GET /v1/key`. */
export interface KeyUsage extends KeySpending {
  readonly requestsMinute: number
  readonly requestsDay: number
  /** With those that requests in progress hold. */
  readonly tokensMinute: number
}

/** What is used of the limits of an account; its spend is null where none of them counts. */
export interface AccountUse extends WindowReadings {
  readonly requestsInProgress: number
  readonly spendDay: UsdNanos | null
  readonly spendMonth: UsdNanos | null
}

/** What all keys together have spent. */
export interface Spend {
  readonly day: UsdNanos
  readonly month: UsdNanos
}

/** What an account spent on a UTC day; requests count by their admission. */
export interface AccountDaySpend {
  readonly accountId: AccountId
  readonly day: Day
  readonly spent: UsdNanos
  readonly requests: number
}

/** What a key spent on a UTC day; requests count by their admission. */
export interface KeyDaySpend extends Omit<AccountDaySpend, 'accountId'> {
  readonly keyId: KeyId
}

export interface KeyDaysQuery {
  readonly accountId: AccountId
  /** Only of keys that this person made. */
  readonly madeBy?: string
  readonly since: Day
  /** Up to the day before this one. */
  readonly before: Day
}

/** Days of keys; of more, each is not told. */
export const MAX_KEY_DAYS = 100_000

/** Port: slots, holds and their one resolution. */
export interface Admissions {
  /**
   * Takes every slot, the hold and the name by which it may be repeated, or none. Stale, before anything else, where the catalogue
   * is another than the claim's; repeated before any limit is judged.
   */
  admit(claim: Claim): Promise<Verdict | Stale | Repeated>
  /** What `admit` would answer at this instant to a claim that repeats none; takes nothing. */
  judge(claim: Claim): Promise<Verdict | Stale>
  /**
   * Resolves an admission once: hold, ledger, balance, day sums and activity move together, and the promise waits until
   * they are committed. From then on a repetition finds the staged answer, or runs anew where there is none. False when it had
   * been resolved before, and then nothing changes.
   */
  settle(id: GenerationId, settlement: Settlement): Promise<boolean>
  /**
   * The beat of a node, by which others tell that its epoch goes on. False once it has expired: what it held is released, and
   * the node must open anew. An engine of one node keeps no beat: its lock tells as much.
   */
  renew(owner: Owner, at: Instant): Promise<boolean>
  /**
   * Voids what is held by these epochs, which have ended: as after `settle` without a charge, and the log has their requests as
   * broken off by the gateway. An engine of one node does it when it opens, for all epochs before.
   */
  expire(epochs: readonly EpochId[], at: Instant): Promise<void>
  /**
   * Removes, in slices of its own, what no window is counted from any more, by a clock that never runs ahead. An engine that counts
   * from the log has nothing beside it.
   */
  trim(now: Instant): Promise<void>
  /** Of each key, in their order: what its windows have left. @throws key_not_found */
  quota(ids: readonly KeyId[], at: Instant): Promise<readonly WindowReadings[]>
  /** Of each key, in their order; read from the database the first time, from memory after that. @throws key_not_found */
  spending(ids: readonly KeyId[], at: Instant): Promise<readonly KeySpending[]>
  /** A window without a limit is counted in the log, so call this for a single key, not for a list. @throws key_not_found */
  usage(keyId: KeyId, at: Instant): Promise<KeyUsage>
  /** Of each account, in their order; call it for those that have a limit. */
  accountUse(ids: readonly AccountId[], at: Instant): Promise<readonly AccountUse[]>
  /** Over all keys, the revoked ones too, in the UTC day and the UTC month of `at`. */
  spend(at: Instant): Promise<Spend>
  /** Since that day, oldest first; days without a request are left out. It does not block requests. */
  spendByDay(since: Day): Promise<readonly AccountDaySpend[]>
  /**
   * Day by day what the keys of an account spent, the revoked ones too. Null for more than `MAX_KEY_DAYS`, and where keys were moved
   * that had spent in these days: some of theirs is of another account. It does not block requests.
   */
  spendByKey(query: KeyDaysQuery): Promise<readonly KeyDaySpend[] | null>
}

const RETRY_SOON_SECONDS = 1

export interface Judgement {
  readonly grant: Grant
  /** By the first rule that refuses, in the order of contract §2. */
  readonly refusal: Refusal | null
}

/** What a claim is granted, and whether it is admitted with that; `endUser` is null where it names none. Takes nothing. */
export function judgeClaim(
  claim: Claim,
  standing: Standing,
  endUser: EndUserStanding | null,
): Judgement {
  const { at, offers } = claim
  const limits = moneyLimitsOf(standing, endUser)
  if (areAmple(limits, offers)) {
    const grant = { at, money: null, hold: holdFor(offers, null) }
    const refusal = judgeWindows(claim, grant, standing, endUser) ?? judgePlaces(standing)
    return { grant, refusal }
  }
  const grant = grantFor(claim, limits)
  return {
    grant,
    refusal:
      judgeMoney(standing.today, limits, grant.hold, 'exhausted') ??
      judgeWindows(claim, grant, standing, endUser) ??
      judgePlaces(standing) ??
      judgeMoney(standing.today, limits, grant.hold, 'reserved'),
  }
}

function judgeWindows(
  claim: Claim,
  grant: Grant,
  standing: Standing,
  endUser: EndUserStanding | null,
): Refusal | null {
  const { at } = claim
  const { key, account } = standing
  return (
    judgeRates(at, key.limits, standing) ??
    judgeTokens(claim, grant, key.limits, standing) ??
    judgeWindow('end_user_rpm', endUser?.minute ?? null, key.limits.endUserRpm, at) ??
    (account.use &&
      ofAccount(
        judgeRates(at, account.limits, account.use) ??
          judgeTokens(claim, grant, account.limits, account.use),
      ))
  )
}

const ofAccount = (refusal: Refusal | null): Refusal | null =>
  refusal && { ...refusal, of: 'account' }

const judgeRates = (at: Instant, limits: Limits, { minute, day }: Use): Refusal | null =>
  judgeWindow('rpm_limit', minute, limits.rpm, at) ?? judgeWindow('rpd_limit', day, limits.rpd, at)

/**
 * As a ceiling is judged: a lone request may cross it. What does not fit waits at its client: below the limit for another's end,
 * which may come at any time, else until what has been used is below it.
 */
function judgeTokens(
  { at, offers }: Claim,
  { money }: Grant,
  { tpm }: Limits,
  { tokens }: Use,
): Refusal | null {
  if (tpm === null || tokens === null) return null
  const wanted = tokensFor(offers, money)
  if (tokens.fits(tpm, wanted, at)) return null
  const waitMs = tokens.msUntilBelow(tpm, at)
  return {
    code: 'rate_limit_exceeded',
    limit: 'tpm_limit',
    limitValue: tpm,
    used: tokens.spent + tokens.held,
    tokens: { needed: wanted, held: tokens.held },
    resetsAt: waitMs === 0 ? null : ((at + waitMs) as Instant),
    retryAfterSeconds: Math.max(RETRY_SOON_SECONDS, toReset(waitMs, tokens.spanMs)),
  }
}

function judgeWindow(
  name: string,
  window: Window | null,
  limit: number | null,
  at: Instant,
): Refusal | null {
  if (window === null || limit === null) return null
  const used = window.count(at)
  if (used < limit) return null
  const waitMs = window.msUntilSlot(limit, at)
  return {
    code: 'rate_limit_exceeded',
    limit: name,
    limitValue: limit,
    used,
    resetsAt: (at + waitMs) as Instant,
    retryAfterSeconds: Math.max(1, toReset(waitMs, window.spanMs)),
  }
}

const judgePlaces = ({ key, inProgress, account }: Standing): Refusal | null =>
  judgeConcurrency(key.limits, inProgress) ??
  ofAccount(judgeConcurrency(account.limits, account.inProgress))

function judgeConcurrency(limits: Limits, inProgress: number): Refusal | null {
  if (limits.concurrency === null || inProgress < limits.concurrency) return null
  return {
    code: 'concurrency_limit_exceeded',
    limit: 'concurrency_limit',
    limitValue: limits.concurrency,
    used: inProgress,
    resetsAt: null,
    retryAfterSeconds: RETRY_SOON_SECONDS,
  }
}

/** A limit of money: its name, the error code, and what lifts it. */
interface MoneyRule {
  readonly limit: string
  readonly of?: 'account'
  readonly code: RefusalCode
  /** When the next period begins; null where no period ends. */
  readonly nextPeriod: ((today: Day) => Day) | null
  /** By this, what is left is divided for the output of a request beside which nothing is held; null: it is not lowered. */
  readonly loneDivisor: bigint | null
}

/** A request that is alone may cross the ceiling of its key, so that the last cent can be spent. */
const DAILY: MoneyRule = {
  limit: 'daily_spend_limit_usd',
  code: 'daily_spend_limit_exceeded',
  nextPeriod: nextDay,
  loneDivisor: null,
}
const MONTHLY: MoneyRule = {
  limit: 'monthly_spend_limit_usd',
  code: 'monthly_spend_limit_exceeded',
  nextPeriod: nextMonthStart,
  loneDivisor: null,
}
const END_USER_DAILY: MoneyRule = { ...DAILY, limit: 'end_user_daily_usd' }
/** What is left of an account is all its keys', as its balance is. */
const ACCOUNT_DAILY: MoneyRule = { ...DAILY, of: 'account', loneDivisor: 2n }
const ACCOUNT_MONTHLY: MoneyRule = { ...MONTHLY, of: 'account', loneDivisor: 2n }
/** The last money of an account is its owner's, so that one answer does not take all of it. */
const BALANCE: MoneyRule = {
  limit: 'balance_usd',
  code: 'insufficient_balance',
  nextPeriod: null,
  loneDivisor: 2n,
}

/** What is left is divided by this for one beside which something is held, so that dozens fit. */
const DIVISOR = 32n

interface MoneyLimit {
  readonly rule: MoneyRule
  readonly ceiling: UsdNanos
  readonly spending: Spending
  /** Requests in progress that hold some of it. */
  readonly requests: number
}

/** The limits of money that apply, in the order in which they refuse. */
function moneyLimitsOf(
  { key, inProgress, daySpend, monthSpend, account }: Standing,
  endUser: EndUserStanding | null,
): readonly MoneyLimit[] {
  const { dailySpend, monthlySpend, endUserDailySpend } = key.limits
  const limits: MoneyLimit[] = []
  if (dailySpend !== null) {
    limits.push({ rule: DAILY, ceiling: dailySpend, spending: daySpend, requests: inProgress })
  }
  if (monthlySpend !== null) {
    limits.push({
      rule: MONTHLY,
      ceiling: monthlySpend,
      spending: monthSpend,
      requests: inProgress,
    })
  }
  if (endUserDailySpend !== null && endUser !== null) {
    const { daySpend: spending, inProgress: requests } = endUser
    limits.push({ rule: END_USER_DAILY, ceiling: endUserDailySpend, spending, requests })
  }
  const { balance, held, inProgress: requests, limits: its, use } = account
  if (use !== null && its.dailySpend !== null) {
    const spending = use.daySpend
    limits.push({ rule: ACCOUNT_DAILY, ceiling: its.dailySpend, spending, requests })
  }
  if (use !== null && its.monthlySpend !== null) {
    const spending = use.monthSpend
    limits.push({ rule: ACCOUNT_MONTHLY, ceiling: its.monthlySpend, spending, requests })
  }
  // Past charges are subtracted from a balance already.
  limits.push({ rule: BALANCE, ceiling: balance, spending: { spent: NO_MONEY, held }, requests })
  return limits
}

/** Whether every limit has more left than a full share for the largest answer: none lowers a bound, and none refuses. */
function areAmple(limits: readonly MoneyLimit[], offers: readonly OfferCost[]): boolean {
  const { base, fullOutput } = mostOf(offers)
  const room = base + DIVISOR * fullOutput
  return limits.every(({ ceiling, spending: { spent, held } }) => ceiling - spent - held > room)
}

/** The least share of what any limit has left beside the request's other parts pays for its output (contract §8). */
function grantFor({ at, offers }: Claim, limits: readonly MoneyLimit[]): Grant {
  const { base } = mostOf(offers)
  let money: UsdNanos | null = null
  for (const { rule, ceiling, spending } of limits) {
    const divisor = spending.held === NO_MONEY ? rule.loneDivisor : DIVISOR
    if (divisor === null) continue
    const left = ceiling - spending.spent - spending.held - base
    const part = (left <= 0n ? NO_MONEY : left / divisor) as UsdNanos
    if (money === null || part < money) money = part
  }
  return { at, money, hold: holdFor(offers, money) }
}

/** `refuse` selects which of the two verdicts on a ceiling counts as a refusal. */
function judgeMoney(
  today: Day,
  limits: readonly MoneyLimit[],
  hold: UsdNanos,
  refuse: 'exhausted' | 'reserved',
): Refusal | null {
  for (const limit of limits) {
    if (judgeCeiling(limit.spending, limit.ceiling, hold) === refuse) {
      return moneyRefusal(today, limit, refuse)
    }
  }
  return null
}

function moneyRefusal(
  today: Day,
  { rule, ceiling, spending: { spent, held }, requests }: MoneyLimit,
  verdict: 'exhausted' | 'reserved',
): Refusal {
  const isReserved = verdict === 'reserved'
  // What is used of a balance is subtracted from it already.
  const used = isReserved ? addUsd(spent, held) : spent
  return {
    code: isReserved ? 'spend_reserved' : rule.code,
    limit: rule.limit,
    ...(rule.of && { of: rule.of }),
    limitValue: renderUsd(ceiling),
    used: renderUsd(used),
    resetsAt: isReserved || rule.nextPeriod === null ? null : dayStart(rule.nextPeriod(today)),
    retryAfterSeconds: isReserved ? RETRY_SOON_SECONDS : null,
    ...(isReserved && { held: { usd: renderUsd(held), requests } }),
  }
}

export interface Spending {
  readonly spent: UsdNanos
  /** Σ of the holds of requests still in progress. */
  readonly held: UsdNanos
}

/** `exhausted` lasts until the period ends or the operator acts; `reserved` until requests in progress end. */
export type CeilingVerdict = 'admitted' | 'exhausted' | 'reserved'

/**
 * With no other hold, a request may cross the ceiling, so that the last cent can be spent; with any other hold it may not.
 * Therefore a ceiling is exceeded by one request at most, whatever the concurrency.
 */
export function judgeCeiling(
  spending: Spending,
  ceiling: UsdNanos,
  hold: UsdNanos,
): CeilingVerdict {
  if (spending.spent >= ceiling) return 'exhausted'
  if (spending.held === NO_MONEY) return 'admitted'
  return addUsd(addUsd(spending.spent, spending.held), hold) <= ceiling ? 'admitted' : 'reserved'
}
