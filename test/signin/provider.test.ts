// The sign-in provider behind a TLS proxy: cookies, expiry, rate limits, malformed requests, and internal errors.

import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { later } from '#domain/clock.ts'
import { identityReach } from '#server/identity-reach.ts'
import { listen } from '#server/listener.ts'
import type { CodeDelivery, SigninDeps } from '#signin/deps.ts'
import { DEFAULT_LIMITS } from '#signin/limits.ts'
import { openSigninProvider } from '#signin/open.ts'
import { sweep } from '#signin/sweep.ts'
import { openBrowser } from '#test/acceptance/signin/browser.ts'
import { putArtifact } from '#test/db/contract/write-artifacts.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { anAct } from '#test/support/nouns.ts'
import { dial } from '#test/support/raw-client.ts'
import { keepSigningKey } from '#test/support/signing-key.ts'
import { FULL } from '#test/support/tier.ts'

const ISSUER = 'https://auth.example.org'
const REDIRECT = 'https://app.example.org/callback'
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

async function open(codeDelivery: CodeDelivery, limits = DEFAULT_LIMITS) {
  const clock = handClock(new Date().toISOString())
  const masterKey = new Uint8Array(32).fill(7)
  const store = await openStore({ dataDir: ':memory:', clock, masterKey })
  const faults: unknown[] = []
  const deps: SigninDeps = {
    store: store.signin,
    clock,
    issuer: ISSUER,
    codeDelivery,
    reach: identityReach(false),
    signup: 'open',
    limits,
    logFault: (cause) => faults.push(cause),
  }
  const at = clock.now()
  await store.signin.clients.create(
    {
      id: 'wiki',
      name: 'Wiki',
      redirectUris: [REDIRECT],
      logoutUris: [],
      requiresPkce: true,
      access: 'everybody',
      secretDigest: 'ab'.repeat(32),
      isForDevices: false,
      backchannelLogoutUri: null,
      hasIdTokenClaims: true,
      createdAt: at,
      updatedAt: at,
    },
    anAct(),
  )
  await keepSigningKey(store.signin.keyring, at)
  const provider = await openSigninProvider(deps)
  let isOpen = true
  const closeStore = async (): Promise<void> => {
    if (isOpen) await store.close()
    isOpen = false
  }
  onTestFinished(async () => {
    provider.close()
    await closeStore()
  })
  const ask = (path: string, init: RequestInit = {}, address = '192.0.2.1') =>
    provider.answer(new Request(`http://127.0.0.1:4141${path}`, init), address)
  return { store: store.signin, closeStore, faults, ask, answer: provider.answer, clock }
}

const AUTHORIZE = `/oauth/authorize?${new URLSearchParams({
  response_type: 'code',
  client_id: 'wiki',
  redirect_uri: REDIRECT,
  scope: 'openid',
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
})}`

const cookiesOf = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')

const post = (cookie: string, fields: Readonly<Record<string, string>>): RequestInit => ({
  method: 'POST',
  headers: {
    cookie,
    origin: ISSUER,
    'content-type': 'application/x-www-form-urlencoded',
  },
  body: new URLSearchParams(fields).toString(),
})

test('every cookie is Secure, HttpOnly and SameSite=Lax; the session cookie is bound to its host', async () => {
  const codes: string[] = []
  const { ask } = await open({ kind: 'log', log: (_email, code) => codes.push(code) })
  const started = await ask(AUTHORIZE)
  const interaction = started.headers.get('location') ?? ''
  expect(interaction).toMatch(/^\/sign-in\/[\w-]{21,}$/)
  const cookie = cookiesOf(started)
  await ask(`${interaction}/email`, post(cookie, { email: 'a@example.org' }))
  const finished = await ask(`${interaction}/code`, post(cookie, { code: codes[0] ?? '' }))
  const onward = finished.headers.get('location') ?? ''
  expect(onward.startsWith(`${ISSUER}/oauth/authorize/`)).toBe(true)
  const back = await ask(new URL(onward).pathname, { headers: { cookie } })
  const { searchParams, origin } = new URL(back.headers.get('location') ?? '')
  expect([origin, searchParams.get('iss')]).toEqual(['https://app.example.org', ISSUER])

  const lines = [started, back].flatMap((response) => response.headers.getSetCookie())
  const names = lines.map((line) => line.slice(0, line.indexOf('=')))
  expect(names).toEqual(
    expect.arrayContaining(['__Secure-interaction', '__Secure-resume', '__Host-session']),
  )
  for (const line of lines) expect(line).toMatch(/; secure(;|$)/i)
  for (const line of lines.filter((one) => !one.includes('01 Jan 1970'))) {
    expect(line).toMatch(/; httponly/i)
    expect(line).toMatch(/; samesite=lax/i)
  }
  const session = lines.find((line) => line.startsWith('__Host-session='))
  expect(session).toMatch(/; path=\/;/i)
  expect(session).not.toMatch(/domain=/i)
  expect(started.headers.get('strict-transport-security')).toBe('max-age=31536000')
})

