/** Claim → Admission → release: one verdict takes every slot and the hold, or nothing (contract §2, §8). */
import type { ActivityEntry } from './activity.ts'
import { judgeBalance, judgeCeiling, type Spending } from './ceiling.ts'
import {
  type Day,
  dayOf,
  dayStart,
  type Instant,
  MINUTE_MS,
  nextDay,
  nextMonthStart,
  renderInstant,
} from './clock.ts'
import { type ErrorCode, GatewayError } from './errors.ts'
import type { AccountId, GenerationId, KeyId } from './id.ts'
import type { Limits } from './key.ts'
import type { Charge } from './ledger.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { addUsd, renderUsd, type UsdNanos } from './money.ts'
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
  /** Whom the application serves by it; null where it does not say. */
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

/** Why nothing was taken: which limit, its value, what is used, and when it lifts. */
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

/** What a key has spent, holds and has in progress: what a list shows of each. */
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
  /** From memory, once the key was used or shown. @throws key_not_found */
  spending(keyId: KeyId, at: Instant): Promise<KeySpending>
  /** A window without a limit has to be counted in the log: ask it of one key, not of a list. @throws key_not_found */
  usage(keyId: KeyId, at: Instant): Promise<KeyUsage>
  /** Over all keys, the revoked ones too, in the UTC day and the UTC month of `at`. */
  spend(at: Instant): Promise<Spend>
  /** Since that day, oldest first; a day without a request is left out. Requests pass while it is added up. */
  spendByDay(since: Day): Promise<readonly AccountDaySpend[]>
}

const RESERVED_RETRY_SECONDS = 1

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
    retryAfterSeconds: RESERVED_RETRY_SECONDS,
  }
}

/** Ceilings and balance in one pass; `refuse` says which of the two verdicts is asked for. */
function judgeMoney(
  { at, hold }: Claim,
  { limits, daySpend, monthSpend, endUser, balance, accountHeld }: Standing,
  refuse: 'exhausted' | 'reserved',
): Refusal | null {
  const today = dayOf(at)
  const dailyCode = refuse === 'exhausted' ? 'daily_spend_limit_exceeded' : 'spend_reserved'
  if (limits.dailySpend !== null && judgeCeiling(daySpend, limits.dailySpend, hold) === refuse) {
    return moneyRefusal(
      dailyCode,
      'daily_spend_limit_usd',
      limits.dailySpend,
      daySpend,
      dayStart(nextDay(today)),
    )
  }
  if (
    limits.monthlySpend !== null &&
    judgeCeiling(monthSpend, limits.monthlySpend, hold) === refuse
  ) {
    const code = refuse === 'exhausted' ? 'monthly_spend_limit_exceeded' : 'spend_reserved'
    return moneyRefusal(
      code,
      'monthly_spend_limit_usd',
      limits.monthlySpend,
      monthSpend,
      dayStart(nextMonthStart(today)),
    )
  }
  const { endUserDailySpend } = limits
  if (
    endUser !== null &&
    endUserDailySpend !== null &&
    judgeCeiling(endUser.daySpend, endUserDailySpend, hold) === refuse
  ) {
    return moneyRefusal(
      dailyCode,
      'end_user_daily_usd',
      endUserDailySpend,
      endUser.daySpend,
      dayStart(nextDay(today)),
    )
  }
  if (judgeBalance(balance, accountHeld, hold) === refuse) {
    const code = refuse === 'exhausted' ? 'insufficient_balance' : 'spend_reserved'
    return moneyRefusal(
      code,
      'balance_usd',
      balance,
      { spent: 0n as UsdNanos, held: accountHeld },
      null,
    )
  }
  return null
}

function moneyRefusal(
  code: RefusalCode,
  limit: string,
  limitValue: UsdNanos,
  purse: Spending,
  resetsAt: Instant | null,
): Refusal {
  const reserved = code === 'spend_reserved'
  return {
    code,
    limit,
    limitValue: renderUsd(limitValue),
    used: renderUsd(reserved ? addUsd(purse.spent, purse.held) : purse.spent),
    resetsAt: reserved ? null : resetsAt,
    retryAfterSeconds: reserved ? RESERVED_RETRY_SECONDS : null,
  }
}

/** A refusal as the caller sees it: the limit, its value, what is used, and what lifts it. */
export function toRefusalError(refusal: Refusal, keyName: string): GatewayError {
  const { code, limit, limitValue, used, resetsAt, retryAfterSeconds } = refusal
  return new GatewayError(
    code === 'key_revoked' ? stateCode(used) : code,
    refusalMessage(refusal, keyName),
    {
      metadata: {
        limit,
        limit_value: limitValue,
        used,
        resets_at: resetsAt === null ? null : renderInstant(resetsAt),
      },
      ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    },
  )
}

/** A key may also have expired or been disabled between its look-up and its claim. */
function stateCode(status: string | number): ErrorCode {
  if (status === 'expired') return 'api_key_expired'
  return status === 'disabled' ? 'api_key_disabled' : 'api_key_revoked'
}

function refusalMessage(refusal: Refusal, keyName: string): string {
  const { code, limit, limitValue, used, resetsAt, retryAfterSeconds } = refusal
  const until = resetsAt === null ? '' : renderInstant(resetsAt)
  const who = limit.startsWith('end_user_') ? `this end user of key ${keyName}` : `key ${keyName}`
  switch (code) {
    case 'daily_spend_limit_exceeded':
    case 'monthly_spend_limit_exceeded':
      return `${who} has spent $${used} of its ${limit} of $${limitValue}; it resets at ${until}, or when the ceiling is raised`
    case 'insufficient_balance':
      return `the account balance of $${limitValue} does not allow another request; a top-up lifts this`
    case 'rate_limit_exceeded': {
      const window = limit === 'rpd_limit' ? 'in 24 hours' : `in ${MINUTE_MS / 1000} seconds`
      return `${who} used ${used} of ${limitValue} requests ${window}; a slot frees in ${retryAfterSeconds} s`
    }
    case 'concurrency_limit_exceeded':
      return `key ${keyName} has ${used} of ${limitValue} requests in progress; a place frees when one of them ends`
    case 'spend_reserved':
      return `requests in progress hold the rest of ${limit} ($${used} of $${limitValue} spent or held); try again when one of them ends`
    case 'key_revoked':
      return `key ${keyName} is ${used}`
  }
}
