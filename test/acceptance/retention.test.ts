// Old activity on the compiled binary: it goes by itself, the books stay, what is gone is said to be gone; a kill in between harms nothing.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { DAY_MS, renderInstant, systemClock } from '#domain/clock.ts'
import { newKeyId } from '#domain/id.ts'
import { newSecret } from '#domain/secret.ts'
import { admitClaim } from '#test/support/admit.ts'
import {
  type Appliance,
  furnishCli,
  openHolds,
  readDatabase,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { aCharge, aClaim, aKey, anAct, anActivity, usd } from '#test/support/nouns.ts'

const LINES = 2_000
const A_DAY = { env: { GATEWAY_RETENTION_ACTIVITY: '24h' } }

let cli: CliHarness
let gateway: Appliance | null = null
let secret: string
let oldest: string

/** A gateway that was busy forty days ago. */
beforeEach(async () => {
  cli = furnishCli(openCli())
  const clock = handClock(renderInstant(systemClock.now()))
  const store = await openStore({ dataDir: cli.dataDir, clock })
  clock.advance(-40 * DAY_MS)
  const [account] = await store.accounts.list()
  if (!account) throw new Error('there is no account')
  const key = aKey(
    clock.now(),
    { rpd: 5 },
    { accountId: account.id, id: newKeyId(clock.now()), name: 'old-timer' },
  )
  secret = newSecret()
  await store.keys.issue(key, secret as never, anAct())
  const unlimited = aKey(
    clock.now(),
    {},
    { accountId: account.id, id: newKeyId(clock.now()), name: 'batch' },
  )
  await store.keys.issue(unlimited, newSecret(), anAct())
  const settled: Promise<boolean>[] = []
  for (let n = 0; n < LINES; n++) {
    const { version: catalogue } = store.catalogue.current()
    const claim = { ...aClaim(unlimited, clock.now(), usd('0')), catalogue }
    if (n === 0) oldest = claim.generationId
    await admitClaim(store.admissions, claim)
    const charge = aCharge(usd('0.001'))
    const activity = anActivity(claim, { cost: charge.amount, costRub: charge.costRub })
    settled.push(
      store.admissions.settle(claim.generationId, {
        answer: null,
        at: clock.now(),
        charge,
        activity,
      }),
    )
  }
  await Promise.all(settled)
  await store.close()
})

afterEach(async () => {
  await gateway?.kill()
  gateway = null
  cli.close()
})

const count = (table: string): number =>
  readDatabase<{ n: number }>(cli, `SELECT count(*) AS n FROM ${table}`)[0]?.n ?? -1

const hello = { model: 'demo/echo', messages: [{ role: 'user', content: 'hello there world' }] }

test('what is old goes; money, sums and slots stay; and whoever asks for it is told', async () => {
  gateway = await startAppliance(cli, A_DAY)
  const ids: string[] = []
  for (let n = 0; n < 3; n++) {
    const { id } = (await (await gateway.chat(secret, hello)).json()) as { id: string }
    ids.push(id)
  }
  const before = cli.run(['ledger', '--csv', '--limit', '10000']).out
  const days = cli.run(['audit']).out
  await until(() => count('activity') === 3, 'what is old is gone', 15_000)

  expect(cli.run(['audit'])).toMatchObject({ code: 0, out: days })
  expect(days).toContain(`${LINES + 4} entries`)
  expect(cli.run(['ledger', '--csv', '--limit', '10000']).out).toBe(before)
  expect(cli.run(['doctor']).out).toMatch(/the log of requests is complete since .*Z; what ended/)

  const shown = cli.run(['activity', 'show', oldest])
  expect(shown.code).toBe(3)
  expect(shown.err).toMatch(/what ended before \S+Z is no longer kept/)
  expect(shown.err).toMatch(/the ledger has its charge: led_\w+, \$0\.001/)
  expect(cli.run(['why', oldest]).err).toContain('is no longer kept')
  expect(cli.run(['activity', 'show', ids[0] ?? '']).code).toBe(0)
  for (const command of [
    ['activity', 'list', '--since', '50d'],
    ['usage', '--since', '50d'],
    ['usage', 'drift', '--since', '50d'],
  ]) {
    expect(cli.run(command).err).toContain('are no longer in the log; the ledger has every charge')
    expect(cli.run(command.with(-1, '1h')).err).not.toContain('no longer')
  }
  const report = cli.json<{ kept_since: string | null }>(['usage', '--since', '50d'])
  expect(report.kept_since).toMatch(/Z$/)

  const receipt = (id: string) =>
    fetch(`${gateway?.url}/v1/generation?id=${id}`, {
      headers: { authorization: `Bearer ${secret}` },
    })
  const gone = await receipt(oldest)
  expect([gone.status, await gone.text()]).toEqual([404, expect.stringContaining('no longer kept')])
  expect((await receipt(ids[0] ?? '')).status).toBe(200)

  // The window of a day is read back from what was left.
  expect(await gateway.stop()).toBe(0)
  gateway = await startAppliance(cli, A_DAY)
  expect((await gateway.chat(secret, hello)).headers.get('x-ratelimit-remaining-day')).toBe('1')
})

test('a kill in the middle loses no money and no line that is to be kept; the rest goes after the next start', async () => {
  gateway = await startAppliance(cli, A_DAY)
  expect((await gateway.chat(secret, hello)).status).toBe(200)
  await until(() => count('activity') < LINES, 'it has begun', 15_000)
  await gateway.kill()
  gateway = null
  const left = count('activity')
  expect(left).toBeGreaterThan(1)
  expect(left).toBeLessThan(LINES)
  const { code, out } = cli.run(['audit'])
  expect([code, out]).toEqual([0, expect.stringContaining(`${LINES + 2} entries`)])
  expect(readDatabase(cli, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
  expect(count('kept_since')).toBe(1)
  gateway = await startAppliance(cli, A_DAY)
  await until(() => count('activity') === 1, 'the rest is gone', 15_000)
  expect(openHolds(cli)).toBe(0)
  expect(cli.run(['audit']).code).toBe(0)
})

describe('how long', () => {
  test('less than a day is refused, with the reason and what is allowed', () => {
    const env = { GATEWAY_RETENTION_ACTIVITY: '12h' }
    const { code, err } = cli.run(['serve', '--listen', '127.0.0.1:0'], { env })
    expect(code).toBe(2)
    expect(err).toContain('GATEWAY_RETENTION_ACTIVITY must be at least 24h, or none (got "12h")')
    expect(err).toContain('daily request limits are counted from the log after a restart')
  })
})
