/** Trouble wakes somebody: each is told once, by mail and by webhook, within a minute. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_FILE } from '#db/file-name.ts'
import { byFile, HAS_FAKETIME, setClock } from '#scripts/faketime.ts'
import { openSmallDisk } from '#test/acceptance/faults/small-disk.ts'
import {
  type Appliance,
  furnishCli,
  readDatabase,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { type MailServer, openMailServer } from '#test/support/mail-server.ts'
import { openReceiver, type Received, type Receiver, verify } from '#test/support/receiver.ts'
import { FULL } from '#test/support/tier.ts'

/** From the trouble to the notice. */
const SOON_MS = 60_000

interface Told {
  readonly type: string
  readonly id: string
  readonly data: {
    readonly severity: string
    readonly message: string
    readonly hint: string
    readonly [fact: string]: unknown
  }
}

/** What a request costs at one dollar per million tokens. */
const TOKENS = 100
const CHARGE_USD = '0.0002'

interface Stub {
  readonly url: string
  answer: (bounds: { readonly max_tokens?: number }) => Response
  close(): Promise<void>
}

const whole = (completion: number): Response =>
  Response.json({
    id: 'c',
    object: 'chat.completion',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: TOKENS,
      completion_tokens: completion,
      total_tokens: TOKENS + completion,
    },
  })

function openStub(answer: Stub['answer'], tls?: Bun.TLSOptions): Stub {
  const stub = { answer, url: '', close: async () => {} }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    ...(tls && { tls }),
    async fetch(request) {
      if (request.method === 'GET') return Response.json({ object: 'list', data: [] })
      return stub.answer((await request.json()) as { max_tokens?: number })
    },
  })
  stub.url = `${tls ? 'https' : 'http'}://127.0.0.1:${server.port}`
  stub.close = () => server.stop(true)
  return stub
}

/** A certificate for five days, where openssl is here. */
function shortLived(home: string): { readonly tls: Bun.TLSOptions; readonly file: string } | null {
  const [cert, key] = [join(home, 'short.pem'), join(home, 'short-key.pem')]
  const made = Bun.spawnSync(
    'openssl req -x509 -newkey rsa:2048 -nodes -days 5 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -out'
      .split(' ')
      .concat(cert, '-keyout', key),
  )
  return made.exitCode === 0
    ? { tls: { cert: Bun.file(cert), key: Bun.file(key) }, file: cert }
    : null
}

const disk = openSmallDisk(300)
const cli = disk?.cli ?? openCli()
const certificate = shortLived(cli.home)
const ordinary = openStub(() => whole(TOKENS))
const stubs: Stub[] = [ordinary]
let hook: Receiver
let mails: MailServer
let gateway: Appliance
let secret = ''
let busyKey = ''

const told = (type: string): readonly Told[] =>
  hook.received.map(({ body }): Told => JSON.parse(body)).filter((one) => one.type === type)

/** Waits until it is told. */
async function hears(type: string, times = 1): Promise<Told> {
  await until(() => told(type).length >= times, `${type} is told`, SOON_MS)
  const one = told(type)[times - 1]
  if (one === undefined) throw new Error(type)
  return one
}

const clockFile = (): string => join(cli.home, 'clock')

async function add(name: string, { url }: Stub): Promise<string> {
  await gateway.verb('providers.add', {
    name,
    type: 'openai-compatible',
    base_url: url,
    credential: null,
  })
  await gateway.verb('models.add', { model: `${name}/m`, in_usd: '1', out_usd: '1' })
  return `${name}/m`
}

async function ask(key: string, model: string, more: object = {}): Promise<number> {
  const messages = [{ role: 'user', content: 'hi' }]
  const answer = await gateway.chat(key, { model, messages, max_tokens: TOKENS, ...more })
  await answer.arrayBuffer()
  return answer.status
}