test('every response carries HSTS, whichever part of the program sends it', async () => {
  const { ask } = await open({ kind: 'log', log: () => {} })
  const started = await ask(AUTHORIZE)
  const [interaction, cookie] = [started.headers.get('location') ?? '', cookiesOf(started)]
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const answers = await Promise.all([
    ask(interaction, { headers: { cookie } }),
    ask(`${interaction}/email`, post(cookie, { email: 'a@example.org' })),
    ask(`${interaction}/email`),
    ask('/oauth/authorize', { method: 'POST', headers: form, body: 'client_id=wiki' }),
    ask('/oauth/token', { method: 'POST', headers: form, body: 'x'.repeat(40_000) }),
    ask('/oauth/jwks'),
    ask('/nowhere'),
    ask('/oauth/token', { method: 'PUT' }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([200, 303, 303, 303, 413, 200, 404, 405])
  for (const { headers } of [started, ...answers]) {
    expect(headers.get('strict-transport-security')).toBe('max-age=31536000')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  }
})

test('a person who is disabled between the code and the callback is told to start again, without an error', async () => {
  const codes: string[] = []
  const { ask, store, clock, faults } = await open({
    kind: 'log',
    log: (_, code) => codes.push(code),
  })
  const started = await ask(AUTHORIZE)
  const [interaction, cookie] = [started.headers.get('location') ?? '', cookiesOf(started)]
  await ask(`${interaction}/email`, post(cookie, { email: 'a@example.org' }))
  const finished = await ask(`${interaction}/code`, post(cookie, { code: codes[0] ?? '' }))
  const person = await store.people.findByEmail('a@example.org')
  await store.people.setDisabled(person?.id ?? 'usr_', true, anAct(clock.now()))
  const onward = new URL(finished.headers.get('location') ?? '').pathname
  const back = await ask(onward, { headers: { cookie } })
  expect([back.status, faults]).toEqual([400, []])
  expect(await back.text()).toContain('This page is out of date')
})

test('without a mail server there is no address field, and no code is created', async () => {
  const { ask } = await open({ kind: 'none' })
  const started = await ask(AUTHORIZE)
  const [interaction, cookie] = [started.headers.get('location') ?? '', cookiesOf(started)]
  expect(await (await ask(interaction, { headers: { cookie } })).text()).not.toContain(
    'name="email"',
  )
  await ask(`${interaction}/email`, post(cookie, { email: 'a@example.org' }))
  expect(await (await ask(interaction, { headers: { cookie } })).text()).not.toContain(
    'name="code"',
  )
})

test('HEAD is answered like GET', async () => {
  const { ask } = await open({ kind: 'log', log: () => {} })
  const started = await ask(AUTHORIZE)
  const [interaction, cookie] = [started.headers.get('location') ?? '', cookiesOf(started)]
  const head = await ask(interaction, { method: 'HEAD', headers: { cookie } })
  expect([head.status, await head.text()]).toEqual([200, ''])
  for (const path of ['/.well-known/openid-configuration', '/oauth/jwks', '/oauth/userinfo']) {
    const [got, asked] = await Promise.all([ask(path), ask(path, { method: 'HEAD' })])
    expect([asked.status, asked.headers.get('content-type')]).toEqual([
      got.status,
      got.headers.get('content-type'),
    ])
    expect(await asked.text()).toBe('')
  }
})

const [READ, WRITE, BOTH] = ['GET, HEAD, OPTIONS', 'POST, OPTIONS', 'GET, HEAD, POST, OPTIONS']

const ALLOWED = [
  ['/.well-known/openid-configuration', READ],
  ['/.well-known/oauth-authorization-server', READ],
  ['/oauth/authorize', BOTH],
  ['/oauth/authorize/x', READ],
  ['/oauth/token', WRITE],
  ['/oauth/userinfo', BOTH],
  ['/oauth/jwks', READ],
  ['/oauth/logout', BOTH],
  ['/oauth/logout/confirm', WRITE],
  ['/oauth/logout/success', READ],
  ['/identity/google/callback', READ],
  ['/sign-in/x', READ],
  ['/sign-in/x/email', BOTH],
  ['/sign-in/x/identity/google', BOTH],
] as const

describe.each(ALLOWED)('%s', (path, allow) => {
  test(`supports ${allow}, and refuses other methods with 405`, async () => {
    const { ask } = await open({ kind: 'none' })
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'TRACE']) {
      const { status, headers } = await ask(path, { method })
      expect([method, status === 405]).toEqual([method, !allow.includes(method)])
      expect(status).not.toBe(404)
      expect(headers.get('allow')).toBe(status === 405 ? allow : null)
    }
    const plain = await ask(path, { method: 'OPTIONS' })
    expect([plain.status, plain.headers.get('allow')]).toEqual([204, allow])
  })
})

test.each([
  ['/.well-known/openid-configuration', 'GET', true],
  ['/oauth/jwks', 'GET', true],
  ['/oauth/userinfo', 'GET', true],
  ['/oauth/token', 'POST', true],
  ['/oauth/authorize', 'GET', false],
  ['/sign-in/x/email', 'POST', false],
])('a CORS preflight request of %s for %s: allowed is %s', async (path, method, isAllowed) => {
  const { ask } = await open({ kind: 'none' })
  const origin = 'https://app.example.org'
  const headers = { origin, 'access-control-request-method': method }
  const answer = await ask(path, { method: 'OPTIONS', headers })
  expect(answer.status).toBe(204)
  expect(answer.headers.get('access-control-allow-origin')).toBe(isAllowed ? origin : null)
})

test('a path in another spelling, which the library would accept, evades no limit', async () => {
  const { ask } = await open({ kind: 'none' })
  for (const path of ['/oauth/LOGOUT', '/oauth/TOKEN', '/oauth/%6Cogout', '/OAUTH/authorize']) {
    for (const method of ['GET', 'POST']) expect((await ask(path, { method })).status).toBe(404)
  }
})

test('two tabs have separate interactions, and neither cookie opens the other', async () => {
  const { ask } = await open({ kind: 'log', log: () => {} })
  const [one, other] = [await ask(AUTHORIZE), await ask(AUTHORIZE)]
  const look = (interaction: Response, cookies: Response) =>
    ask(interaction.headers.get('location') ?? '', { headers: { cookie: cookiesOf(cookies) } })
  expect((await look(one, one)).status).toBe(200)
  expect((await look(other, other)).status).toBe(200)
  expect((await look(one, other)).status).toBe(403)
})

test('an internal error shows a page with an id that is in the log, and no details', async () => {
  const { ask, faults, closeStore } = await open({ kind: 'log', log: () => {} })
  const started = await ask(AUTHORIZE)
  const [interaction, cookie] = [started.headers.get('location') ?? '', cookiesOf(started)]
  await closeStore()
  const page = await ask(interaction, { headers: { cookie } })
  expect(page.status).toBe(500)
  const text = await page.text()
  expect(text).toMatch(/err_[0-9a-z]{12}/)
  const [fault] = faults
  expect(fault).toBeInstanceOf(Error)
  expect(text).not.toContain((fault as Error).message)
})

test('T13: a sign-out that failed is not reported as done', async () => {
  const codes: string[] = []
  const { ask, closeStore, faults } = await open({
    kind: 'log',
    log: (_email, code) => codes.push(code),
  })
  const asking = async (address: string | URL, init?: RequestInit) => {
    const { pathname, search } = new URL(address)
    return await ask(pathname + search, init)
  }
  const browser = openBrowser(ISSUER, {}, asking)
  const start = await browser.open(AUTHORIZE)
  const asked = await browser.submit(start, '/email', { email: 'a@example.org' })
  const back = await browser.submit(asked, '/code', { code: codes[0] ?? '' })
  expect(back.url.startsWith(REDIRECT)).toBe(true)
  const question = await browser.open('/oauth/logout')
  expect(question.status).toBe(200)
  await closeStore()
  const answer = await browser.submit(question, '/oauth/logout/confirm', { logout: 'yes' })
  expect(answer.status).toBe(500)
  expect(answer.headers.getSetCookie()).toEqual([])
  expect(faults).not.toEqual([])
})

test.each([
  ['PUT', '/oauth/token', 405],
  ['TRACE', '/', 404],
  ['PUT', '/', 404],
  ['OPTIONS', '/', 404],
  ['GET', '/', 404],
  ['GET', '/oauth/request', 404],
  ['POST', '/oauth/request', 404],
  ['POST', '/oauth/introspect', 404],
  ['GET', '/oauth/revocation', 404],
  ['GET', '/sign-in/x', 403],
  ['GET', '/sign-in/x/unknown', 404],
  ['POST', '/sign-in/x', 405],
])('%s %s is %i', async (method, path, status) => {
  const { ask } = await open({ kind: 'none' })
  expect((await ask(path, { method })).status).toBe(status)
})

test('a form that is too long is refused before it is parsed', async () => {
  const { ask } = await open({ kind: 'none' })
  const body = new URLSearchParams({ grant_type: 'x'.repeat(40_000) })
  expect((await ask('/oauth/token', { method: 'POST', body })).status).toBe(413)
  expect((await ask('/oauth/authorize', { method: 'POST', body })).status).toBe(400)
})

describe('a client that disconnects while sending its form causes no internal error', () => {
  const HEAD = 'Host: x\r\nContent-Type: application/x-www-form-urlencoded\r\n'
  const WAYS = [
    ['hangs up', 'Content-Length: 400\r\n\r\ngrant_type=auth', true],
    ['hangs up within a chunk', 'Transfer-Encoding: chunked\r\n\r\n190\r\ngrant_type=a', true],
    ['breaks its chunks', 'Transfer-Encoding: chunked\r\n\r\n5\r\ngrant\r\nzz\r\n', false],
  ] as const
  const PATHS = ['/oauth/token', '/oauth/authorize', '/oauth/userinfo', '/sign-in/x/email']

  test.each(WAYS.flatMap(([way, ...how]) => PATHS.map((path) => [way, path, ...how] as const)))(
    'one that %s: %s',
    async (_, path, rest, isGone) => {
      const { answer: ask, faults } = await open({ kind: 'none' })
      const begun = Promise.withResolvers<void>()
      const answered = Promise.withResolvers<number>()
      const listener = listen({ hostname: '127.0.0.1', port: 0 }, async (request) => {
        begun.resolve()
        const answer = await ask(request, '192.0.2.1')
        answered.resolve(answer.status)
        return answer
      })
      onTestFinished(() => listener.close())
      const client = dial(listener.url)
      client.send(`POST ${path} HTTP/1.1\r\n${HEAD}${rest}`)
      await begun.promise
      if (isGone) client.hangUp()
      expect([await answered.promise, faults]).toEqual([400, []])
    },
  )
})

test.each([
  ['a sign-in', AUTHORIZE, 303],
  ['a question whether to sign out', '/oauth/logout', 200],
])(
  'a network may start %s a hundred times in ten minutes; other networks are not affected',
  async (_, path, status) => {
    const { ask, clock, faults } = await open({ kind: 'none' })
    for (let n = 0; n < 100; n++) {
      expect((await ask(path, {}, `2001:db8:0:1::${n}`)).status).toBe(status)
    }
    clock.advance(9 * 60_000)
    const late = await ask(path, {}, '2001:db8:0:1::ffff')
    expect(late.status).toBe(429)
    expect(late.headers.get('retry-after')).toBe('60')
    expect(late.headers.get('location')).toBeNull()
    expect(late.headers.get('set-cookie') ?? '').not.toContain('interaction=')
    expect(await late.text()).toContain('<h1>Too many requests</h1>')
    expect((await ask(path, {}, '2001:db8:0:2::1')).status).toBe(status)
    // Requests that store nothing are not limited.
    const silent = await ask(`${AUTHORIZE}&prompt=none`, {}, '2001:db8:0:1::ffff')
    expect(silent.headers.get('location')).toContain('error=login_required')
    clock.advance(60_000)
    expect((await ask(path, {}, '2001:db8:0:1::ffff')).status).toBe(status)
    expect(faults).toEqual([])
  },
)

test('the limit of sign-ins does not last longer because the clock is set back', async () => {
  const { ask, clock } = await open({ kind: 'none' })
  const start = async () => (await ask(AUTHORIZE)).status
  for (let n = 0; n < 100; n++) expect(await start()).toBe(303)
  expect(await start()).toBe(429)
  clock.advance(-86_400_000)
  expect(await start()).toBe(303)
})

test('a site with many networks may start ten times as many as one', async () => {
  const signinsPerNetwork = FULL ? DEFAULT_LIMITS.signinsPerNetwork : 10
  const { ask } = await open({ kind: 'none' }, { ...DEFAULT_LIMITS, signinsPerNetwork })
  const most = 10 * signinsPerNetwork
  const from = async (network: number, site = '2001:db8:7') =>
    (await ask(AUTHORIZE, {}, `${site}:${network.toString(16)}::1`)).status
  for (let n = 0; n < most; n++) expect(await from(n)).toBe(303)
  expect(await from(most)).toBe(429)
  expect(await from(most, '2001:db8:8')).toBe(303)
})

test('all expired data is deleted, however much there is, and nothing else', async () => {
  const { store, clock } = await open({ kind: 'none' })
  const put = (nth: number, ms: number) =>
    putArtifact(store, {
      kind: 'Interaction',
      digest: `digest-${nth}`,
      payload: '{}',
      grantId: null,
      uid: null,
      personId: null,
      clientId: null,
      consumedAt: null,
      expiresAt: later(clock.now(), ms),
    })
  await Promise.all(Array.from({ length: 2500 }, (_, nth) => put(nth, 0)))
  await put(2500, 60 * 60_000)
  const isLeft = async (nth: number) =>
    (await store.artifacts.find('Interaction', `digest-${nth}`)) !== undefined
  await sweep({ store, clock }, () => false)
  expect(await isLeft(0)).toBe(true)
  clock.advance(11 * 60_000)
  await sweep({ store, clock }, () => false)
  for (let nth = 0; nth < 2500; nth++) expect(await isLeft(nth)).toBe(false)
  expect(await isLeft(2500)).toBe(true)
})

test('a hundred codes within an hour are reported to the operator, once, and are still sent', async () => {
  const codes: string[] = []
  const { ask, clock, faults } = await open({ kind: 'log', log: (_, code) => codes.push(code) })
  const askFor = async (nth: number) => {
    const address = `198.51.100.${nth}`
    const start = await ask(AUTHORIZE, {}, address)
    const headers = {
      cookie: cookiesOf(start),
      'content-type': 'application/x-www-form-urlencoded',
    }
    const body = `email=guest-${nth}%40example.org`
    const path = `${start.headers.get('location')}/email`
    return (await ask(path, { method: 'POST', headers, body }, address)).status
  }
  for (let n = 0; n < 99; n++) expect(await askFor(n)).toBe(303)
  expect(faults).toEqual([])
  for (let n = 99; n < 103; n++) expect(await askFor(n)).toBe(303)
  expect(faults.map(String)).toEqual(['Error: 100 sign-in codes were asked for within an hour'])
  expect(codes).toHaveLength(103)
  clock.advance(30 * 60_000)
  expect(await askFor(103)).toBe(303)
  expect(faults).toHaveLength(1)
})
