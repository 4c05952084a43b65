/** Claim → Admission → release: one verdict takes every slot and the hold, or nothing (contract §2, §8). */
import type { ActivityEntry } from './activity.ts'
import { judgeBalance, judgeCeiling, type Spending } from './ceiling.ts'
import { type Day, dayOf, dayStart, type Instant, nextDay, nextMonthStart } from './clock.ts'
import type { AccountId, GenerationId, KeyId } from './id.ts'
import type { Limits } from './key.ts'
import type { Charge } from './ledger.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { addUsd, NO_MONEY, renderUsd, type UsdNanos } from './money.ts'
import type { QuotaReading } from './quota.ts'
import type { Window } from './window.ts'

/** What a request asks for before it goes upstream. */
export interface Claim {
  readonly generationId: GenerationId
  readonly requestId: string
  readonly keyId: KeyId
  readonly accountId: AccountId
  /** The moment of admission: it decides the windows, the UTC day and the UTC month. */
  readonly at: Instant
  readonly model: string
  /** The end user that the request names (`user`); null where it names none. */
  readonly endUser: string | null
  /** The upper bound of its charge, held until it is settled or voided. */
  readonly hold: UsdNanos
}

/** What a key has used, as the rules of admission need it. */
export interface Standing {
  readonly limits: Limits
  /** Null where the key has no such limit. */
  readonly minute: Window | null
  readonly day: Window | null
  readonly inProgress: number
  readonly daySpend: Spending
  readonly monthSpend: Spending
  /** Of the claim's end user; null where the claim names none. */
  readonly endUser: EndUserStanding | null
  readonly balance: UsdNanos
  /** Σ of the account's holds, over all its keys. */
  readonly accountHeld: UsdNanos
}

/** What one end user of a key has used. */
export interface EndUserStanding {
  /** Null where the key caps no rate. */
  readonly minute: Window | null
  readonly daySpend: Spending
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
  readonly limitValue: string | number
  readonly used: string | number
  /** When the limit lifts by itself; null when only an operator or another request lifts it. */
  readonly resetsAt: Instant | null
  /** At least 1; null where waiting is not the remedy. */
  readonly retryAfterSeconds: number | null
}

export type Verdict =
  | { readonly admitted: true; readonly quota: QuotaReading }
  | { readonly admitted: false; readonly quota: QuotaReading; readonly refusal: Refusal }

/** How an admitted request ended. A null charge voids the hold. */
export interface Settlement {
  readonly at: Instant
  readonly charge: Charge | null
  readonly activity: ActivityEntry
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

/** Port: slots, holds and their one resolution. */
export interface Admissions {
  /** Takes every slot and the hold, or none. Rejects, and never throws. */
  admit(claim: Claim): MaybePromise<Verdict>
  /** The verdict that `admit` would give at this instant; takes nothing. */
  judge(claim: Claim): Promise<Verdict>
  /**
   * Resolves an admission once: hold, ledger, balance, day sums and activity move together, and the promise waits until
   * they are committed. False when it had been resolved before, and then nothing changes.
   */
  settle(id: GenerationId, settlement: Settlement): Promise<boolean>
  quota(keyId: KeyId, at: Instant): Promise<QuotaReading>
  /** Read from the database the first time, from memory after that. @throws key_not_found */
  spending(keyId: KeyId, at: Instant): Promise<KeySpending>
  /** A window without a limit is counted in the log, so call this for a single key, not for a list. @throws key_not_found */
  usage(keyId: KeyId, at: Instant): Promise<KeyUsage>
  /** Over all keys, the revoked ones too, in the UTC day and the UTC month of `at`. */
  spend(at: Instant): Promise<Spend>
  /** Since that day, oldest first; days without a request are left out. It does not block requests. */
  spendByDay(since: Day): Promise<readonly AccountDaySpend[]>
}

const RETRY_SOON_SECONDS = 1

/** The first rule that refuses a claim, in the order of contract §2, or null. Takes nothing. */
export function judgeClaim(claim: Claim, standing: Standing): Refusal | null {
  return (
    judgeMoney(claim, standing, 'exhausted') ??
    judgeWindows(claim.at, standing) ??
    judgeConcurrency(standing) ??
    judgeMoney(claim, standing, 'reserved')
  )
}

function judgeWindows(at: Instant, { limits, minute, day, endUser }: Standing): Refusal | null {
  return (
    judgeWindow('rpm_limit', minute, limits.rpm, at) ??
    judgeWindow('rpd_limit', day, limits.rpd, at) ??
    judgeWindow('end_user_rpm', endUser?.minute ?? null, limits.endUserRpm, at)
  )
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
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  }
}