beforeAll(async () => {
  furnishCli(cli)
  mails = await openMailServer()
  hook = openReceiver(() => new Response(null, { status: 204 }))
  setClock(clockFile(), '+0')
  // What a sweep trips over: an event that is too old, and that nobody may remove.
  const database = new Database(join(cli.dataDir, DATABASE_FILE))
  database.run(`INSERT INTO events (id, cause, subject, severity, body, raised_at)
    VALUES ('evt_00000000000000000000000000', 'gateway.test', '', 'info', '{"data":{}}', 0)`)
  database.run(
    `CREATE TRIGGER stuck BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'it is stuck'); END`,
  )
  database.close()
  gateway = await startAppliance(cli, {
    env: {
      GATEWAY_ALLOW_LOOPBACK_WEBHOOKS: '1',
      GATEWAY_SMTP_URL: `smtp://127.0.0.1:${mails.port}`,
      GATEWAY_SMTP_FROM: 'Gateway <gateway@example.org>',
      ...(certificate && { NODE_EXTRA_CA_CERTS: certificate.file }),
      ...(HAS_FAKETIME && byFile(clockFile())),
    },
  })
  const set = await gateway.verb('notices.set', {
    email: 'night@example.org',
    webhook_url: `${hook.url}/hook`,
  })
  secret = set.webhook_secret ?? ''
  await add('ordinary', ordinary)
  busyKey = (await gateway.verb('keys.create', { name: 'busy' })).key
})

afterAll(async () => {
  await gateway?.kill()
  await Promise.all([hook.close(), mails.close(), ...stubs.map((one) => one.close())])
  disk ? disk.close() : cli.close()
})

