// The courier on a real outbox and real sockets: each notice is delivered at least once, with one id and body.

import { expect, onTestFinished, test } from 'vitest'
import { newEventId } from '#domain/id.ts'
import type { SmtpServer } from '#notify/smtp-server.ts'
import { openMailServer, startMailServer } from '#test/support/mail-server.ts'
import { anAct } from '#test/support/nouns.ts'
import { type Answer, never, type Received, startReceiver, verify } from '#test/support/receiver.ts'
import { eventually } from '#test/support/scripted-upstream.ts'
import { type CourierHarness, openCourierHarness } from './courier-harness.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const idOf = ({ headers }: Received): string | undefined => headers['webhook-id']

/** A courier whose one account, `acct_1`, has a webhook with this handler. */
async function withHook(answer: Answer) {
  const harness = await openCourierHarness()
  const receiver = startReceiver(answer)
  await harness.open('acct_1', { email: null, webhookUrl: `${receiver.url}/hook` })
  return { harness, receiver }
}

const smtp = (port: number): SmtpServer => ({
  host: '127.0.0.1',
  port,
  isSecure: false,
  login: null,
  from: 'gateway@example.org',
})

const statuses =
  (...codes: readonly number[]): Answer =>
  (nth) =>
    new Response(null, { status: codes[Math.min(nth, codes.length - 1)] ?? 204 })

/** Moves the clock to when the notice is due, and wakes the courier. */
async function windTo(
  harness: CourierHarness,
  dueAt: number | null,
  wake: () => void,
): Promise<void> {
  harness.clock.advance((dueAt ?? 0) - harness.clock.now())
  wake()
}

test('a notice in the outbox is delivered, signed, and recorded', async () => {
  const { harness, receiver } = await withHook(statuses(204))
  const notice = await harness.post()
  harness.start()
  const kept = await harness.tried(notice, 1)
  expect(kept).toMatchObject({ state: 'delivered', tries: 1, nextTryAt: null })
  expect(kept.log).toEqual([
    { at: harness.clock.now(), status: 204, failure: null, ms: expect.any(Number) },
  ])
  expect(receiver.received.map(({ body }) => body)).toEqual([notice.body])
  expect(verify(harness.secret, receiver.received[0]!)).toEqual(JSON.parse(notice.body))
  expect(idOf(receiver.received[0]!)).toBe(notice.eventId)
})

test('a notice posted later is found when the courier is woken, and also without', async () => {
  const { harness } = await withHook(statuses(204))
  const courier = harness.start()
  await harness.looked(courier)
  const woken = await harness.post()
  courier.wake()
  await harness.tried(woken, 1)
  await harness.tried(await harness.post(), 1)
})

test('a failed delivery is retried when it is due: the same id, the same body, a new signature', async () => {
  const { harness, receiver } = await withHook(statuses(500, 204))
  const notice = await harness.post()
  const { wake } = harness.start()
  const failed = await harness.tried(notice, 1)
  expect(failed).toMatchObject({ state: 'pending', tries: 1 })
  expect(failed.log).toMatchObject([{ status: 500, failure: 'status' }])
  const waitMs = (failed.nextTryAt ?? 0) - harness.clock.now()
  expect(waitMs).toBeGreaterThanOrEqual(4_500)
  expect(waitMs).toBeLessThanOrEqual(5_500)

  harness.clock.advance(waitMs - 1)
  await harness.looked({ wake })
  expect(receiver.received).toHaveLength(1)
  harness.clock.advance(1)
  wake()
  expect(await harness.tried(notice, 2)).toMatchObject({ state: 'delivered', tries: 2 })
  const [first, second] = receiver.received
  expect(second?.body).toBe(first?.body)
  expect(idOf(second!)).toBe(idOf(first!))
  expect(second?.headers['webhook-timestamp']).not.toBe(first?.headers['webhook-timestamp'])
  for (const one of receiver.received) verify(harness.secret, one)
})

test('after the tenth failure, three days later, the notice is dead', async () => {
  const { harness, receiver } = await withHook(statuses(500))
  const notice = await harness.post()
  const startedAt = harness.clock.now()
  const { wake } = harness.start()
  for (let tries = 1; tries < 10; tries++) {
    const { nextTryAt, state } = await harness.tried(notice, tries)
    expect(state).toBe('pending')
    await windTo(harness, nextTryAt, wake)
  }
  expect(await harness.tried(notice, 10)).toMatchObject({
    state: 'dead',
    tries: 10,
    nextTryAt: null,
  })
  expect((harness.clock.now() - startedAt) / HOUR_MS).toBeGreaterThan(68)
  expect((harness.clock.now() - startedAt) / HOUR_MS).toBeLessThan(84)
  harness.clock.advance(24 * HOUR_MS)
  await harness.looked({ wake })
  expect(receiver.received).toHaveLength(10)
  expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1)
})

