/** More clients than the gateway has file descriptors: it stays up, charges nothing that it did not do, and recovers. */
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
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
import { type CountedProvider, HELLO, startProvider } from './provider.ts'

const DESCRIPTORS = 80
/** Consecutive failures: a provider that failed this often would be put into cooldown. */
const FAILURES_THAT_WOULD_REST = 3
const canLimit = Bun.which('prlimit') !== null && process.platform === 'linux'

let provider: CountedProvider
let cli: CliHarness
let gateway: Appliance

beforeEach(() => {
  provider = startProvider()
})

afterEach(async () => {
  await gateway.kill()
  await provider.stop()
  cli.close()
})

const charges = (): number => chargesIn(cli).length

test.skipIf(!canLimit)(
  'with as many idle connections as descriptors the gateway stays up, and recovers when they close',
  async () => {
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
      // A connection is accepted only once its client has sent something.
      client.send('GET /healthz HTTP/1.1\r\n')
      return client
    })
    const open = (): number => readdirSync(`/proc/${gateway.pid}/fd`).length
    await until(() => open() === DESCRIPTORS, 'no descriptor is left')
    // A connected client gets an error that no provider could be called; it pays nothing, however often it retries.
    for (let tries = 1; tries <= FAILURES_THAT_WOULD_REST; tries++) {
      early.send(request)
      const answered = (): number =>
        early.received.split('"code":"descriptors_exhausted"').length - 1
      await until(() => answered() === tries, 'it is answered')
    }
    expect(early.received).toMatch(/HTTP\/1\.1 503 /)
    expect(early.received).toContain(`"limit":"open_files","limit_value":${DESCRIPTORS}`)
    expect(provider.asked).toBe(0)
    expect(charges()).toBe(0)
    const beside = cli.runBeside(['doctor'])

    for (const client of crowd) client.hangUp()
    await until(async () => (await fetch(`${gateway.url}/readyz`)).status === 200, 'it is ready')
    expect((await beside).out).toMatch(/descriptors/)
    // None of these failures is attributed to the provider.
    const { hops } = await gateway.verb('models.route.show', { model: 'acme/m' })
    expect(hops).toMatchObject([
      { provider: 'acme', health: { failures_in_a_row: 0, rests_until: null } },
    ])
    const [last] = cli.json<{ id: string }[]>(['activity', 'list', '--limit', '1'])
    const why = cli.json<{ story: string[] }>(['why', last?.id ?? ''])
    expect(why.story.slice(0, 2)).toEqual([
      'no provider was asked',
      expect.stringContaining(
        'the gateway broke it off before any content: 503 descriptors_exhausted',
      ),
    ])
    const before = charges()
    expect((await gateway.chat(key, HELLO)).status).toBe(200)
    expect(charges()).toBe(before + 1)
    expect(openHolds(cli)).toBe(0)
    expect(cli.run(['audit']).code).toBe(0)
    expect(cli.run(['doctor']).code).toBe(0)
  },
)

test.skipIf(!canLimit)(
  'with no descriptor left the first provider call of a process fails without a charge',
  async () => {
    cli = furnishCli(openCli())
    gateway = await startAppliance(cli)
    await provider.addTo(gateway)
    let received = ''
    const operator = connect(join(cli.dataDir, 'run', 'admin.sock'))
    operator.on('data', (data) => {
      received += data.toString()
    })
    operator.write(post('/verbs/rates.show', {}, {}))
    await until(() => received.includes('USD/RUB'), 'the operator is in')
    const limit = (nofile: string) =>
      Bun.spawnSync(['prlimit', `--pid=${gateway.pid}`, `--nofile=${nofile}:`])
    // Open descriptors remain usable; every new one is refused.
    expect(limit('4').exitCode).toBe(0)
    operator.write(post('/verbs/providers.test', {}, { name: 'acme' }))
    await until(() => /"ok":false.*no answer: (?:EMFILE|ECONNREFUSED)/.test(received), 'it is told')
    expect(limit('1024').exitCode).toBe(0)
    operator.destroy()
    const tested = await gateway.verb('providers.test', { name: 'acme' })
    expect(tested).toMatchObject([{ ok: true }])
  },
)