describe('somebody is told of', () => {
  test('a key that nears its ceiling, and of one that reached it', async () => {
    const limit = { daily_spend_limit_usd: '0.001' }
    const { key, id } = await gateway.verb('keys.create', { name: 'web', ...limit })
    for (let n = 0; n < 3; n++) expect(await ask(key, 'ordinary/m')).toBe(200)
    expect(told('gateway.key_ceiling')).toEqual([])
    expect(await ask(key, 'ordinary/m')).toBe(200)
    expect((await hears('gateway.key_ceiling')).data).toMatchObject({
      severity: 'warning',
      message: 'key web has used 80% of its ceiling of $0.001/day: $0.0008',
      key_id: id,
      percent: 80,
    })
    expect(await ask(key, 'ordinary/m')).toBe(200)
    expect((await hears('gateway.key_ceiling', 2)).data).toMatchObject({
      severity: 'critical',
      limit_usd: '0.001',
      used_usd: '0.001',
      hint: expect.stringMatching(/gatewayctl limits set key_\w+ --daily-usd AMOUNT/),
    })
    expect(await ask(key, 'ordinary/m')).toBe(402)
  })

  test('an account at its ceiling', async () => {
    const account = 'team-b'
    await gateway.verb('accounts.create', { name: account })
    await gateway.verb('balance.top-up', { account, amount_usd: '5' })
    await gateway.verb('accounts.set-limits', { account, monthly_spend_limit_usd: CHARGE_USD })
    const { key } = await gateway.verb('keys.create', { account, name: 'theirs' })
    expect(await ask(key, 'ordinary/m')).toBe(200)
    const { data } = await hears('gateway.account_ceiling')
    expect(data).toMatchObject({
      account_name: account,
      percent: 100,
      hint: expect.stringMatching(/gatewayctl accounts set-limits acct_\w+ --monthly-usd AMOUNT/),
    })
  })

  test('an end user at its ceiling', async () => {
    const limit = { end_user_daily_usd: CHARGE_USD }
    const { key } = await gateway.verb('keys.create', { name: 'shop', ...limit })
    expect(await ask(key, 'ordinary/m', { user: 'u_204' })).toBe(200)
    const { data } = await hears('gateway.end_user_ceiling')
    expect(data).toMatchObject({ end_user: 'u_204', key_name: 'shop', percent: 100 })
  })

  test('a charge beyond its hold, once a day for its model', async () => {
    const greedy = openStub(() => whole(10 * TOKENS))
    stubs.push(greedy)
    const model = await add('greedy', greedy)
    for (let n = 0; n < 3; n++) expect(await ask(busyKey, model)).toBe(200)
    const { data } = await hears('gateway.charge_beyond_hold')
    expect(data).toMatchObject({ provider: 'greedy', model, charged_usd: '0.0011' })
  })

  test('a backup that failed, until one succeeds', async () => {
    const fail = () => cli.runBeside(['backup', join(cli.home, 'missing', 'a.db')])
    expect([(await fail()).code, (await fail()).code]).toEqual([1, 1])
    const { id } = await hears('gateway.backup_failed')
    expect(await gateway.verb('notices.show', { event: id })).toMatchObject({ state: 'open' })
    expect((await cli.runBeside(['backup', join(cli.home, 'b.db')])).code).toBe(0)
    expect(await gateway.verb('notices.show', { event: id })).toMatchObject({ state: 'over' })
  })

  test('a sweep that failed', async () => {
    expect((await hears('gateway.sweep_failed')).data['reason']).toContain('it is stuck')
  })

  test.skipIf(certificate === null)('a certificate that ends', async () => {
    const secure = openStub(() => whole(TOKENS), certificate?.tls)
    stubs.push(secure)
    expect(await ask(busyKey, await add('secure', secure))).toBe(200)
    const { data } = await hears('gateway.certificate_ending')
    expect(data).toMatchObject({ host: '127.0.0.1', days_left: expect.any(Number) })
    expect(data['days_left']).toBeLessThan(6)
  })

  test.skipIf(disk === undefined)('a disk that is nearly full', async () => {
    disk?.fill(200)
    const { data } = await hears('gateway.disk_low')
    expect(data).toMatchObject({ severity: 'critical', directory: cli.dataDir, level: 'full' })
  })

  // A trouble of fifteen seconds is nobody's night; `test/server/lookout.test.ts` has them without the wait.
  test.runIf(FULL)(
    'a provider that is down, and that it is back',
    { timeout: 120_000 },
    async () => {
      const flaky = openStub(() => Response.json({ error: { message: 'broken' } }, { status: 500 }))
      stubs.push(flaky)
      const model = await add('flaky', flaky)
      for (let n = 0; n < 3; n++) await ask(busyKey, model)
      const { id, data } = await hears('gateway.provider_resting')
      expect(data).toMatchObject({ provider: 'flaky', status: 500, models: ['m'] })
      flaky.answer = () => whole(TOKENS)
      expect(await ask(busyKey, model)).toBe(200)
      const recovered = await hears('gateway.provider_recovered')
      expect(recovered.data).toMatchObject({ provider: 'flaky', event_id: id })
    },
  )

  test.runIf(FULL)('a credential that was revoked', { timeout: 120_000 }, async () => {
    const strict = openStub(() => Response.json({ error: { message: 'no' } }, { status: 401 }))
    stubs.push(strict)
    const model = await add('strict', strict)
    expect(await ask(busyKey, model)).toBe(502)
    const { data } = await hears('gateway.credential_rejected')
    expect(data).toMatchObject({ provider: 'strict', status: 401, severity: 'critical' })
  })

  test.skipIf(!HAS_FAKETIME)('a clock that jumps', async () => {
    setClock(clockFile(), '+3h')
    const { data } = await hears('gateway.clock_wrong')
    expect(data['ahead_seconds']).toBeGreaterThan(10_000)
    setClock(clockFile(), '+0')
  })

  test('each once, by both ways, in the same words', async () => {
    const expected = readDatabase<{ id: string; cause: string; body: string }>(
      cli,
      'SELECT id, cause, body FROM events WHERE raised_at > 0 ORDER BY id',
    )
    const mailed = () =>
      mails.taken.map(({ source }) => /^Message-ID: <(evt_\w+)@/im.exec(source)?.[1])
    await until(() => mailed().length >= expected.length, 'every mail has arrived', SOON_MS)
    expect(mailed().toSorted()).toEqual(expected.map(({ id }) => id).toSorted())
    const byId = (one: Received) => one.headers['webhook-id'] ?? ''
    expect(hook.received.map(byId).toSorted()).toEqual(expected.map(({ id }) => id).toSorted())
    for (const one of hook.received) {
      expect(one.body).toBe(expected.find(({ id }) => id === byId(one))?.body)
      // The clock of the last was three hours ahead.
      if (!one.body.includes('clock_wrong')) verify(secret, one)
    }
    for (const { to } of mails.taken) expect(to).toEqual(['night@example.org'])
    expect(await gateway.verb('notices.list', { unseen: true })).toHaveLength(expected.length + 1)
    expect((await gateway.verb('notices.seen', {})).seen).toBe(expected.length + 1)
    expect(gateway.said()).not.toContain(secret.slice(6))
  }, 120_000)
})
