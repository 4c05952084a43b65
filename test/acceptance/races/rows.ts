/** The limits that are raced for: how each is set, and the refusal while the last request runs and after it has ended. */
import { expect } from 'vitest'
import type { Refusal } from './race-gateway.ts'

/** Three charges; two are spent before the race. */
const MONEY = '0.00042'
export const SPENT = '0.00028'
const LEFT = '0.00014'

const DAY_MS = 86_400_000

/** A timestamp this far ahead, in the contract's format. */
const ahead = (leastMs: number, mostMs: number, shape = /T.*Z$/) =>
  expect.toSatisfy((text: unknown) => {
    const aheadMs = Date.parse(String(text)) - Date.now()
    return shape.test(String(text)) && aheadMs > leastMs - 20_000 && aheadMs <= mostMs
  })
const MIDNIGHT = ahead(0, DAY_MS, /T00:00:00Z$/)
const FIRST_OF_MONTH = ahead(0, 31 * DAY_MS, /-01T00:00:00Z$/)

const secondsUpTo = (most: number) =>
  expect.toSatisfy((text: unknown) => /^\d+$/.test(String(text)) && most - Number(text) < 20)

const limitOf = (limit: string, limit_value: unknown, used: unknown, resets_at: unknown) => ({
  limit,
  limit_value,
  used,
  resets_at,
})

const windowOf = (limit: string, seconds: number, shouldRetry: string | null): Refusal => ({
  line: '429 rate_limit_exceeded',
  retryAfter: secondsUpTo(seconds),
  shouldRetry,
  metadata: limitOf(limit, 3, 3, ahead(seconds * 1_000, seconds * 1_000)),
})

/** A token more than the two have used, each answer being 120: the third crosses it, and what it holds may be any number. */
const TOKENS = 241
const USED_TOKENS: Refusal = {
  ...windowOf('tpm_limit', 60, null),
  metadata: limitOf('tpm_limit', TOKENS, 3 * 120, ahead(60_000, 60_000)),
}
const HELD_TOKENS: Refusal = {
  ...USED_TOKENS,
  retryAfter: '1',
  metadata: limitOf(
    'tpm_limit',
    TOKENS,
    expect.toSatisfy((used: unknown) => Number(used) > 2 * 120),
    null,
  ),
}

const reservedOf = (limit: string, value: string): Refusal => ({
  line: '429 spend_reserved',
  retryAfter: '1',
  shouldRetry: null,
  metadata: {
    ...limitOf(limit, value, expect.stringMatching(/^0\.\d+$/), null),
    held_usd: expect.stringMatching(/^0\.\d+$/),
    // The one that came through.
    requests_in_progress: 1,
  },
})

const spentOf = (code: string, limit: string, resets: unknown, value = MONEY, used = MONEY) => ({
  line: `402 ${code}`,
  retryAfter: null,
  shouldRetry: 'false',
  metadata: limitOf(limit, value, used, resets),
})

export interface Race {
  readonly limit: string
  /** Set on the account: then two of its keys race. */
  readonly of?: 'account'
  /** The value of the key's field; for `balance`, the account's money. */
  readonly value: number | string
  /** Whether the two requests that use up the limit before the race have ended or still run. */
  readonly firstTwo: 'ended' | 'running'
  /** The refusal for all others while the one runs. */
  readonly refusal: Refusal
  /** The refusal for the next request after it; null when that one succeeds. */
  readonly after: Refusal | null
  /** Who is not affected: another end user of the same key, or another account's key. */
  readonly bystander?: 'another end user'
}

const PER_MINUTE = windowOf('rpm_limit', 60, null)
const PER_DAY = windowOf('rpd_limit', 86_400, 'false')
const PER_MINUTE_OF_ONE = windowOf('end_user_rpm', 60, null)

/** Every limit of contract §8, and those of an end user. */
const OF_KEYS: readonly Race[] = [
  { limit: 'rpm_limit', value: 3, firstTwo: 'ended', refusal: PER_MINUTE, after: PER_MINUTE },
  { limit: 'rpd_limit', value: 3, firstTwo: 'ended', refusal: PER_DAY, after: PER_DAY },
  {
    limit: 'tpm_limit',
    value: TOKENS,
    firstTwo: 'ended',
    refusal: HELD_TOKENS,
    after: USED_TOKENS,
  },
  {
    limit: 'end_user_rpm',
    value: 3,
    firstTwo: 'ended',
    refusal: PER_MINUTE_OF_ONE,
    after: PER_MINUTE_OF_ONE,
    bystander: 'another end user',
  },
  {
    limit: 'concurrency_limit',
    value: 3,
    firstTwo: 'running',
    refusal: {
      line: '429 concurrency_limit_exceeded',
      retryAfter: '1',
      shouldRetry: null,
      metadata: limitOf('concurrency_limit', 3, 3, null),
    },
    after: null,
  },
  {
    limit: 'daily_spend_limit_usd',
    value: MONEY,
    firstTwo: 'ended',
    refusal: reservedOf('daily_spend_limit_usd', MONEY),
    after: spentOf('daily_spend_limit_exceeded', 'daily_spend_limit_usd', MIDNIGHT),
  },
  {
    limit: 'monthly_spend_limit_usd',
    value: MONEY,
    firstTwo: 'ended',
    refusal: reservedOf('monthly_spend_limit_usd', MONEY),
    after: spentOf('monthly_spend_limit_exceeded', 'monthly_spend_limit_usd', FIRST_OF_MONTH),
  },
  {
    limit: 'end_user_daily_usd',
    value: MONEY,
    firstTwo: 'ended',
    refusal: reservedOf('end_user_daily_usd', MONEY),
    after: spentOf('daily_spend_limit_exceeded', 'end_user_daily_usd', MIDNIGHT),
    bystander: 'another end user',
  },
  {
    limit: 'balance',
    value: MONEY,
    firstTwo: 'ended',
    refusal: reservedOf('balance_usd', LEFT),
    after: spentOf('insufficient_balance', 'balance_usd', null, '0', '0'),
  },
]

const ofAccount = (refusal: Refusal): Refusal => ({
  ...refusal,
  metadata: { ...refusal.metadata, limit_of: 'account' },
})

/** The same of an account, but for those that it has no like of. */
const OF_ACCOUNTS = OF_KEYS.filter(
  ({ limit, bystander }) => limit !== 'balance' && bystander === undefined,
).map(
  (race): Race => ({
    ...race,
    of: 'account',
    refusal: ofAccount(race.refusal),
    after: race.after && ofAccount(race.after),
  }),
)

export const RACES: readonly Race[] = [...OF_KEYS, ...OF_ACCOUNTS]
