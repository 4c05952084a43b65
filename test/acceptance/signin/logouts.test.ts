// Back-channel logout by the compiled program: a real application is told, however a session ends, by a token that jose accepts.

import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { openReceiver, type Received, type Receiver } from '#test/support/receiver.ts'
import type { Browser } from './browser.ts'
import {
  authorizeUrl,
  codeOf,
  openSigninGateway,
  type RegisteredClient,
  redeem,
  type SigninGateway,
} from './signin-gateway.ts'

let setup: SigninGateway
let application: Receiver
let client: RegisteredClient
let networks = 0
/** How the application answers. */
let answer: () => Response | Promise<Response>

const PATIENCE_MS = 60_000

beforeAll(async () => {
  application = openReceiver(() => answer())
  setup = await openSigninGateway({ GATEWAY_ALLOW_LOOPBACK_WEBHOOKS: '1' })
  const uri = `${application.url}/logout`
  client = setup.register('Mail', '--backchannel-logout-uri', uri)
})
afterAll(async () => {
  await setup?.close()
  await application?.close()
})
beforeEach(() => {
  answer = () => new Response()
  application.received.length = 0
})

interface Entered {
  readonly browser: Browser
  readonly sub: string
  readonly sid: unknown
}

/** The claims of a token that is signed by the provider's keys for this application. */
async function claimsOf(token: string, typ?: string) {
  const keys = createRemoteJWKSet(new URL(`${setup.authUrl}/oauth/jwks`))
  const expected = {
    issuer: setup.authUrl,
    audience: client.client_id,
    ...(typ !== undefined && { typ }),
  }
  return (await jwtVerify(token, keys, expected)).payload
}

async function enter(email: string): Promise<Entered> {
  const browser = setup.browser({ 'x-forwarded-for': `198.51.100.${++networks}` })
  const page = await browser.open(authorizeUrl(setup.authUrl, client.client_id))
  const back = await setup.signIn(browser, page, email)
  const tokens = await redeem(setup.authUrl, client, codeOf(back))
  const { id_token } = (await tokens.json()) as { readonly id_token: string }
  const { sub = '', sid } = await claimsOf(id_token)
  return { browser, sub, sid }
}

/** What a client must check of a logout token (Back-Channel Logout 1.0 §2.6). */
async function readLogout({ path, headers, body }: Received) {
  expect(path).toBe('/logout')
  expect(headers['content-type']).toBe('application/x-www-form-urlencoded')
  const form = new URLSearchParams(body)
  expect([...form.keys()]).toEqual(['logout_token'])
  const claims = await claimsOf(form.get('logout_token') ?? '', 'logout+jwt')
  const { iat = 0, exp = 0, jti, sub, sid, events, ...rest } = claims
  expect(events).toEqual({ 'http://schemas.openid.net/event/backchannel-logout': {} })
  expect(Object.keys(rest).toSorted()).toEqual(['aud', 'iss'])
  expect([exp - iat <= 120, typeof jti]).toEqual([true, 'string'])
  return { jti, told: [sub, sid] }
}

async function told(count = 1) {
  await until(() => application.received.length >= count, 'the application was told', PATIENCE_MS)
  expect(application.received).toHaveLength(count)
  return Promise.all(application.received.map(readLogout))
}

async function signOut({ browser }: Entered): Promise<void> {
  const asked = await browser.open(`${setup.authUrl}/oauth/logout`)
  const left = await browser.submit(asked, '/oauth/logout/confirm', { logout: 'yes' })
  expect(left.text).toContain('You are signed out')
}

test('the metadata say so', async () => {
  const metadata = await fetch(`${setup.authUrl}/.well-known/openid-configuration`)
  expect(await metadata.json()).toMatchObject({
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    claims_supported: expect.arrayContaining(['sid']),
  })
})

test(
  'a person signs out',
  async () => {
    const entered = await enter('ann@example.org')
    await signOut(entered)
    expect((await told())[0]?.told).toEqual([entered.sub, entered.sid])
  },
  PATIENCE_MS,
)

test.each([
  ['signs the person out', (email: string) => ['users', 'sessions', 'revoke', email, '--yes']],
  ['disables the person', (email: string) => ['users', 'disable', email, '--yes']],
  ['removes the person', (email: string) => ['users', 'remove', email, '--yes']],
] as const)(
  'an operator %s',
  async (how, command) => {
    const email = `${how.split(' ')[0]}@example.org`
    const entered = await enter(email)
    setup.cli.json(command(email))
    expect((await told())[0]?.told).toEqual([entered.sub, entered.sid])
  },
  PATIENCE_MS,
)

test(
  'an operator ends one of two sessions',
  async () => {
    const [entered, other] = [await enter('two@example.org'), await enter('two@example.org')]
    const of = ['users', 'sessions'] as const
    type Sessions = readonly { readonly id: string }[]
    const [newest] = setup.cli.json<Sessions>([...of, 'list', 'two@example.org'])
    setup.cli.json([...of, 'end', 'two@example.org', newest?.id ?? '', '--yes'])
    const [first] = await told()
    expect([
      [entered.sub, entered.sid],
      [other.sub, other.sid],
    ]).toContainEqual(first?.told)
  },
  PATIENCE_MS,
)

test(
  'nobody waits for an application that does not answer, and one that fails is asked again',
  async () => {
    const entered = await enter('slow@example.org')
    const held = Promise.withResolvers<Response>()
    answer = () => held.promise
    await signOut(entered)
    await until(() => application.received.length === 1, 'it was asked', PATIENCE_MS)
    answer = () => new Response(null, { status: 200 })
    held.resolve(new Response('not now', { status: 503 }))
    const [first, second] = await told(2)
    expect(second?.told).toEqual([entered.sub, entered.sid])
    expect(second?.jti).not.toBe(first?.jti)
  },
  PATIENCE_MS,
)

test(
  'a kill loses none',
  async () => {
    const entered = await enter('killed@example.org')
    const held = Promise.withResolvers<Response>()
    answer = () => held.promise
    await signOut(entered)
    await until(() => application.received.length === 1, 'it was asked', PATIENCE_MS)
    await setup.killAndRestart()
    held.resolve(new Response())
    answer = () => new Response()
    const [, again] = await told(2)
    expect(again?.told).toEqual([entered.sub, entered.sid])
  },
  2 * PATIENCE_MS,
)

test(
  'only public addresses, where the operator allows no others; it is said in the log',
  async () => {
    const other = await openSigninGateway()
    try {
      const create = [
        'clients',
        'create',
        'Mail',
        '--redirect-uri',
        'https://app.example.org/callback',
      ]
      const refused = other.cli.run([...create, '--backchannel-logout-uri', application.url])
      expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('https://')])
      const inside = `https://localhost:${new URL(application.url).port}/logout`
      const { client_id } = other.register('Mail', '--backchannel-logout-uri', inside)
      const browser = other.browser()
      const page = await browser.open(authorizeUrl(other.authUrl, client_id))
      await other.signIn(browser, page, 'ann@example.org')
      other.cli.json(['users', 'disable', 'ann@example.org', '--yes'])
      const words = `${client_id} could not be told of a sign-out: forbidden_address`
      await until(() => other.appliance.said().includes(words), 'it is logged', PATIENCE_MS)
      expect(application.received).toEqual([])
    } finally {
      await other.close()
    }
  },
  2 * PATIENCE_MS,
)
