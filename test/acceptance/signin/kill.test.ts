// Codes, tokens, sessions, interactions and keys survive `kill -9`; a rotated signing key keeps older signatures valid.
import type { webcrypto } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
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

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly id_token: string
}

/** The claims of an ID token, after checking its signature against the published keys. */
async function verify(token: string) {
  const [head = '', body = '', signature = ''] = token.split('.')
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
  const { kid } = read(head) as { readonly kid: string }
  const published = await fetch(`${setup.authUrl}/oauth/jwks`)
  const { keys } = (await published.json()) as {
    readonly keys: readonly (webcrypto.JsonWebKey & { readonly kid: string })[]
  }
  const jwk = keys.find((one) => one.kid === kid)
  if (jwk === undefined) throw new Error(`no key ${kid} is published`)
  const rs256 = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('jwk', jwk, rs256, false, ['verify'])
  const isSigned = await crypto.subtle.verify(
    rs256,
    key,
    Buffer.from(signature, 'base64url'),
    Buffer.from(`${head}.${body}`),
  )
  expect(isSigned).toBe(true)
  return { kid, ...(read(body) as { readonly sub: string; readonly iss: string }) }
}

test('everything that was answered is still there after a kill', async () => {
  const { authUrl, client } = setup
  const email = 'survivor@example.org'
  const browser = setup.browser()
  const address = authorizeUrl(authUrl, client.client_id)
  const offline = authorizeUrl(authUrl, client.client_id, {
    scope: 'openid email offline_access',
    prompt: 'consent',
  })
  const asked = await setup.signIn(browser, await browser.open(offline), email)
  const granted = await browser.submit(asked, '/consent', { decision: 'allow' })
  const tokens = (await (await redeem(authUrl, client, codeOf(granted))).json()) as Tokens
  const waiting = codeOf(await browser.open(address))
  const halfway = setup.browser()
  const page = await halfway.submit(await halfway.open(address), '/email', {
    email: 'half@example.org',
  })
  const digits = await setup.codeFor('half@example.org')

  setup.cli.json(['clients', 'rotate-signing-key'])
  await setup.killAndRestart()

  const userinfo = await fetch(`${authUrl}/oauth/userinfo`, {
    headers: { authorization: `Bearer ${tokens.access_token}` },
  })
  expect(await userinfo.json()).toMatchObject({ email })
  const redeemed = (await (await redeem(authUrl, client, waiting)).json()) as Tokens
  expect(redeemed.access_token).toMatch(/^[\w-]{43}$/)
  const refreshed = await fetch(`${authUrl}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: tokens.refresh_token,
      ...client,
    }),
  })
  expect(refreshed.status).toBe(200)
  expect((await browser.open(address)).url.startsWith(REDIRECT)).toBe(true)
  const back = await halfway.submit(page, '/code', { code: digits })
  expect(back.url.startsWith(REDIRECT)).toBe(true)

  const before = await verify(tokens.id_token)
  const after = await verify(redeemed.id_token)
  expect(after.kid).not.toBe(before.kid)
  expect(after).toMatchObject({ sub: before.sub, iss: authUrl })
  expect((await redeem(authUrl, client, waiting)).status).toBe(400)
})

test('a key rotation applies from the next request, without a restart', async () => {
  const kids = async () => {
    const { keys } = (await (await fetch(`${setup.authUrl}/oauth/jwks`)).json()) as {
      readonly keys: readonly Record<string, unknown>[]
    }
    expect(keys.flatMap(Object.keys)).not.toContain('d')
    return keys.map(({ kid }) => kid)
  }
  const before = await kids()
  const { key_id } = setup.cli.json<{ key_id: string }>(['clients', 'rotate-signing-key'])
  expect(await kids()).toEqual([key_id, ...before])
})

test('status shows the address of the sign-in provider', async () => {
  const status = setup.cli.json<Record<string, unknown>>(['status'])
  expect(status).toMatchObject({ auth_url: setup.authUrl, clients: 1 })
})
