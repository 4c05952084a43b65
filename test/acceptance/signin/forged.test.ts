// Whatever host a request claims (contract §10, hardening §1), addresses, cookies and tokens are those of {auth_url}.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { dial } from '#test/support/raw-client.ts'
import { openBrowser } from './browser.ts'
import {
  authorizeUrl,
  codeOf,
  openSigninGateway,
  REDIRECT,
  redeem,
  type SigninGateway,
} from './signin-gateway.ts'

let setup: SigninGateway

beforeAll(async () => {
  setup = await openSigninGateway()
})
afterAll(() => setup.close())

const EVIL = 'evil.example'

const FORGED = {
  host: EVIL,
  forwarded: `for=192.0.2.9;host=${EVIL};proto=https`,
  'x-forwarded-host': EVIL,
  'x-forwarded-server': EVIL,
  'x-forwarded-proto': 'https',
  'x-forwarded-ssl': 'on',
  'x-forwarded-port': '444',
  'x-forwarded-prefix': `/${EVIL}`,
  'x-original-host': EVIL,
  'x-original-url': `/${EVIL}`,
  'x-rewrite-url': `/${EVIL}`,
  'x-host': EVIL,
}

test('T13: a whole sign-in with a forged Host, Forwarded and X-Forwarded-* uses only the real addresses', async () => {
  const heard: string[] = []
  const ask = async (address: string | URL, init: RequestInit = {}): Promise<Response> => {
    const answer = await fetch(address, { ...init, headers: { ...init.headers, ...FORGED } })
    heard.push(JSON.stringify([...answer.headers]), await answer.clone().text())
    return answer
  }
  const browser = openBrowser(setup.authUrl, {}, ask)
  const start = await browser.open(authorizeUrl(setup.authUrl, setup.client.client_id))
  const email = 'careful@example.org'
  const back = await setup.signIn(browser, start, email)
  expect(back.url.startsWith(REDIRECT)).toBe(true)
  expect(new URL(back.url).searchParams.get('iss')).toBe(setup.authUrl)

  const call = await ask(`${setup.authUrl}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: codeOf(back),
      code_verifier: 'a-verifier-that-is-long-enough-to-be-one-0123456789',
      ...setup.client,
    }),
  })
  expect(call.status).toBe(200)
  const { id_token } = (await call.json()) as { readonly id_token: string }
  const claims = Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString()
  expect(JSON.parse(claims)).toMatchObject({ iss: setup.authUrl, aud: setup.client.client_id })
  for (const path of ['/.well-known/openid-configuration', '/oauth/jwks', '/oauth/logout', '/x']) {
    await ask(setup.authUrl + path)
  }
  const mail = setup.mail.taken.find(({ to }) => to.includes(email))
  expect(mail).toBeDefined()
  const said = [...heard, claims, mail?.source ?? ''].join('\n')
  expect(said).not.toContain(EVIL)
  expect(said).not.toContain('https://127.0.0.1')
  // The issuer is http here: a Secure cookie would be lost.
  expect(said).not.toMatch(/set-cookie[^\]]*; secure/i)
})

test.each([
  ['a Host that is not ours', '', [`Host: ${EVIL}`]],
  ['two of them', '', [`Host: ${EVIL}`, 'Host: other.example']],
  ['a Host that is none', '', [`Host: ${EVIL}/path?`]],
  ['an absolute target', `http://${EVIL}`, ['Host: 127.0.0.1']],
])(
  'T13: %s in the raw request changes no address of the metadata',
  async (_what, before, lines) => {
    const client = dial(setup.authUrl)
    const target = `${before}/.well-known/openid-configuration`
    client.send(`GET ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`)
    await until(() => client.closed, 'the connection is closed')
    const status = /^HTTP\/1.1 (\d{3})/.exec(client.received)?.[1]
    expect(['200', '400']).toContain(status)
    if (status === '200') expect(client.received).toContain(`"issuer":"${setup.authUrl}"`)
    expect(client.received).not.toContain(EVIL)
  },
)

test.each(['a::b:1:2:3:4:5:6:7:8', ':::::::', '1.2.3', 'dead.beef'])(
  'an X-Forwarded-For that ends in an invalid address (%s) is ignored, and causes no error',
  async (forwarded) => {
    const address = authorizeUrl(setup.authUrl, setup.client.client_id)
    const browser = setup.browser({ 'x-forwarded-for': forwarded })
    expect((await browser.open(address)).text).toContain('name="email"')
    expect(setup.appliance.said()).not.toContain('fault:')
  },
)

test('T13: PKCE is required of every client that is not exempted from it', async () => {
  const { client_id } = setup.register('Plain')
  const page = await setup
    .browser()
    .open(
      authorizeUrl(setup.authUrl, client_id, { code_challenge: null, code_challenge_method: null }),
    )
  expect(page.url.startsWith(REDIRECT)).toBe(true)
  expect(Object.fromEntries(new URL(page.url).searchParams)).toMatchObject({
    error: 'invalid_request',
    state: 'state-of-the-session',
  })
  // An exempted client that sent a challenge must also send its verifier.
  const excused = setup.register('Excused', '--no-require-pkce')
  const browser = setup.browser()
  const start = await browser.open(authorizeUrl(setup.authUrl, excused.client_id))
  const code = codeOf(await setup.signIn(browser, start, 'excused@example.org'))
  const wrong = await redeem(setup.authUrl, excused, code, { code_verifier: 'x'.repeat(50) })
  expect([wrong.status, await wrong.json()]).toEqual([
    400,
    { error: 'invalid_grant', error_description: expect.any(String) },
  ])
  expect((await redeem(setup.authUrl, excused, code)).status).toBe(200)
})
