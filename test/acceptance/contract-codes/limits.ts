/** Limits that are used up: 402 and 429 (contract §3, §8). */
import { expect } from 'vitest'
import type { VerbInput } from '#operator/verbs.ts'
import { type Case, limitOf, type Row } from './case.ts'
import type { Visitor } from './visitor.ts'

/** The cost of demo/echo for "hi": one input token at $1 and one output token at $2 a million. */
const CHARGE = '0.000003'

const isWithin = (text: unknown, least: number, most: number): boolean =>
  typeof text === 'string' && /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most

const seconds = (least: number, most: number) =>
  expect.toSatisfy((text: unknown) => isWithin(text, least, most))

/** A timestamp that is at most this far ahead, in the contract's format. */
const ahead = (mostMs: number, shape: RegExp) =>
  expect.toSatisfy((text: unknown) => {
    if (typeof text !== 'string' || !shape.test(text)) return false
    const aheadMs = Date.parse(text) - Date.now()
    return aheadMs > -1_000 && aheadMs <= mostMs
  })

const DAY_MS = 86_400_000
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/
const MIDNIGHT = ahead(DAY_MS, /^\d{4}-\d\d-\d\dT00:00:00Z$/)
const FIRST_OF_MONTH = ahead(31 * DAY_MS, /^\d{4}-\d\d-01T00:00:00Z$/)
const IN_A_MINUTE = ahead(60_000, TIME)
const IN_A_DAY = ahead(DAY_MS, TIME)
const AMOUNT = expect.stringMatching(/^\d+(\.\d+)?$/)
const HELD = { held_usd: AMOUNT, requests_in_progress: 1 }

/** Uses up a limit by one whole answer, and sends another request. */
const askTwice =
  (fields: Partial<VerbInput<'keys.create'>>, more: object = {}) =>
  async (visitor: Visitor) => {
    await visitor.key(fields)
    const first = await visitor.chat(more)
    if (first.status !== 200) return first
    await first.text()
    return await visitor.chat(more)
  }

const ceiling = (
  what: string,
  limit: 'daily_spend_limit_usd' | 'monthly_spend_limit_usd' | 'end_user_daily_usd',
  resets: unknown,
): Case => ({
  what,
  metadata: limitOf(limit, CHARGE, CHARGE, resets),
  shouldRetry: 'false',
  taken: 1,
  spent: true,
  ask: askTwice({ [limit]: CHARGE }, { user: 'someone' }),
})

/** A key of its own account with this balance. */
async function openAccount(visitor: Visitor, dollars: string | null): Promise<void> {
  const { gateway } = visitor.scene
  const account = `of ${visitor.name}`
  await gateway.verb('accounts.create', { name: account })
  if (dollars !== null) await gateway.verb('balance.top-up', { account, amount_usd: dollars })
  await visitor.key({ account })
}

export const LIMITS = {
  daily_spend_limit_exceeded: {
    status: 402,
    type: 'insufficient_quota',
    cases: [
      ceiling('of the key, until midnight UTC', 'daily_spend_limit_usd', MIDNIGHT),
      ceiling('of one end user', 'end_user_daily_usd', MIDNIGHT),
    ],
  },
  monthly_spend_limit_exceeded: {
    status: 402,
    type: 'insufficient_quota',
    cases: [ceiling('until the first of the month', 'monthly_spend_limit_usd', FIRST_OF_MONTH)],
  },
  insufficient_balance: {
    status: 402,
    type: 'insufficient_quota',
    cases: [
      {
        what: 'an empty balance',
        metadata: limitOf('balance_usd', '0', '0'),
        shouldRetry: 'false',
        async ask(visitor) {
          await openAccount(visitor, null)
          return await visitor.chat()
        },
      },
    ],
  },
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    cases: [
      {
        what: 'requests a minute',
        metadata: limitOf('rpm_limit', 1, 1, IN_A_MINUTE),
        retryAfter: seconds(1, 60),
        taken: 1,
        spent: true,
        ask: askTwice({ rpm_limit: 1 }),
      },
      {
        what: 'requests a day: a wait too long for a client library',
        metadata: limitOf('rpd_limit', 1, 1, IN_A_DAY),
        retryAfter: seconds(86_300, 86_400),
        shouldRetry: 'false',
        taken: 1,
        spent: true,
        ask: askTwice({ rpd_limit: 1 }),
      },
      {
        what: 'requests a minute of one end user',
        metadata: limitOf('end_user_rpm', 1, 1, IN_A_MINUTE),
        retryAfter: seconds(1, 60),
        taken: 1,
        spent: true,
        ask: askTwice({ end_user_rpm: 1 }, { user: 'someone' }),
      },
    ],
  },
  concurrency_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    cases: [
      {
        what: 'while another request runs',
        metadata: limitOf('concurrency_limit', 1, 1),
        retryAfter: '1',
        taken: 1,
        spent: true,
        async ask(visitor) {
          await visitor.key({ concurrency_limit: 1 })
          await visitor.keepTalking()
          return await visitor.chat()
        },
      },
    ],
  },
  spend_reserved: {
    status: 429,
    type: 'rate_limit_error',
    cases: [
      {
        what: 'the rest of the daily limit is held',
        metadata: { ...limitOf('daily_spend_limit_usd', CHARGE, AMOUNT), ...HELD },
        retryAfter: '1',
        taken: 1,
        spent: true,
        async ask(visitor) {
          await visitor.key({ daily_spend_limit_usd: CHARGE })
          await visitor.keepTalking()
          return await visitor.chat()
        },
      },
      {
        what: 'the rest of the balance is held',
        metadata: { ...limitOf('balance_usd', '0.001', AMOUNT), ...HELD },
        retryAfter: '1',
        taken: 1,
        spent: true,
        async ask(visitor) {
          await openAccount(visitor, '0.001')
          await visitor.keepTalking()
          return await visitor.chat()
        },
      },
    ],
  },
} satisfies Record<string, Row>
