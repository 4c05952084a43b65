// E-mail to a real SMTP server: the message, TLS and login, and how each failure is classified.

import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { instant } from '#domain/clock.ts'
import { renderLowBalance } from '#domain/notice.ts'
import { writeLowBalance } from '#notify/low-balance-mail.ts'
import { sendMail } from '#notify/mail.ts'
import { readSender, readSmtpUrl, type SmtpServer } from '#notify/smtp-server.ts'
import { type MailBehaviour, startMailServer } from '#test/support/mail-server.ts'
import { rate, usd } from '#test/support/nouns.ts'

const FIXTURES = new URL('../upstream/http1/fixtures/', import.meta.url)
const KEY = await Bun.file(new URL('localhost-key.pem', FIXTURES)).text()
const CERT = await Bun.file(new URL('localhost-cert.pem', FIXTURES)).text()
const LOGIN = { user: 'gateway', password: 'pa:ss@w0rd' }

const body = (isTest = false): string =>
  renderLowBalance({
    eventId: 'evt_1',
    accountId: 'acct_1',
    at: instant(Date.parse('2026-08-23T12:00:00Z')),
    balance: usd('19.5'),
    below: usd('20'),
    rubPerUsd: rate('90'),
    isTest,
  })

const MAIL = writeLowBalance(body(), 'default')

const at = (port: number, stated: Partial<SmtpServer> = {}): SmtpServer => ({
  host: '127.0.0.1',
  port,
  isSecure: false,
  login: null,
  from: 'Gateway <gateway@example.org>',
  ...stated,
})

const send = (server: SmtpServer, to = 'ops@example.org', signal = AbortSignal.timeout(5_000)) =>
  sendMail(server, to, 'evt_1', MAIL, signal)

async function sendTo(behaviour: MailBehaviour, stated: Partial<SmtpServer> = {}) {
  const server = await startMailServer(behaviour)
  return { outcome: await send(at(server.port, stated)), ...server }
}

/** The parts of a mail, by their type. */
function readParts(source: string): Record<string, string> {
  const boundary = /boundary="([^"]+)"/.exec(source)?.[1] ?? ''
  const parts = source.split(`--${boundary}`).slice(1, -1)
  return Object.fromEntries(
    parts.map((part) => {
      const [head = '', text = ''] = part.trim().split('\r\n\r\n', 2)
      const whole = part.trim().slice(head.length + 4) || text
      const type = /content-type: ([\w/]+)/i.exec(head)?.[1] ?? ''
      const coding = /content-transfer-encoding: (\S+)/i.exec(head)?.[1]
      return [type, coding === 'quoted-printable' ? undoQuotes(whole) : whole]
    }),
  )
}

const undoQuotes = (text: string): string =>
  decodeURIComponent(
    text
      .replace(/=\r\n/g, '')
      .replace(/%/g, '%25')
      .replace(/=([0-9A-F]{2})/g, '%$1'),
  )

