/** A falling balance is heard of: by webhook and by mail, at least once each, whatever receivers do and however often the gateway is killed. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import {
  type Appliance,
  furnishCli,
  nanos,
  readDatabase,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { openMailServer } from '#test/support/mail-server.ts'
import { type Answer, openReceiver, type Received, verify } from '#test/support/receiver.ts'
import { FULL } from '#test/support/tier.ts'

const LOGIN = { user: 'gateway', password: 'canary-9f2b7c' }
/** Each request costs more than a dollar. */
const DEAR = { model: 'demo/dear', messages: [{ role: 'user', content: 'hi' }] }

let cli: CliHarness
let gateway: Appliance
let answerHook: Answer = () => new Response(null, { status: 204 })
let replyMail = (): number => 250

/** Events that a receiver was content with. */
const took = new Set<string>()

const hook = openReceiver(async (nth, received) => {
  const response = await answerHook(nth, received)
  if (response.ok) took.add(idOf(received))
  return response
})
const inside = openReceiver(() => new Response())
const mails = await openMailServer({
  login: LOGIN,
  reply: () => replyMail(),
  options: { allowInsecureAuth: true },
})
afterAll(async () => {
  await Promise.all([hook.close(), inside.close(), mails.close()])
})

const env = {
  GATEWAY_ALLOW_LOOPBACK_WEBHOOKS: '1',
  GATEWAY_SMTP_URL: `smtp://${LOGIN.user}:${LOGIN.password}@127.0.0.1:${mails.port}`,
  GATEWAY_SMTP_FROM: 'Gateway <gateway@example.org>',
}

beforeEach(() => {
  cli = furnishCli(openCli(), '1')
})
afterEach(async () => {
  await gateway.kill()
  cli.close()
})

/** A gateway whose owner hears below one dollar; the secret signs what he hears. */
async function open(): Promise<{ secret: string; key: string }> {
  gateway = await startAppliance(cli, { env })
  await gateway.verb('models.add', {
    model: DEAR.model,
    upstream: 'echo',
    in_usd: '500000',
    out_usd: '500000',
  })
  const { webhook_secret: secret } = await gateway.verb('thresholds.set', {
    threshold_usd: '1',
    email: 'ops@example.org',
    webhook_url: `${hook.url}/hook`,
  })
  const { key } = await gateway.verb('keys.create', { name: 'app' })
  return { secret: secret ?? '', key }
}

const ask = async (key: string): Promise<void> => {
  const response = await gateway.chat(key, DEAR)
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  await response.arrayBuffer()
}

/** Puts money in until the balance stands half a dollar above the threshold. */
async function fill(): Promise<void> {
  const { balance_usd: balance } = await gateway.verb('balance.show', {})
  const missing = nanos('1.5') - nanos(balance)
  const [dollars, rest] = [missing / 1_000_000_000n, missing % 1_000_000_000n]
  await gateway.verb('balance.top-up', { amount_usd: `${dollars}.${`${rest}`.padStart(9, '0')}` })
}

interface OutboxRow {
  readonly event_id: string
  readonly channel: string
  readonly state: string
  readonly tries: number
  readonly body: string
}

const outbox = (): OutboxRow[] =>
  readDatabase<OutboxRow>(cli, 'SELECT event_id, channel, state, tries, body FROM outbox')

const arrived = (): boolean => outbox().every(({ state }) => state === 'delivered')

/** A command that waits for what this process answers. */
async function runBeside(...args: readonly string[]) {
  const child = Bun.spawn([BINARY, ...args], { cwd: cli.home, env: cli.env, stdin: 'ignore' })
  return { out: await child.stdout.text(), code: await child.exited }
}

const idOf = ({ headers }: Received): string => headers['webhook-id'] ?? ''

describe('a charge that takes the balance below its threshold', () => {
  test('sends a webhook and an e-mail; again only after a top-up', async () => {
    const { secret, key } = await open()
    await ask(key)
    await until(() => outbox().length === 2 && arrived(), 'both have arrived')
    expect(hook.received).toHaveLength(1)
    const event = verify(secret, hook.received[0]!)
    const { balance_usd: balance } = await gateway.verb('balance.show', {})
    expect(event).toEqual({
      type: 'gateway.low_balance',
      id: idOf(hook.received[0]!),
      timestamp: expect.stringMatching(/^20\d\d-.*Z$/),
      data: {
        account_id: expect.stringMatching(/^acct_/),
        balance_usd: balance,
        balance_rub: Number(balance) * 90,
        threshold_usd: '1.00',
      },
    })
    expect(mails.taken).toHaveLength(1)
    expect(mails.taken[0]).toMatchObject({ to: ['ops@example.org'], user: LOGIN.user })
    expect(mails.taken[0]?.source).toContain(balance)

    await ask(key).catch(() => {})
    await fill()
    await ask(key)
    await until(() => outbox().length === 4 && arrived(), 'the second fall has arrived')
    expect(new Set(hook.received.map(idOf)).size).toBe(2)
    expect(mails.taken).toHaveLength(2)

    // What the commands say of it.
    const [latest] = cli.json<{ event_id: string; state: string }[]>(['deliveries', 'list'])
    expect(latest).toMatchObject({ event_id: idOf(hook.received[1]!), state: 'delivered' })
    const both = await runBeside('thresholds', 'test')
    expect(both.out).toMatch(/mail to ops@example\.org → 250 in \d+ ms/)
    expect(both.out).toMatch(/POST http.* → 204 in \d+ ms/)
    expect(both.code).toBe(0)
    answerHook = () => new Response(null, { status: 500 })
    expect(await runBeside('thresholds', 'test', 'webhook')).toMatchObject({ code: 6 })
    answerHook = () => new Response(null, { status: 204 })

    expect(await gateway.stop()).toBe(0)
    expect(gateway.said()).not.toContain(LOGIN.password)
    expect(gateway.said()).not.toContain(secret.slice(6))
    const files = readDatabase(cli, 'SELECT * FROM delivery_tries, thresholds, outbox')
    expect(JSON.stringify(files)).not.toMatch(/canary|whsec_/)
  })
})

