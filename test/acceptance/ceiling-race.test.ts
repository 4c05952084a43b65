/** Two hundred requests at once against money for ten: never more than it affords, nothing left behind. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Appliance,
  furnishDesk,
  nanos,
  openHolds,
  priced,
  startAppliance,
} from '#test/support/appliance.ts'
import { type Desk, openDesk } from '#test/support/desk.ts'
import { readSse } from '#test/support/read-sse.ts'
import { startReplay } from '#test/support/replay.ts'

const AT_ONCE = 200
const AFFORDED = 10
const CHARGE = priced([100, '1'], [20, '2'])
/** Ten charges and a little: the tenth does not reach it, so that an eleventh may cross. */
const UNEVEN = '0.00145'
const EVEN = '0.0014'

const replay = await startReplay()
const desks: Desk[] = []
const gateways: Appliance[] = []

afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.kill()))
  await replay?.stop()
  for (const desk of desks) desk.close()
})

async function open(dollars: string): Promise<{ desk: Desk; gateway: Appliance }> {
  const desk = furnishDesk(openDesk(), dollars)
  desks.push(desk)
  const gateway = await startAppliance(desk)
  gateways.push(gateway)
  await gateway.verb('providers.add', {
    name: 'acme',
    type: 'openai-compatible',
    base_url: `${replay?.url}/s/~prompt=100,completion=20,chunks=2,delay=10`,
    credential: null,
  })
  await gateway.verb('models.add', { model: 'acme/m', in_usd: '1', out_usd: '2' })
  return { desk, gateway }
}

/** What one request came to: a charged answer, or the code it was refused with. */
async function ask(gateway: Appliance, key: string, place: number): Promise<string> {
  const stream = place % 2 === 0
  const response = await gateway.chat(key, {
    model: 'acme/m',
    // Half of them can be held side by side; the others hold more than there is.
    ...(place % 4 < 2 && { max_tokens: 20 }),
    messages: [{ role: 'user', content: 'hi' }],
    stream,
  })
  const text = await response.text()
  if (response.status === 200) {
    const usage = stream ? readSse(text).chunks.at(-1)?.usage : JSON.parse(text).usage
    return usage?.cost === Number(CHARGE) / 1e9 ? 'served' : `odd: ${text}`
  }
  const { code } = JSON.parse(text).error
  return `${response.status} ${code}`
}

const everyoneOnce = (gateway: Appliance, key: string): Promise<string[]> =>
  Promise.all(Array.from({ length: AT_ONCE }, (_, place) => ask(gateway, key, place)))

/** Comes back as long as it is told that money is only held. */
const everyoneUntilTold = (gateway: Appliance, key: string): Promise<string[]> =>
  Promise.all(
    Array.from({ length: AT_ONCE }, async (_, place) => {
      for (;;) {
        const outcome = await ask(gateway, key, place)
        if (outcome !== '429 spend_reserved') return outcome
        await Bun.sleep(5 + (place % 20))
      }
    }),
  )

const count = (outcomes: readonly string[]): Record<string, number> =>
  Object.fromEntries(
    [...new Set(outcomes)].map((kind) => [kind, outcomes.filter((one) => one === kind).length]),
  )

async function spentBy(gateway: Appliance, keyId: string): Promise<bigint> {
  const entries = await gateway.verb('ledger.list', { key: keyId, kind: 'charge', limit: 10_000 })
  return entries.reduce((sum, entry) => sum - nanos(entry.amount_usd), 0n)
}

async function expectClean(desk: Desk, gateway: Appliance): Promise<void> {
  expect(openHolds(desk)).toBe(0)
  expect(desk.run(['doctor', '-q'])).toEqual({ code: 0, out: '', err: '' })
  expect(await gateway.verb('status', {})).toMatchObject({ in_flight: 0 })
}

describe.skipIf(!replay)("a key's daily ceiling", () => {
  let desk: Desk
  let gateway: Appliance
  beforeAll(async () => {
    ;({ desk, gateway } = await open('1000'))
  })

  test('T14: under one blow of two hundred', async () => {
    const { key, id } = await gateway.verb('keys.create', {
      name: 'blow',
      daily_spend_limit_usd: EVEN,
    })
    const { served = 0, ...refusals } = count(await everyoneOnce(gateway, key))
    const told =
      (refusals['429 spend_reserved'] ?? 0) + (refusals['402 daily_spend_limit_exceeded'] ?? 0)
    expect(served).toBeGreaterThan(0)
    expect(served + told).toBe(AT_ONCE)
    const spent = await spentBy(gateway, id)
    expect(spent).toBe(BigInt(served) * CHARGE)
    expect(spent).toBeLessThan(nanos(EVEN) + CHARGE)
    await expectClean(desk, gateway)
  })

  test.each([
    ['reached exactly', EVEN, AFFORDED],
    ['crossed by one', UNEVEN, AFFORDED + 1],
  ])('T14: when everybody insists: %s', async (name, ceiling, affordable) => {
    const { key, id } = await gateway.verb('keys.create', {
      name,
      daily_spend_limit_usd: ceiling,
    })
    expect(count(await everyoneUntilTold(gateway, key))).toEqual({
      served: affordable,
      '402 daily_spend_limit_exceeded': AT_ONCE - affordable,
    })
    const spent = await spentBy(gateway, id)
    expect(spent).toBe(BigInt(affordable) * CHARGE)
    expect(spent).toBeLessThan(nanos(ceiling) + CHARGE)
    await expectClean(desk, gateway)
  })
})

describe.skipIf(!replay)('the balance of an account', () => {
  test.each([
    ['spent exactly', EVEN, AFFORDED],
    ['overdrawn by one', UNEVEN, AFFORDED + 1],
  ])('T14: when everybody insists, with two keys: %s', async (_, balance, affordable) => {
    const { desk, gateway } = await open(balance)
    const keys = await Promise.all(
      ['one', 'two'].map(async (name) => gateway.verb('keys.create', { name })),
    )
    const outcomes = await Promise.all(keys.map(({ key }) => everyoneUntilTold(gateway, key)))
    expect(count(outcomes.flat())).toEqual({
      served: affordable,
      '402 insufficient_balance': 2 * AT_ONCE - affordable,
    })
    const { balance_usd: left } = await gateway.verb('balance.show', {})
    expect(nanos(left)).toBe(nanos(balance) - BigInt(affordable) * CHARGE)
    await expectClean(desk, gateway)
  })
})