describe('an e-mail', () => {
  test('has the operator’s name above its text, and as its sender where none is stated', async () => {
    const brand = 'Ann <b>, "Söhne"'
    for (const [from, sender] of [
      ['gateway@example.org', '=?UTF-8?'],
      ['Gateway <gateway@example.org>', 'Gateway <'],
    ] as const) {
      const { outcome, taken } = await sendTo({}, { brand, from })
      expect(outcome.failure).toBeNull()
      const source = taken[0]?.source ?? ''
      expect(/^From: (.*)/im.exec(source)?.[1]).toContain(sender)
      expect(taken[0]?.from).toBe('gateway@example.org')
      const parts = readParts(source)
      const mail = new Map(Object.entries(parts))
      expect(mail.get('text/plain')?.split('\r\n')[0]).toBe(brand)
      expect(mail.get('text/html')).toMatch(
        /^<p><strong>Ann &lt;b&gt;, &quot;Söhne&quot;<\/strong>/,
      )
    }
  })

  test('contains its facts as text and as HTML', async () => {
    const { outcome, taken } = await sendTo({})
    expect(outcome).toEqual({ status: 250, failure: null })
    expect(taken).toHaveLength(1)
    const [{ from, to, source } = { from: '', to: [], source: '' }] = taken
    expect([from, to]).toEqual(['gateway@example.org', ['ops@example.org']])
    const head = source.slice(0, source.indexOf('\r\n\r\n'))
    expect(head).toMatch(/^From: Gateway <gateway@example\.org>\r$/m)
    expect(head).toMatch(/^To: ops@example\.org\r$/m)
    expect(head).toMatch(/^Subject: Low balance: account default has \$19\.50\r$/m)
    expect(head).toMatch(/^Message-ID: <evt_1@example\.org>\r$/m)
    expect(head).toMatch(/^Auto-Submitted: auto-generated\r$/m)
    expect(head).toMatch(/^Content-Type: multipart\/alternative/m)
    const { 'text/plain': text, 'text/html': html } = readParts(source)
    for (const part of [text, html]) {
      expect(part).toContain('$19.50 (1755.00 RUB)')
      expect(part).toContain('$20.00')
      expect(part).toContain('2026-08-23T12:00:00Z')
      expect(part).toContain('evt_1')
      expect(part).toContain('gatewayctl balance top-up 50')
      expect(part).not.toContain('--account')
    }
    expect(text).not.toContain('<')
  })

  test("T39: contains the account's name without executing it in a shell, a browser or a header", () => {
    const mail = writeLowBalance(body(), `it's <b>&"\r\nBcc: all@example.org`)
    expect(mail.subject).not.toMatch(/[\r\n]/)
    expect(mail.text).toContain(`--account 'it'\\''s <b>&"��Bcc: all@example.org'\n`)
    expect(mail.html).toContain('it&#x27;s &lt;b&gt;&amp;&quot;')
    expect(mail.html).not.toContain('<b>')
    expect(writeLowBalance(body(), 'team-a').text).toContain('top-up 50 --account team-a\n')
  })

  test('that is a test says so', () => {
    const mail = writeLowBalance(body(true), 'default')
    expect(mail.subject).toMatch(/^\[test\] /)
    expect(mail.text).toContain('This is a test')
    expect(mail.text).not.toContain('has fallen')
    expect(MAIL.text).not.toContain('test')
  })

  test('with a non-ASCII subject arrives intact', async () => {
    const server = await startMailServer()
    const mail = writeLowBalance(body(), 'Küche ☕')
    await sendMail(at(server.port), 'ops@example.org', 'evt_1', mail, AbortSignal.timeout(5_000))
    const source = server.taken[0]?.source ?? ''
    const [, coded = ''] = /^Subject: ([\s\S]*?)\r\n(?! )/m.exec(source) ?? []
    const words = [...coded.matchAll(/=\?UTF-8\?([QB])\?([^?]*)\?=/gi)].map(([, how, word = '']) =>
      how === 'B' ? Buffer.from(word, 'base64').toString() : undoQuotes(word.replaceAll('_', ' ')),
    )
    expect(words.join('')).toContain('Küche ☕')
    expect(readParts(source)['text/plain']).toContain('Küche ☕')
  })
})

describe('a refusal by the server', () => {
  test.each([421, 450, 451, 452])('of the recipient with %i is temporary', async (code) => {
    const { outcome, taken } = await sendTo({ reply: () => code })
    expect(outcome).toEqual({ status: code, failure: 'status' })
    expect(taken).toEqual([])
  })

  test.each([550, 552, 553, 554])('of the recipient with %i is permanent', async (code) => {
    const { outcome } = await sendTo({ reply: () => code })
    expect(outcome).toEqual({ status: code, failure: 'status', isFinal: true })
  })

  test('of the message is classified in the same way', async () => {
    const soft = await sendTo({ lastReply: () => 452 })
    expect(soft.outcome).toEqual({ status: 452, failure: 'status' })
    const hard = await sendTo({ lastReply: () => 554 })
    expect(hard.outcome).toEqual({ status: 554, failure: 'status', isFinal: true })
  })

  test('because it requires a login is reported as a configuration error', async () => {
    const { outcome } = await sendTo({ login: LOGIN })
    expect(outcome).toEqual({ status: 530, failure: 'auth' })
  })

  test('of the password is too, and the password is never shown', async () => {
    const { outcome } = await sendTo(
      { login: LOGIN, options: { allowInsecureAuth: true } },
      { login: { ...LOGIN, password: 'wrong' } },
    )
    expect(outcome).toEqual({ status: 535, failure: 'auth' })
    expect(JSON.stringify(outcome)).not.toContain('wrong')
  })

  test('in its greeting is not a refusal of the mail', async () => {
    const onConnect = (_session: unknown, done: (error: Error) => void) =>
      done(Object.assign(new Error('no'), { responseCode: 554 }))
    const { outcome } = await sendTo({ options: { onConnect } })
    expect(outcome).toMatchObject({ status: 554, failure: 'status' })
    expect(outcome.isFinal).toBeUndefined()
  })
})

