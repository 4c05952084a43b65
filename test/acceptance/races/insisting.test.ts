/** Many clients that retry while money is only held: they get what the balance affords, plus at most one more. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FULL } from '#test/support/tier.ts'
import { CHARGE, openRaceGateway, type RaceGateway } from './race-gateway.ts'

/** The cost of ten charges and a little more: the tenth does not use it up, so that an eleventh may go over. */
const [EVEN, UNEVEN] = ['0.0014', '0.00145']

const AT_ONCE = FULL ? 200 : 40

let setup: RaceGateway
beforeAll(async () => {
  setup = await openRaceGateway()
})
afterAll(() => setup?.close())

async function insist(key: string, place: number): Promise<string> {
  // Half of them can be held at the same time; the others need more than there is.
  const more = { model: 'slow/m', ...(place % 4 < 2 && { max_tokens: 20 }) }
  for (;;) {
    const refusal = await setup.ask(key, place, more)
    if (refusal?.line !== '429 spend_reserved') return refusal?.line ?? 'served'
    await Bun.sleep(5 + (place % 20))
  }
}

const MONEY = [
  ['daily_spend_limit_usd', '402 daily_spend_limit_exceeded'],
  ['monthly_spend_limit_usd', '402 monthly_spend_limit_exceeded'],
  ['end_user_daily_usd', '402 daily_spend_limit_exceeded'],
  ['balance', '402 insufficient_balance'],
] as const

test.each(
  MONEY.flatMap(([limit, line]) => [
    { limit, line, what: 'used up exactly', money: EVEN, affords: 10 },
    { limit, line, what: 'exceeded by one request', money: UNEVEN, affords: 11 },
  ]),
)('T14: $limit, $what', async ({ limit, line, what, money, affords }) => {
  const account = `${limit} ${what}`
  const keys =
    limit === 'balance'
      ? await setup.openAccount(account, money, 2)
      : await setup.openAccount(account, '1000', 1, { [limit]: money })
  const outcomes = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, place) =>
      insist(keys[(place >> 2) % keys.length] ?? '', place),
    ),
  )
  expect(outcomes.filter((outcome) => outcome === 'served')).toHaveLength(affords)
  expect(outcomes.filter((outcome) => outcome === line)).toHaveLength(AT_ONCE - affords)
  expect(await setup.chargesOf(account)).toEqual(Array(affords).fill(CHARGE))
  await setup.expectNothingLeft(keys)
})
