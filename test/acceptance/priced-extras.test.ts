/** What a vendor bills beside its usual prices, on the compiled program: refused without a price, held and charged with one. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nanos, openHolds } from '#test/support/appliance.ts'
import { hello, openScriptedGateway, type ScriptedGateway, say } from './traps/scripted-gateway.ts'

const PRICED = { server_tools: { web_search: '10' }, modifiers: { 'service_tier=priority': '2' } }
const WISH = { model: 'shop/priced', service_tier: 'priority', web_search_options: {} }
/** Ten tokens at $1 and five at $2 a million, and three searches at a cent, twice. */
const CHARGE = nanos('0.06004')
const AT_ONCE = 50

let setup: ScriptedGateway
beforeAll(async () => {
  setup = await openScriptedGateway()
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 5,
    server_tool_use: { web_search_requests: 3 },
  }
  await setup.provide('shop', (response, { body }) => say(response, body['stream'], usage))
  await setup.addModel('shop/priced', { ...PRICED, context_length: 1_000 })
  await setup.addModel('shop/plain')
})
afterAll(() => setup?.close())

const keyOf = async (name: string, fields: object = {}) =>
  await setup.gateway.verb('keys.create', { name, ...fields })

const charged = async (key: string): Promise<readonly bigint[]> => {
  const wish = { key, account: 'default', kind: 'charge', limit: 1_000 } as const
  const entries = await setup.gateway.verb('ledger.list', wish)
  return entries.map(({ amount_usd: amount }) => -nanos(amount))
}

test.each([
  [{ service_tier: 'priority' }, 'service_tier'],
  [{ web_search_options: {} }, 'web_search_options'],
  [{ speed: 'fast' }, 'speed'],
  [{ cache_control: { type: 'ephemeral', ttl: '1h' } }, 'cache_control.ttl'],
])('%j is refused by the card that has no price for it', async (more, param) => {
  const { key } = await keyOf(`refused ${param}`)
  const answer = await setup.gateway.chat(key, hello({ model: 'shop/plain', ...more }))
  const { error } = (await answer.json()) as { error: { code: string; param: string } }
  expect([answer.status, error.code, error.param]).toEqual([400, 'unsupported_parameter', param])
})

test.each([false, true])('the charge is exact (stream: %j)', async (stream) => {
  const { key, id } = await keyOf(`charged ${stream}`)
  const answer = await setup.gateway.chat(key, hello({ ...WISH, stream }))
  expect(await answer.text()).toContain('"modifiers":["service_tier=priority"]')
  expect(await charged(id)).toEqual([CHARGE])
})

test('many at once cross a ceiling by one request at most', async () => {
  const { key, id } = await keyOf('raced', { daily_spend_limit_usd: '0.3' })
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () =>
      (await setup.gateway.chat(key, hello({ ...WISH, max_tokens: 5 }))).text(),
    ),
  )
  const amounts = await charged(id)
  expect(new Set(amounts)).toEqual(new Set([CHARGE]))
  const spent = amounts.reduce((all, one) => all + one, 0n)
  expect(spent).toBeLessThanOrEqual(nanos('0.3') + CHARGE)
  expect(openHolds(setup.cli)).toBe(0)
})