describe('TLS', () => {
  const certified = { key: KEY, cert: CERT, disabledCommands: [] }

  test('by STARTTLS is used where it is offered, before the login', async () => {
    const { outcome, taken } = await sendTo(
      { login: LOGIN, options: certified },
      { host: 'localhost', login: LOGIN, ca: CERT },
    )
    expect(outcome).toEqual({ status: 250, failure: null })
    expect(taken).toMatchObject([{ isSecure: true, user: 'gateway' }])
  })

  test('is used from the start with smtps', async () => {
    const { outcome, taken } = await sendTo(
      { login: LOGIN, options: { ...certified, secure: true } },
      { host: 'localhost', isSecure: true, login: LOGIN, ca: CERT },
    )
    expect(outcome).toEqual({ status: 250, failure: null })
    expect(taken).toMatchObject([{ isSecure: true, user: 'gateway' }])
  })

  test.each([false, true])(
    'with an untrusted certificate is refused (smtps: %s)',
    async (isSecure) => {
      const { outcome, taken } = await sendTo(
        { login: LOGIN, options: { ...certified, secure: isSecure } },
        { host: 'localhost', isSecure, login: LOGIN },
      )
      expect(outcome).toEqual({ status: null, failure: 'tls' })
      expect(taken).toEqual([])
    },
  )

  test('is required for a password, except on this machine', async () => {
    const commands: string[] = []
    const server = createServer((socket) => {
      socket.write('220 hello\r\n')
      socket.on('data', (data) => {
        commands.push(data.toString())
        socket.write(
          /^EHLO/.test(data.toString()) ? '250-hi\r\n250 AUTH PLAIN LOGIN\r\n' : '502 no\r\n',
        )
      })
      socket.on('error', () => {})
    })
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
    onTestFinished(() => void server.close())
    const address = server.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    // 0.0.0.0 leads to this machine but is not recognized as loopback.
    const outcome = await send(at(port, { host: '0.0.0.0', login: LOGIN }))
    expect(outcome.failure).toBe('tls')
    expect(commands.join('')).not.toMatch(/AUTH|MAIL/)
    await send(at(port, { host: '127.0.0.1', login: LOGIN }))
    expect(commands.join('')).toMatch(/AUTH/)
  })
})

describe('a connection fails', () => {
  test('because nothing listens', async () => {
    const server = await startMailServer()
    await server.close()
    expect(await send(at(server.port))).toEqual({ status: null, failure: 'refused' })
  })

  test('because the name does not resolve', async () => {
    const outcome = await send(at(25, { host: 'nowhere.invalid' }))
    // A machine without a network may wait for its resolver until its signal aborts.
    expect(outcome).toEqual({ status: null, failure: expect.stringMatching(/^(dns|timeout)$/) })
  })

  test('because the server is silent, after a time-out', async () => {
    const closed = Promise.withResolvers<void>()
    const server = createServer((socket) => {
      socket.on('close', () => closed.resolve())
      socket.on('error', () => {})
      socket.resume()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const address = server.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    const outcome = await send(at(port), 'ops@example.org', AbortSignal.timeout(100))
    expect(outcome).toEqual({ status: null, failure: 'timeout' })
    await closed.promise
  })
})

describe('a server URL and a sender', () => {
  test.each([
    ['smtp://mail.example', { host: 'mail.example', port: 587, isSecure: false, login: null }],
    ['smtps://mail.example/', { host: 'mail.example', port: 465, isSecure: true, login: null }],
    ['smtp://[::1]:2525', { host: '::1', port: 2525, isSecure: false, login: null }],
    [
      'smtps://me%40example.org:pa%3Ass%2F@mail.example:4465',
      {
        host: 'mail.example',
        port: 4465,
        isSecure: true,
        login: { user: 'me@example.org', password: 'pa:ss/' },
      },
    ],
  ])('%s', (text, server) => expect(readSmtpUrl(text)).toEqual(server))

  test.each([
    '',
    'mail.example',
    'mail.example:25',
    'http://mail.example',
    'smtp:',
    'smtp://',
    'smtp://me@mail.example',
    'smtp://:pw@mail.example',
    'smtp://mail.example/path',
    'smtp://mail.example?pool=true',
    'smtp://mail.example#a',
    'smtp://a:%ZZ@mail.example',
  ])('%s is invalid', (text) => expect(readSmtpUrl(text)).toBeUndefined())

  test.each([
    ['gateway@example.org', 'gateway@example.org'],
    ['Gateway <gateway@example.org>', 'gateway@example.org'],
    ['<a@b>', 'a@b'],
    ['Gateway', undefined],
    ['a@b, c@d', undefined],
    ['Gateway <a@b> <c@d>', undefined],
    ['a@b\r\nBcc: c@d', undefined],
  ])('the sender "%s" is parsed as %s', (from, sender) => expect(readSender(from)).toBe(sender))
})
