// Delivery of sign-in codes: from a real store to a real mail server, and what remains when a mail cannot be sent.
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { later } from '#domain/clock.ts'
import { newEventId } from '#domain/id.ts'
import { startCodeMailer } from '#server/code-mailer.ts'
import { until } from '#test/support/appliance.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { type MailBehaviour, startMailServer } from '#test/support/mail-server.ts'

// The clock does not move: a postponed mail is not retried during a test.
const clock = handClock('2026-08-23T12:00:00Z')

const BOUND = { most: 99, withinMs: 60_000 }

async function open(behaviour: MailBehaviour = {}) {
  const server = await startMailServer(behaviour)
  const masterKey = new Uint8Array(32).fill(7)
  const { signin, ...store } = await openStore({
    dataDir: ':memory:',
    clock,
    masterKey,
  })
  onTestFinished(() => store.close())
  const faults: string[] = []
  const startMailer = () =>
    startCodeMailer({
      mails: signin.codeMails,
      smtp: {
        host: '127.0.0.1',
        port: server.port,
        isSecure: false,
        login: null,
        from: 'Gateway <gateway@example.org>',
      },
      clock,
      logFault: (cause) => faults.push(String(cause)),
    })
  const put = (interaction: string) => {
    const issuedAt = clock.now()
    const to = `${interaction}@example.org`
    const code = {
      interaction,
      email: to,
      digest: 'ef'.repeat(32),
      peer: '192.0.2.1',
      site: null,
      issuedAt,
      expiresAt: later(issuedAt, 600_000),
    }
    const mail = { to, subject: 'Code', text: interaction, html: `<p>${interaction}</p>` }
    const bounds = { perPair: BOUND, network: null, lookbackMs: BOUND.withinMs }
    return signin.mailCodes.issue(code, bounds, { id: newEventId(issuedAt), mail })
  }
  /** What is not sent, whoever has leased it. It takes their place: no mailer claims it again. */
  const waiting = async () => {
    const at = later(clock.now(), 590_000)
    return (await signin.codeMails.claim(at, at, 99)).mails
  }
  return { server, faults, startMailer, put, waiting }
}

test('mails that waited before the start are sent, and new ones too, each once', async () => {
  const { server, faults, startMailer, put, waiting } = await open()
  await put('early')
  const { delivery, failure, close } = startMailer()
  await until(() => server.taken.length === 1, 'the early one has come')
  expect(failure()).toBeNull()
  const many = Array.from({ length: 30 }, (_, n) => `n${n}`)
  await Promise.all(
    many.map(async (name) => {
      await put(name)
      if (delivery.kind === 'mail') delivery.wake()
    }),
  )
  await until(() => server.taken.length === 31, 'all have come')
  await close()
  expect(await waiting()).toEqual([])
  const came = server.taken.flatMap(({ to }) => to)
  expect(came.sort()).toEqual(['early', ...many].map((name) => `${name}@example.org`).sort())
  expect(faults).toEqual([])
})

test('a mail server that hangs does not delay the shutdown, and the mail is kept for the next start', async () => {
  let connections = 0
  const { faults, startMailer, put, waiting } = await open({
    options: { onConnect: () => void connections++, closeTimeout: 10 },
  })
  await put('patient')
  const { close } = startMailer()
  await until(() => connections === 1, 'the mail server was asked')
  const startedMs = performance.now()
  await close()
  expect(performance.now() - startedMs).toBeLessThan(5_000)
  expect(await waiting()).toMatchObject([{ interaction: 'patient', tries: 0 }])
  expect(faults).toEqual([])
})

test('a temporary refusal postpones the mail and counts; a permanent one drops it, and is logged without the address', async () => {
  const { server, faults, startMailer, put, waiting } = await open({
    reply: (nth) => (nth === 0 ? 451 : 550),
  })
  await put('later')
  const mailer = startMailer()
  const { delivery, close } = mailer
  await until(() => mailer.failure() !== null, 'it is refused')
  await until(async () => (await waiting())[0]?.tries === 1, 'it is put off')
  expect(mailer.failure()).toEqual({ at: clock.now(), reason: 'status 451', isOfMail: false })
  await put('never')
  if (delivery.kind === 'mail') delivery.wake()
  await until(() => faults.length === 1, 'the refusal is told')
  expect(mailer.failure()).toEqual({ at: clock.now(), reason: 'status 550', isOfMail: true })
  expect(faults).toEqual(['Error: a sign-in code could not be sent: status 550'])
  expect((await waiting()).map(({ interaction }) => interaction)).toEqual(['later'])
  expect(server.asked).toEqual(['later@example.org', 'never@example.org'])
  await close()
})

test('two mailers over one store send each mail once', async () => {
  const { server, faults, startMailer, put, waiting } = await open()
  const mailers = [startMailer(), startMailer()]
  const names = Array.from({ length: 40 }, (_, n) => `n${n}`)
  await Promise.all(
    names.map(async (name) => {
      await put(name)
      for (const { delivery } of mailers) if (delivery.kind === 'mail') delivery.wake()
    }),
  )
  await until(() => server.taken.length >= names.length, 'all have come')
  await Promise.all(mailers.map(({ close }) => close()))
  expect(await waiting()).toEqual([])
  const came = server.taken.flatMap(({ to }) => to)
  expect(came.sort()).toEqual(names.map((name) => `${name}@example.org`).sort())
  expect(faults).toEqual([])
})

test('a mail that is cut off by the shutdown is claimed at once by the next start', async () => {
  let connections = 0
  const { startMailer, put } = await open({
    options: { onConnect: () => void connections++, closeTimeout: 10 },
  })
  await put('patient')
  for (let nth = 1; nth <= 2; nth++) {
    const { close } = startMailer()
    await until(() => connections === nth, `the mail server was asked for the ${nth}. time`)
    await close()
  }
})