const ROUNDS = FULL ? 30 : 4
const MAX_MS = 150

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31))
let state = seed
/** mulberry32: the same rounds again from the same seed. */
function random(): number {
  state = (state + 0x6d2b79f5) | 0
  let bits = Math.imul(state ^ (state >>> 15), 1 | state)
  bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
  return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
}

const recovered = Promise.withResolvers<void>()

const moods: readonly (() => Response | Promise<Response>)[] = [
  () => new Response('broken', { status: 500 }),
  // Hangs for as long as the trouble lasts.
  async () => {
    await recovered.promise
    return new Response(null, { status: 503 })
  },
  () => Response.redirect(`${inside.url}/in`, 307),
  () => new Response(null, { status: 410 }),
  () => new Response(null, { status: 204 }),
  // Taken, and the answer comes too late for a gateway that is killed.
  async () => {
    await Bun.sleep(80)
    return new Response(null, { status: 204 })
  },
]

describe('a gateway that is killed', () => {
  test(`${ROUNDS} times, beside receivers that fail, loses no notice and no charge`, {
    timeout: 120_000,
  }, async () => {
    process.stdout.write(`notices: seed ${seed} (SEED=${seed} repeats it)\n`)
    hook.received.length = 0
    took.clear()
    mails.taken.length = 0
    answerHook = () => moods[Math.floor(random() * moods.length)]?.() ?? new Response()
    replyMail = () => [250, 451, 550][Math.floor(random() * 3)] ?? 250
    const { secret, key } = await open()
    for (let round = 0; round < ROUNDS; round++) {
      await fill()
      await ask(key)
      await Bun.sleep(random() * MAX_MS)
      await gateway.kill()
      gateway = await startAppliance(cli, { env })
    }
    // One event for each fall that a client knows of, on both channels, in the charge's own transaction.
    expect(outbox()).toHaveLength(2 * ROUNDS)

    answerHook = () => new Response(null, { status: 204 })
    replyMail = () => 250
    recovered.resolve()
    const firstRetries = () =>
      outbox().filter(({ state, tries }) => state === 'pending' && tries < 2)
    await until(() => firstRetries().length === 0, 'what failed once came again by itself', 40_000)
    // The rest had failed twice, or been refused for good: nobody waits minutes here.
    for (const id of new Set(undelivered()))
      await gateway.verb('deliveries.redeliver', { event: id })
    await until(arrived, 'every notice has arrived', 30_000)

    const bodies = new Map(outbox().map(({ event_id: id, body }) => [id, body]))
    expect(bodies.size).toBe(ROUNDS)
    for (const one of hook.received) {
      expect(one.body).toBe(bodies.get(idOf(one)))
      verify(secret, one)
    }
    expect(took).toEqual(new Set(bodies.keys()))
    const mailed = mails.taken.map(({ source }) => /^Message-ID: <(evt_\w+)@/im.exec(source)?.[1])
    expect(new Set(mailed)).toEqual(new Set(bodies.keys()))
    expect(inside.received).toEqual([])
    // Otherwise nothing has been tried.
    expect(hook.received.length).toBeGreaterThan(ROUNDS)
    process.stdout.write(
      `notices: ${ROUNDS} events, ${hook.received.length} webhooks, ${mails.taken.length} mails taken\n`,
    )

    expect(cli.run(['doctor', '-q'])).toEqual({ code: 0, out: '', err: '' })
    const [sum] = readDatabase<{ n: number; charges: number }>(
      cli,
      "SELECT sum(amount_nanos) AS n, count(*) FILTER (WHERE kind = 'charge') AS charges FROM ledger",
    )
    const { balance_usd: balance } = await gateway.verb('balance.show', {})
    expect(nanos(balance)).toBe(BigInt(sum?.n ?? 0))
    expect(sum?.charges).toBe(ROUNDS)
  })
})

const undelivered = (): string[] =>
  outbox()
    .filter(({ state }) => state !== 'delivered')
    .map(({ event_id: id }) => id)
