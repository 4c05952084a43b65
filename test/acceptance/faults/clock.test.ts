/** The clock of a running gateway jumps across midnight, forward and back: days, ceilings and sums stay correct. */
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { byFile, HAS_FAKETIME, setClock } from '#scripts/faketime.ts'
import {
  type Appliance,
  furnishCli,
  openHolds,
  readDatabase,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { startReceiver } from '#test/support/receiver.ts'
import { CHARGE_NANOS, HELLO, startProvider } from './provider.ts'

if (!HAS_FAKETIME) console.warn('clock: skipped, libfaketime is not installed')
const DAY_MS = 86_400_000

let cli: CliHarness
let gateway: Appliance
let provider: ReturnType<typeof startProvider>

afterEach(async () => {
  await gateway.kill()
  await provider.stop()
  cli.close()
})

const clockFile = (): string => join(cli.home, 'clock')
const setTo = (at: string): void => setClock(clockFile(), `@${at}`)

const days = () =>
  readDatabase<{ day: number; spent: number }>(
    cli,
    'SELECT day, sum(spent_nanos) AS spent FROM key_days GROUP BY day ORDER BY day',
  )
const today = async (): Promise<string> =>
  (await fetch(`${gateway.url}/healthz`)).headers.get('date') ?? ''

async function jumpTo(at: string, says: RegExp): Promise<void> {
  setTo(at)
  await until(async () => says.test(await today()), `the gateway's clock says ${at}`)
}

async function start(more: Readonly<Record<string, string>> = {}): Promise<void> {
  provider = startProvider()
  await startGateway(more)
  await provider.addTo(gateway)
}

async function startGateway(more: Readonly<Record<string, string>> = {}): Promise<void> {
  gateway = await startAppliance(cli, {
    env: {
      ...byFile(clockFile()),
      TZ: 'UTC',
      ...more,
    },
  })
}

test.skipIf(!HAS_FAKETIME)(
  'a clock that jumps over midnight and back: no charge is lost, and no ceiling is granted twice',
  async () => {
    cli = furnishCli(openCli())
    setTo('2027-03-10 23:58:00')
    await start()
    const { key } = await gateway.verb('keys.create', {
      name: 'worker',
      daily_spend_limit_usd: '0.00020',
    })
    const ask = async (): Promise<number> => (await gateway.chat(key, HELLO)).status
    const first = Math.floor(Date.parse('2027-03-10T00:00:00Z') / DAY_MS)

    // Two of $0.00014 cross a ceiling of $0.00020; the third is refused.
    expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 402])
    await jumpTo('2027-03-11 00:00:30', /11 Mar 2027/)
    expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 402])
    // Back on the previous day: no key gets its daily ceiling a second time.
    await jumpTo('2027-03-10 23:59:00', /10 Mar 2027/)
    expect(await ask()).toBe(402)
    await jumpTo('2027-03-12 00:00:30', /12 Mar 2027/)
    expect(await ask()).toBe(200)

    expect(days()).toEqual([
      { day: first, spent: 2 * CHARGE_NANOS },
      { day: first + 1, spent: 2 * CHARGE_NANOS },
      { day: first + 2, spent: CHARGE_NANOS },
    ])
    expect(openHolds(cli)).toBe(0)
    expect(cli.run(['audit']).code).toBe(0)
  },
)

test.skipIf(!HAS_FAKETIME)(
  'a clock that is set back: no notice waits for it, and what a key did in the future is not counted',
  async () => {
    cli = furnishCli(openCli())
    setTo('2027-03-12 12:00:00')
    await start({ GATEWAY_ALLOW_LOOPBACK_WEBHOOKS: '1' })
    const hook = startReceiver(
      (nth) =>
        new Response(null, nth === 0 ? { status: 503, headers: { 'retry-after': '3600' } } : {}),
    )
    await gateway.verb('thresholds.set', { threshold_usd: '999999', webhook_url: hook.url })
    const { key } = await gateway.verb('keys.create', { name: 'worker' })
    expect((await gateway.chat(key, HELLO)).status).toBe(200)
    const tries = () =>
      readDatabase<{ n: number }>(cli, 'SELECT count(*) AS n FROM delivery_tries')[0]?.n
    await until(() => tries() === 1, 'the first try has failed')
    await jumpTo('2027-03-10 12:00:00', /10 Mar 2027/)
    await until(() => hook.received.length === 2, 'the notice is tried again')
    const headers = { authorization: `Bearer ${key}` }
    const info = await (await fetch(`${gateway.url}/v1/key`, { headers })).json()
    expect(info).toMatchObject({ usage: { requests_minute: 0, requests_day: 0 } })
  },
)

test.skipIf(!HAS_FAKETIME).each([
  ['with a restart', true],
  ['without a restart', false],
])(
  'T44: a clock two days behind and right again over a month’s end, %s: nothing is available twice',
  async (_, restarts) => {
    cli = furnishCli(openCli())
    setTo('2027-03-01 00:10:00')
    await start()
    const limits = [
      { daily_spend_limit_usd: '0.00020' },
      { monthly_spend_limit_usd: '0.00020' },
      { end_user_daily_usd: '0.00020' },
      { rpd_limit: 2 },
    ]
    const keys: string[] = []
    for (const [place, limit] of limits.entries()) {
      keys.push((await gateway.verb('keys.create', { name: `key-${place}`, ...limit })).key)
    }
    const { key: free } = await gateway.verb('keys.create', { name: 'free' })
    const ask = async (key: string): Promise<number> =>
      (await gateway.chat(key, { ...HELLO, user: 'ann' })).status
    const REFUSED = [402, 402, 402, 429]
    const askAll = async (): Promise<number[]> => {
      const statuses: number[] = []
      for (const key of keys) statuses.push(await ask(key))
      return statuses
    }
    expect([await askAll(), await askAll()]).toEqual([Array(4).fill(200), Array(4).fill(200)])
    expect(await askAll()).toEqual(REFUSED)
    expect(cli.run(['audit']).code).toBe(0)

    if (restarts) {
      await gateway.kill()
      setTo('2027-02-27 00:10:00')
      await startGateway()
    } else await jumpTo('2027-02-27 00:10:00', /27 Feb 2027/)
    for (const key of keys) {
      const info = await fetch(`${gateway.url}/v1/key`, {
        headers: { authorization: `Bearer ${key}` },
      })
      expect(info.status).toBe(200)
    }
    // No price was in force by this clock: the oldest serves.
    expect(await ask(free)).toBe(200)
    expect(cli.run(['audit']).code).toBe(0)

    await jumpTo('2027-03-01 00:11:00', /01 Mar 2027/)
    expect(await askAll()).toEqual(REFUSED)
    expect(cli.run(['audit']).code).toBe(0)
  },
)