test.each([
  ['a gone receiver', () => new Response(null, { status: 410 }), 410],
  ['no webhook any more', null, null],
] as const)('%s ends it at once', async (_, answer, status) => {
  const { harness } = await withHook(answer ?? statuses(204))
  const notice = await harness.post()
  if (answer === null) {
    const none = { accountId: 'acct_1', below: null, email: null, webhookUrl: null } as const
    await harness.store.thresholds.set(none, undefined, anAct(harness.clock.now()))
  }
  harness.start()
  const failure = answer === null ? 'no_address' : 'status'
  expect(await harness.tried(notice, 1)).toMatchObject({
    state: 'dead',
    log: [{ status, failure }],
  })
})

test('Retry-After postpones the next attempt', async () => {
  const { harness } = await withHook(
    () => new Response(null, { status: 503, headers: { 'retry-after': '600' } }),
  )
  const notice = await harness.post()
  harness.start()
  const { nextTryAt } = await harness.tried(notice, 1)
  expect(nextTryAt).toBe(harness.clock.now() + 10 * MINUTE_MS)
})

test('a redirect is not followed, and counts as a failure that is retried', async () => {
  const { harness, receiver } = await withHook((nth) =>
    nth === 0
      ? Response.redirect('http://127.0.0.1:1/inside', 307)
      : new Response(null, { status: 204 }),
  )
  const notice = await harness.post()
  const { wake } = harness.start()
  const first = await harness.tried(notice, 1)
  expect(first.log).toMatchObject([{ status: 307, failure: 'redirect' }])
  await windTo(harness, first.nextTryAt, wake)
  expect(await harness.tried(notice, 2)).toMatchObject({ state: 'delivered' })
  expect(receiver.received.map(({ path }) => path)).toEqual(['/hook', '/hook'])
})

test('a receiver that hangs is aborted at its time-out; other deliveries do not wait for it', async () => {
  const { harness } = await withHook(never)
  const quick = startReceiver(statuses(204))
  await harness.open('acct_2', {
    email: null,
    webhookUrl: quick.url.replace('127.0.0.1', 'localhost'),
  })
  const stuck = await harness.post()
  const other = await harness.post({ accountId: 'acct_2' })
  harness.start({ tryMs: 600 })
  await harness.tried(other, 1)
  expect((await harness.find(stuck)).log).toEqual([])
  const kept = await harness.tried(stuck, 1)
  expect(kept).toMatchObject({ state: 'pending', log: [{ status: null, failure: 'timeout' }] })
  expect(kept.log[0]?.ms).toBeGreaterThanOrEqual(590)
})

test('deliveries to one destination are sequential, those to several concurrent', async () => {
  const harness = await openCourierHarness()
  const under = new Map<string, number>()
  let most = 0
  let mostTogether = 0
  const busy: Answer = async (_, { headers }) => {
    const host = headers['host'] ?? ''
    const now = (under.get(host) ?? 0) + 1
    under.set(host, now)
    most = Math.max(most, now)
    mostTogether = Math.max(
      mostTogether,
      [...under.values()].reduce((a, b) => a + b),
    )
    await Bun.sleep(20)
    under.set(host, now - 1)
    return new Response(null, { status: 204 })
  }
  const hosts = Array.from({ length: 12 }, () => startReceiver(busy))
  for (const [n, { url }] of hosts.entries()) {
    await harness.open(`acct_h${n}`, { email: null, webhookUrl: url })
  }
  const posted = []
  for (let n = 0; n < 120; n++) posted.push(await harness.post({ accountId: `acct_h${n % 12}` }))
  harness.start()
  for (const notice of posted) await harness.tried(notice, 1)
  expect(most).toBe(1)
  expect(mostTogether).toBe(8)
  const ids = hosts.flatMap(({ received }) => received.map(idOf))
  expect(ids.toSorted()).toEqual(posted.map(({ eventId }) => eventId).toSorted())
})

