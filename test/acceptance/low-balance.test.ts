/** A balance that runs out, as its owner hears of it: one mail and one signed webhook, tried out, sent again, and alive after a kill. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { type Ended, openCli } from '#test/support/cli-harness.ts'
import { type MailServer, openMailServer } from '#test/support/mail-server.ts'
import { openReceiver, verify } from '#test/support/receiver.ts'

interface Event {
  readonly type: string
  readonly id: string
  readonly test?: boolean
  readonly data: { readonly balance_usd: string; readonly threshold_usd: string }
}

const cli = openCli()
let status = 204
const receiver = openReceiver(() => new Response(null, { status }))
const heard = (): Event[] => receiver.received.map(({ body }) => JSON.parse(body))
let mailServer: MailServer
let gateway: Appliance
let key = ''
let secret = ''

const serve = () =>
  startAppliance(cli, {
    env: {
      GATEWAY_ALLOW_LOOPBACK_WEBHOOKS: '1',
      GATEWAY_SMTP_URL: `smtp://127.0.0.1:${mailServer.port}`,
      GATEWAY_SMTP_FROM: 'Gateway <gateway@example.org>',
    },
  })

/** Typed while this process goes on receiving. */
async function type(...args: readonly string[]): Promise<Ended> {
  const typed = Bun.spawn([BINARY, ...args], {
    cwd: cli.home,
    env: cli.env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err, code] = await Promise.all([
    typed.stdout.text(),
    typed.stderr.text(),
    typed.exited,
  ])
  return { code, out, err }
}

const spend = async (): Promise<void> => {
  const body = { model: 'demo/lorem', messages: [{ role: 'user', content: 'hi' }] }
  const answer = await gateway.chat(key, body)
  if (!answer.ok) throw new Error(await answer.text())
  await answer.json()
}

beforeAll(async () => {
  mailServer = await openMailServer()
  furnishCli(cli, '10')
  gateway = await serve()
  key = (await gateway.verb('keys.create', { name: 'spender' })).key
})

afterAll(async () => {
  await gateway?.kill()
  await Promise.all([receiver.close(), mailServer.close()])
  cli.close()
})

test('a test is sent on both channels, and prints the responses', async () => {
  const where = ['--webhook', `${receiver.url}/hook`, '--email', 'ops@example.org']
  const set = await type('thresholds', 'set', ...where)
  secret = set.out.trim()
  expect(secret).toMatch(/^whsec_/)

  const tested = await type('thresholds', 'test')
  expect(tested).toMatchObject({ code: 0, err: '' })
  const [mail, hook] = tested.out.split('\n')
  expect(mail).toMatch(/^✓ mail to ops@example\.org → 250 in \d+ ms {3}event gateway\.low_balance/)
  expect(hook).toMatch(/^✓ POST http:\/\/127\.0\.0\.1:\d+\/hook → 204 in \d+ ms .*id evt_\w+$/)
  const [received] = receiver.received
  if (received === undefined) throw new Error('nothing was received')
  expect(verify(secret, received)).toMatchObject({ type: 'gateway.low_balance', test: true })
  expect(mailServer.taken).toMatchObject([{ to: ['ops@example.org'] }])
})

test('a test that fails ends with 6, and says how', async () => {
  status = 500
  const tested = await type('thresholds', 'test', 'webhook')
  expect(tested.code).toBe(6)
  expect(tested.out).toMatch(/^✖ POST \S+ → status 500 in \d+ ms/)
  const json = JSON.parse((await type('thresholds', 'test', 'webhook', '--json')).out)
  expect(json).toMatchObject({
    test: true,
    channels: [{ channel: 'webhook', state: 'pending', log: [{ status: 500 }] }],
  })
  status = 204
})

test('twenty concurrent charges that cross it send one notice', async () => {
  const known = receiver.received.length
  await type('thresholds', 'set', '--below', '9.999999999')
  expect((await gateway.verb('status', {})).accounts).toMatchObject([{ marked: false }])
  await Promise.all(Array.from({ length: 20 }, spend))
  const fall = () =>
    heard()
      .slice(known)
      .filter((event) => !event.test)
  await until(() => fall().length > 0 && mailServer.taken.length > 1, 'the owner has heard')
  const told = await gateway.verb('deliveries.list', {})
  expect(told.filter((one) => !one.test)).toMatchObject([
    { channel: 'email' },
    { channel: 'webhook', event_id: fall()[0]?.id },
  ])
  expect(fall()[0]?.data).toMatchObject({ threshold_usd: '9.999999999' })
  expect(Number(fall()[0]?.data.balance_usd)).toBeLessThan(9.999999999)
  expect((await type('status')).out).toMatch(
    /alert below \$9\.999999999 \(low, notified \w+( ago)?\)/,
  )
})

test('a notice outlives the gateway that wrote it, and is sent again under its own id', async () => {
  await type('balance', 'top-up', '0.10')
  expect((await gateway.verb('thresholds.show', {})).marked).toBe(false)
  status = 503
  await type('thresholds', 'set', '--below', '10.05')
  const known = receiver.received.length
  // What it took to lift the balance above the first threshold is spent again.
  for (let n = 0; n < 500 && !(await gateway.verb('thresholds.show', {})).marked; n++) await spend()
  await until(() => receiver.received.length > known, 'it was tried')
  await gateway.kill()

  gateway = await serve()
  const pending = await gateway.verb('deliveries.list', { state: 'pending' })
  const newest = pending.find((one) => !one.test && one.channel === 'webhook')
  expect((await gateway.verb('thresholds.show', {})).marked).toBe(true)
  status = 204
  const event = newest?.event_id ?? ''
  const again = await type('deliveries', 'redeliver', event)
  expect(again).toMatchObject({ code: 0, out: `${event}\n` })
  const arrived = async () =>
    (await gateway.verb('deliveries.show', { event })).channels.every(
      ({ state }) => state === 'delivered',
    )
  await until(arrived, 'it has arrived')
  const bodies = receiver.received.filter(({ headers }) => headers['webhook-id'] === event)
  expect(bodies.length).toBeGreaterThan(1)
  expect(new Set(bodies.map(({ body }) => body)).size).toBe(1)
  for (const one of bodies) verify(secret, one)
  expect((await type('deliveries', 'show', event)).out).toMatch(/^webhook try \d+\t.* 204 in/m)
}, 60_000)
