/** Two hundred who come back as long as money is only held: they get what it affords, and no more than one crosses it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AT_ONCE, CHARGE, openRaceGateway, type RaceGateway } from './race-gateway.ts'

/** What ten charges take, and a little more: the tenth does not reach it, so that an eleventh may cross. */
const [EVEN, UNEVEN] = ['0.0014', '0.00145']

let setup: RaceGateway
beforeAll(async () => {
  setup = await openRaceGateway()
})
afterAll(() => setup?.close())

async function insist(key: string, place: number): Promise<string> {
  // Half of them can be held side by side; the others hold more than there is.
  const more = { model: 'slow/m', ...(place % 4 < 2 && { max_tokens: 20 }) }
  for (;;) {
    const told = await setup.ask(key, place, more)
    if (told?.line !== '429 spend_reserved') return told?.line ?? 'served'
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
    { limit, line, what: 'reached exactly', money: EVEN, affords: 10 },
    { limit, line, what: 'crossed by one', money: UNEVEN, affords: 11 },
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