test('a notice that waited too long behind another is returned to the outbox: its lease must cover its attempt', async () => {
  const { harness, receiver } = await withHook((nth) =>
    nth === 0 ? never() : new Response(null, { status: 204 }),
  )
  const stuck = await harness.post()
  harness.clock.advance(1)
  const behind = await harness.post()
  const { wake } = harness.start({ tryMs: 300 })
  await eventually(() => receiver.received.length === 1, 'the first is on its way')
  harness.clock.advance(29_000)
  await harness.tried(stuck, 1)
  await harness.looked({ wake })
  expect(receiver.received).toHaveLength(1)
  expect((await harness.find(behind)).log).toEqual([])
  harness.clock.advance(1_000)
  wake()
  expect(await harness.tried(behind, 1)).toMatchObject({ state: 'delivered', tries: 1 })
})

test('more notices than one batch are all delivered, each once', async () => {
  const { harness, receiver } = await withHook(statuses(204))
  const posted = []
  for (let n = 0; n < 150; n++) posted.push(await harness.post())
  harness.start()
  for (const notice of posted) await harness.tried(notice, 1)
  expect(receiver.received.map(idOf).toSorted()).toEqual(posted.map(({ eventId }) => eventId))
})

test('e-mail and webhook of one event are delivered independently', async () => {
  const harness = await openCourierHarness()
  const receiver = startReceiver(statuses(500))
  const mails = await startMailServer({ reply: (nth) => (nth === 0 ? 451 : 250) })
  await harness.open('acct_1', { email: 'ops@example.org', webhookUrl: receiver.url })
  const eventId = newEventId(harness.clock.now())
  const webhook = await harness.post({ eventId })
  const email = await harness.post({ eventId, channel: 'email' })
  const { wake } = harness.start({ smtp: smtp(mails.port) })
  const first = await harness.tried(email, 1)
  expect(first).toMatchObject({ state: 'pending', log: [{ status: 451, failure: 'status' }] })
  await harness.tried(webhook, 1)
  await windTo(harness, first.nextTryAt, wake)
  expect(await harness.tried(email, 2)).toMatchObject({
    state: 'delivered',
    log: [{}, { status: 250 }],
  })
  expect(mails.taken).toHaveLength(1)
  expect(mails.taken[0]?.source).toContain('account acct_1')
  expect(await harness.find(webhook)).toMatchObject({ state: 'pending' })
})

test('an e-mail that is refused permanently is dead', async () => {
  const harness = await openCourierHarness()
  const mails = await startMailServer({ reply: () => 550 })
  await harness.open('acct_1', { email: 'ops@example.org', webhookUrl: null })
  const email = await harness.post({ channel: 'email' })
  harness.start({ smtp: smtp(mails.port) })
  expect(await harness.tried(email, 1)).toMatchObject({
    state: 'dead',
    log: [{ status: 550, failure: 'status' }],
  })
})

test('an e-mail waits until a mail server is configured', async () => {
  const harness = await openCourierHarness()
  await harness.open('acct_1', { email: 'ops@example.org', webhookUrl: null })
  const email = await harness.post({ channel: 'email' })
  const mute = harness.start()
  const first = await harness.tried(email, 1)
  expect(first).toMatchObject({ state: 'pending', log: [{ status: null, failure: 'no_smtp' }] })
  await mute.stop()
  const mails = await startMailServer()
  harness.clock.advance((first.nextTryAt ?? 0) - harness.clock.now())
  harness.start({ smtp: smtp(mails.port) })
  expect(await harness.tried(email, 2)).toMatchObject({ state: 'delivered' })
})

test('a signing secret that cannot be read stops the delivery, which is retried', async () => {
  const { harness, receiver } = await withHook(statuses(204))
  const notice = await harness.post()
  const thresholds = {
    ...harness.store.thresholds,
    webhookSecret: () => Promise.reject(new Error('sealed with another key')),
  }
  harness.start({ store: { ...harness.store, thresholds } })
  expect(await harness.tried(notice, 1)).toMatchObject({
    state: 'pending',
    log: [{ status: null, failure: 'no_secret' }],
  })
  expect(receiver.received).toEqual([])
})

test('receivers that hang hold up nobody else, however many notices wait for them', async () => {
  const harness = await openCourierHarness()
  // More of them than are tried at once, and more notices of one than are claimed at once.
  const hanging = Array.from({ length: 12 }, () => startReceiver(never))
  for (const [n, { url }] of hanging.entries()) {
    const accountId = `acct_h${n}` as const
    await harness.open(accountId, { email: null, webhookUrl: `${url}/hook` })
    for (let more = n === 0 ? 200 : 3; more > 0; more--) await harness.post({ accountId })
  }
  const receiver = startReceiver(statuses(204))
  await harness.open('acct_1', { email: null, webhookUrl: `${receiver.url}/hook` })
  const notice = await harness.post()
  const startedMs = performance.now()
  harness.start()
  await eventually(() => receiver.received.length === 1, 'it arrives')
  expect(performance.now() - startedMs).toBeLessThan(8_000)
  expect(await harness.tried(notice, 1)).toMatchObject({ state: 'delivered' })
  // To each of them one at a time.
  for (const { received } of hanging) expect(received.length).toBeLessThanOrEqual(1)
}, 30_000)

