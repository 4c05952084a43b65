/** What one that waited in vain is told, and what the log says of it (contract §8). */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { hello, openScriptedGateway, type ScriptedGateway, say } from '../traps/scripted-gateway.ts'

const WAIT_S = 2

let setup: ScriptedGateway
let release: () => void
let asked = 0
beforeAll(async () => {
  setup = await openScriptedGateway({ env: { GATEWAY_RESERVE_WAIT: `${WAIT_S}s` } })
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  await setup.provide('slow', async (response) => {
    asked++
    await held
    say(response, false)
  })
  await setup.addModel('slow/m')
})
afterAll(() => setup?.close())

test('it is told to wait as long as it has waited in vain, and logged with its time in the queue', async () => {
  const { gateway } = setup
  const { key, id } = await gateway.verb('keys.create', {
    name: 'k',
    daily_spend_limit_usd: '0.01',
  })
  const ask = (stream: boolean) =>
    gateway.chat(key, hello({ model: 'slow/m', max_tokens: 4_000, stream }))
  const first = ask(false)
  await until(() => asked === 1, 'the first is asked')
  const refused = await Promise.all([ask(false), ask(true)])
  for (const { status, headers } of refused) {
    expect([status, headers.get('retry-after')]).toEqual([429, `${WAIT_S}`])
  }
  release()
  expect((await first).status).toBe(200)

  const lines = (await gateway.verb('activity.list', { key: id })).filter(
    ({ code }) => code === 'spend_reserved',
  )
  expect(lines).toHaveLength(refused.length)
  for (const { queued_ms: queued, total_ms: total } of lines) {
    expect(queued).toBeGreaterThanOrEqual(WAIT_S * 1_000 - 50)
    expect(queued).toBeLessThanOrEqual(total)
  }
})