function judgeConcurrency({ limits, inProgress }: Standing): Refusal | null {
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

/** A ceiling of a period: the name of the limit, the error code, and when the next period begins. */
interface CeilingRule {
  readonly limit: string
  readonly code: RefusalCode
  readonly nextPeriod: (today: Day) => Day
}

const DAILY: CeilingRule = {
  limit: 'daily_spend_limit_usd',
  code: 'daily_spend_limit_exceeded',
  nextPeriod: nextDay,
}
const MONTHLY: CeilingRule = {
  limit: 'monthly_spend_limit_usd',
  code: 'monthly_spend_limit_exceeded',
  nextPeriod: nextMonthStart,
}
const END_USER_DAILY: CeilingRule = { ...DAILY, limit: 'end_user_daily_usd' }

/** Checks ceilings and balance; `refuse` selects which of the two verdicts counts as a refusal. */
function judgeMoney(
  claim: Claim,
  { limits, daySpend, monthSpend, endUser, balance, accountHeld }: Standing,
  refuse: 'exhausted' | 'reserved',
): Refusal | null {
  const { dailySpend, monthlySpend, endUserDailySpend } = limits
  return (
    judgePeriod(claim, DAILY, dailySpend, daySpend, refuse) ??
    judgePeriod(claim, MONTHLY, monthlySpend, monthSpend, refuse) ??
    judgePeriod(claim, END_USER_DAILY, endUserDailySpend, endUser?.daySpend ?? null, refuse) ??
    judgeAccount(claim, balance, accountHeld, refuse)
  )
}

function judgePeriod(
  { at, hold }: Claim,
  { limit, code, nextPeriod }: CeilingRule,
  ceiling: UsdNanos | null,
  spending: Spending | null,
  refuse: 'exhausted' | 'reserved',
): Refusal | null {
  if (ceiling === null || spending === null) return null
  if (judgeCeiling(spending, ceiling, hold) !== refuse) return null
  return refuse === 'reserved'
    ? moneyRefusal('spend_reserved', limit, ceiling, spending, null)
    : moneyRefusal(code, limit, ceiling, spending, dayStart(nextPeriod(dayOf(at))))
}

function judgeAccount(
  { hold }: Claim,
  balance: UsdNanos,
  held: UsdNanos,
  refuse: 'exhausted' | 'reserved',
): Refusal | null {
  if (judgeBalance(balance, held, hold) !== refuse) return null
  const code = refuse === 'exhausted' ? 'insufficient_balance' : 'spend_reserved'
  return moneyRefusal(code, 'balance_usd', balance, { spent: NO_MONEY, held }, null)
}

function moneyRefusal(
  code: RefusalCode,
  limit: string,
  limitValue: UsdNanos,
  spending: Spending,
  resetsAt: Instant | null,
): Refusal {
  const reserved = code === 'spend_reserved'
  return {
    code,
    limit,
    limitValue: renderUsd(limitValue),
    used: renderUsd(reserved ? addUsd(spending.spent, spending.held) : spending.spent),
    resetsAt,
    retryAfterSeconds: reserved ? RETRY_SOON_SECONDS : null,
  }
}
