/** More clients than the gateway has descriptors: it lives, charges nothing that it could not do, and goes on when they leave. */
import { readdirSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import {
  type Appliance,
  chargesIn,
  furnishCli,
  openHolds,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { dial, post, type RawClient } from '#test/support/raw-client.ts'
import { HELLO, startProvider } from './provider.ts'

const DESCRIPTORS = 80
const canLimit = Bun.which('prlimit') !== null && process.platform === 'linux'

const provider = startProvider()
let cli: CliHarness
let gateway: Appliance

afterEach(async () => {
  await gateway.kill()
  await provider.stop()
  cli.close()
})

const charges = (): number => chargesIn(cli).length

test.skipIf(!canLimit)('as many idle connections as there are descriptors', async () => {
  cli = furnishCli(openCli())
  gateway = await startAppliance(cli, {
    under: ['prlimit', `--nofile=${DESCRIPTORS}:${DESCRIPTORS}`],
  })
  await provider.addTo(gateway)
  const { key } = await gateway.verb('keys.create', { name: 'worker' })
  const request = post('/v1/chat/completions', { Authorization: `Bearer ${key}` }, HELLO)
  const early = dial(gateway.url)
  early.send('GET /healthz HTTP/1.1\r\nHost: gateway.test\r\n\r\n')
  await until(() => early.received.includes('200 OK'), 'the early one is in')

  const crowd: RawClient[] = Array.from({ length: 2 * DESCRIPTORS }, () => {
    const client = dial(gateway.url)
    // Nobody is let in before they have said something.
    client.send('GET /healthz HTTP/1.1\r\n')
    return client
  })
  const open = (): number => readdirSync(`/proc/${gateway.pid}/fd`).length
  await until(() => open() === DESCRIPTORS, 'no descriptor is left')
  // Whoever is in already is answered, and told that its provider could not be asked; it pays nothing.
  early.send(request)
  await until(() => early.received.includes('"error"'), 'it is answered')
  expect(early.received).toMatch(/HTTP\/1\.1 50[23] /)
  expect(provider.asked).toBe(0)
  expect(charges()).toBe(0)
  const beside = cli.runBeside(['doctor'])

  for (const client of crowd) client.hangUp()
  await until(async () => (await fetch(`${gateway.url}/readyz`)).status === 200, 'it is ready')
  expect((await beside).out).toMatch(/descriptors/)
  const before = charges()
  expect((await gateway.chat(key, HELLO)).status).toBe(200)
  expect(charges()).toBe(before + 1)
  expect(openHolds(cli)).toBe(0)
  expect(cli.run(['audit']).code).toBe(0)
  expect(cli.run(['doctor']).code).toBe(0)
})