test('a changed address applies from the next attempt', async () => {
  const { harness, receiver } = await withHook(statuses(500))
  const notice = await harness.post()
  const { wake } = harness.start()
  const { nextTryAt } = await harness.tried(notice, 1)
  const moved = startReceiver(statuses(204))
  await harness.store.thresholds.set(
    { accountId: 'acct_1', below: null, email: null, webhookUrl: moved.url },
    undefined,
    anAct(harness.clock.now()),
  )
  await windTo(harness, nextTryAt, wake)
  expect(await harness.tried(notice, 2)).toMatchObject({ state: 'delivered' })
  expect(receiver.received).toHaveLength(1)
  verify(harness.secret, moved.received[0]!)
})

test('a notice that an operator resends while it is being sent is sent once', async () => {
  const gate = Promise.withResolvers<Response>()
  const { harness, receiver } = await withHook(() => gate.promise)
  const notice = await harness.post()
  const { wake } = harness.start()
  await eventually(() => receiver.received.length === 1, 'it is on its way')
  await harness.post({ eventId: notice.eventId })
  await harness.looked({ wake })
  gate.resolve(new Response(null, { status: 204 }))
  expect(await harness.tried(notice, 1)).toMatchObject({ state: 'delivered' })
  await harness.looked({ wake })
  expect(receiver.received).toHaveLength(1)
})

test('a store that fails is logged once, and the courier goes on', async () => {
  const { harness } = await withHook(statuses(204))
  let isBroken = true
  let failures = 0
  const notices = {
    ...harness.store.notices,
    async claim(...args: Parameters<typeof harness.store.notices.claim>) {
      if (!isBroken) return await harness.store.notices.claim(...args)
      failures++
      throw new Error('disk')
    },
  }
  const { wake } = harness.start({ store: { ...harness.store, notices } })
  const notice = await harness.post()
  for (let n = 1; n <= 5; n++) {
    wake()
    await eventually(() => failures >= n, 'it has looked again')
  }
  expect(harness.faults).toHaveLength(1)
  isBroken = false
  wake()
  expect(await harness.tried(notice, 1)).toMatchObject({ state: 'delivered' })
})

test('stopping waits for running deliveries and begins no new ones', async () => {
  const gate = Promise.withResolvers<void>()
  const { harness, receiver } = await withHook(async () => {
    await gate.promise
    return new Response(null, { status: 204 })
  })
  const [first, second] = [await harness.post(), await harness.post()]
  const courier = harness.start()
  await eventually(() => receiver.received.length === 1, 'one is on its way')
  let isStopped = false
  const stopping = courier.stop().then(() => {
    isStopped = true
  })
  await Bun.sleep(100)
  expect(isStopped).toBe(false)
  gate.resolve()
  await stopping
  await Bun.sleep(100)
  const kept = [await harness.find(first), await harness.find(second)]
  expect(kept.map(({ state }) => state).toSorted()).toEqual(['delivered', 'pending'])
  expect(receiver.received).toHaveLength(1)
})

test('stopping waits a few seconds at most: an aborted delivery does not count as an attempt', async () => {
  const { harness, receiver } = await withHook(never)
  const notice = await harness.post()
  const courier = harness.start()
  await eventually(() => receiver.received.length === 1, 'it is on its way')
  const startedMs = performance.now()
  await courier.stop()
  expect(performance.now() - startedMs).toBeGreaterThan(4_500)
  expect(performance.now() - startedMs).toBeLessThan(7_000)
  expect(await harness.find(notice)).toMatchObject({ state: 'pending', tries: 0, log: [] })
})

test('nothing that a receiver answers is stored', async () => {
  const words = 'secret words'
  const { harness } = await withHook(() => new Response(words, { status: 500, statusText: words }))
  const mails = await openMailServer({ reply: () => 550 })
  onTestFinished(() => mails.close())
  await harness.open('acct_2', { email: 'ops@example.org', webhookUrl: null })
  const [hook, mail] = [
    await harness.post(),
    await harness.post({ channel: 'email', accountId: 'acct_2' }),
  ]
  harness.start({ smtp: smtp(mails.port) })
  const kept = [await harness.tried(hook, 1), await harness.tried(mail, 1)]
  expect(JSON.stringify([kept, harness.faults])).not.toContain(words)
})
