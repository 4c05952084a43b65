/** `gatewayctl audit` on the compiled binary: clean under load, exit 1 on any drift, the same with the server down. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

const cli = openCli()
let gateway: Appliance
let key = ''

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli)
  key = (await gateway.verb('keys.create', { name: 'worker' })).key
})

afterAll(async () => {
  await gateway?.kill()
  cli.close()
})

const hello = (user: string) => ({
  model: 'demo/echo',
  user,
  messages: [{ role: 'user', content: 'hello there world' }],
})

interface Audit {
  readonly clean: boolean
  readonly entries: number
  readonly open_holds: number
  readonly findings: readonly { readonly what: string; readonly difference_usd: string | null }[]
}

/** Throws when there is a difference: the command exits 1. */
const audit = (): Audit => cli.json<Audit>(['audit'])

/** What somebody did to the file behind the gateway's back. */
function tamper(sql: string): void {
  const database = new Database(join(cli.dataDir, 'gateway.db'))
  database.run(sql)
  database.close()
}

test('is clean at any moment, while requests come and go', async () => {
  let asking = true
  const worker = async (name: string): Promise<number> => {
    let served = 0
    for (; asking; served++) await (await gateway.chat(key, hello(name))).text()
    return served
  }
  const workers = ['ann', 'bob', 'eve', 'ann'].map(worker)
  const audits: Audit[] = []
  for (let i = 0; i < 5; i++) audits.push(await gateway.verb('audit', {}))
  asking = false
  const served = (await Promise.all(workers)).reduce((sum, count) => sum + count, 0)
  for (const one of audits) expect(one).toMatchObject({ clean: true, findings: [] })
  expect(audits.at(-1)?.entries).toBeGreaterThan(audits[0]?.entries ?? 0)
  const { code, out } = cli.run(['audit'])
  expect(out).toBe(
    `audit clean: ${served + 1} entries, 1 account, 1 key day, 3 end-user days, 0 holds in progress\n`,
  )
  expect(code).toBe(0)
})

test('sees a request in progress, and its hold', async () => {
  const leaving = new AbortController()
  const asking = gateway.chat(key, hello('delay-9000'), {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    signal: leaving.signal,
  })
  await until(() => audit().open_holds === 1, 'it is in progress')
  expect(audit()).toMatchObject({ clean: true, open_holds: 1 })
  leaving.abort()
  await expect(asking).rejects.toThrow()
  await until(() => audit().open_holds === 0, 'it has been let go')
})

describe('drift', () => {
  test.each([
    ['accounts SET balance_nanos = balance_nanos', '', 'balance', 'account default: '],
    ['key_days SET spent_nanos = spent_nanos', '', 'key_day', 'key worker on '],
    [
      'end_user_days SET spent_nanos = spent_nanos',
      "WHERE end_user = 'ann'",
      'end_user_day',
      'end user ann of key worker on ',
    ],
  ])('in %s %s is exit 1 and is named', (assignment, where, what, words) => {
    tamper(`UPDATE ${assignment} + 7 ${where}`)
    const { code, out } = cli.run(['audit'])
    expect(code).toBe(1)
    expect(out).toContain(`✖ ${words}`)
    expect(out).toContain('(difference $0.000000007)')
    expect(out).toMatch(/\naudit found \d+ differences? in \d+ entries/)
    const json = cli.run(['audit', '--json'])
    expect(json.code).toBe(1)
    const { findings } = JSON.parse(json.out) as Audit
    expect(findings).toContainEqual(
      expect.objectContaining({ what, difference_usd: '0.000000007' }),
    )
    expect(cli.run(['audit', '-q'])).toMatchObject({ code: 1, out: '' })
    expect(cli.run(['doctor']).code).toBe(6)
    tamper(`UPDATE ${assignment} - 7 ${where}`)
    expect(audit().clean).toBe(true)
  })

  test('of what was kept before the gateway went down is found by a command without it', async () => {
    const up = cli.run(['audit']).out
    expect(await gateway.stop()).toBe(0)
    expect(cli.run(['audit']).out).toBe(up)
    tamper('UPDATE key_days SET spent_nanos = spent_nanos - 1')
    expect(cli.run(['audit']).code).toBe(1)
    tamper('UPDATE key_days SET spent_nanos = spent_nanos + 1')
    expect(cli.run(['audit']).code).toBe(0)
  })
})
