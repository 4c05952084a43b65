// The token endpoint (contract §10): the request of the specification, and every refusal with status, code and body.
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readDatabase } from '#test/support/appliance.ts'
import {
  authorizeUrl,
  codeOf,
  openSigninGateway,
  REDIRECT,
  type RegisteredClient,
  redeem,
  type SigninGateway,
} from './signin-gateway.ts'

let setup: SigninGateway
let other: RegisteredClient

beforeAll(async () => {
  setup = await openSigninGateway()
  other = setup.register('Other')
})
afterAll(() => setup.close())

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

let people = 0

/** A new code for a new person, from a network of its own. */
async function freshCode(more: Readonly<Record<string, string | null>> = {}): Promise<string> {
  const n = ++people
  const browser = setup.browser({ 'x-forwarded-for': `198.18.1.${n}` })
  const start = await browser.open(authorizeUrl(setup.authUrl, setup.client.client_id, more))
  const back = await setup.signIn(browser, start, `person-${n}@example.org`)
  if (!back.text.includes('name="decision"')) return codeOf(back)
  return codeOf(await browser.submit(back, '/consent', { decision: 'allow' }))
}

/** With a refresh token. */
const offlineCode = () => freshCode({ scope: 'openid email offline_access', prompt: 'consent' })

/** A refusal contains the error and nothing else, and is not cached. */
async function demandRefusal(answer: Response, status: number, error: string): Promise<void> {
  expect(answer.status).toBe(status)
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(await answer.json()).toEqual({ error, error_description: expect.any(String) })
}

const userinfo = (token: string): Promise<Response> =>
  fetch(`${setup.authUrl}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } })

/** RFC 6750 §3: an invalid token. */
async function demandInvalid(token: string): Promise<void> {
  const answer = await userinfo(token)
  await demandRefusal(answer, 401, 'invalid_token')
  expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token"/)
}

const refresh = ({ refresh_token }: Tokens): Promise<Response> =>
  fetch(`${setup.authUrl}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token, ...setup.client }),
  })

/** Makes codes look as if they were issued more than a minute ago. */
function expire(code: string): void {
  const database = new Database(`${setup.cli.dataDir}/gateway.db`)
  const { changes } = database
    .query(
      `UPDATE artifacts SET payload = json_set(payload, '$.exp', unixepoch() - 1)
       WHERE kind = 'AuthorizationCode' AND sha256 = ?`,
    )
    .run(new Bun.CryptoHasher('sha256').update(code).digest('hex'))
  database.close()
  expect(changes).toBe(1)
}

test('the request of the specification: no redirect_uri, although two are registered', async () => {
  const second = 'https://app.example.org/second'
  const two = setup.register('Two', '--redirect-uri', REDIRECT, '--redirect-uri', second)
  const browser = setup.browser()
  const start = await browser.open(
    authorizeUrl(setup.authUrl, two.client_id, { redirect_uri: second }),
  )
  const code = codeOf(await setup.signIn(browser, start, 'two@example.org'))
  const answer = await redeem(setup.authUrl, two, code)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(await answer.json()).toEqual({
    access_token: expect.stringMatching(/^[\w-]{43}$/),
    token_type: 'Bearer',
    expires_in: 3600,
    id_token: expect.any(String),
    scope: 'openid email profile',
  })
})

test('an empty redirect_uri counts as absent (RFC 6749 §3.2)', async () => {
  const answer = await redeem(setup.authUrl, setup.client, await freshCode(), { redirect_uri: '' })
  expect(answer.status).toBe(200)
})

describe('refused, and the code is still valid for its own client', () => {
  test.each([
    ['a wrong verifier', { code_verifier: 'x'.repeat(50) }],
    ['an empty verifier', { code_verifier: '' }],
    ['another redirect address', { redirect_uri: `${REDIRECT}/` }],
    ['a foreign redirect address', { redirect_uri: 'https://evil.example/callback' }],
    ['a code that was never issued', { code: 'x'.repeat(43) }],
  ])('%s', async (_what, more) => {
    const code = await freshCode()
    const answer = await redeem(setup.authUrl, setup.client, code, more)
    await demandRefusal(answer, 400, 'invalid_grant')
    expect((await redeem(setup.authUrl, setup.client, code)).status).toBe(200)
  })

  test('T13: the code of another client', async () => {
    const code = await freshCode()
    await demandRefusal(await redeem(setup.authUrl, other, code), 400, 'invalid_grant')
    expect((await redeem(setup.authUrl, setup.client, code)).status).toBe(200)
  })

  test('T13: the refresh token of another client', async () => {
    const answer = await redeem(setup.authUrl, setup.client, await offlineCode())
    const tokens = (await answer.json()) as Tokens
    const stolen = await fetch(`${setup.authUrl}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: tokens.refresh_token,
        ...other,
      }),
    })
    await demandRefusal(stolen, 400, 'invalid_grant')
    expect((await refresh(tokens)).status).toBe(200)
  })

  test('T13: no verifier, from a client that is not exempted from PKCE', async () => {
    const code = await freshCode()
    const answer = await fetch(`${setup.authUrl}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'authorization_code', code, ...setup.client }),
    })
    await demandRefusal(answer, 400, 'invalid_grant')
    expect((await redeem(setup.authUrl, setup.client, code)).status).toBe(200)
  })

  test('T9, T11: a wrong secret, an empty one, none, and the stored hash of the right one', async () => {
    const code = await freshCode()
    const kept = readDatabase<{ secret_sha256: string }>(
      setup.cli,
      'SELECT secret_sha256 FROM clients WHERE id = ?',
      setup.client.client_id,
    )[0]?.secret_sha256
    expect(kept).toMatch(/^[0-9a-f]{64}$/)
    for (const client_secret of ['wrong', '', kept ?? '']) {
      const answer = await redeem(setup.authUrl, { ...setup.client, client_secret }, code)
      await demandRefusal(answer, 401, 'invalid_client')
    }
    const { client_id } = setup.client
    const silent = await fetch(`${setup.authUrl}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'authorization_code', code, client_id }),
    })
    await demandRefusal(silent, 401, 'invalid_client')
    const basic = await fetch(`${setup.authUrl}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${client_id}:${kept}`)}` },
      body: new URLSearchParams({ grant_type: 'authorization_code', code }),
    })
    expect(basic.headers.get('www-authenticate')).toMatch(/^Basic /)
    await demandRefusal(basic, 401, 'invalid_client')
    expect((await redeem(setup.authUrl, setup.client, code)).status).toBe(200)
  })

  test('T11: the stored form of a code or a token is not accepted', async () => {
    const hashOf = (secret: string) => new Bun.CryptoHasher('sha256').update(secret).digest('hex')
    const code = await offlineCode()
    const kept = await redeem(setup.authUrl, setup.client, hashOf(code))
    await demandRefusal(kept, 400, 'invalid_grant')
    const answer = await redeem(setup.authUrl, setup.client, code)
    const { access_token, refresh_token } = (await answer.json()) as Tokens
    expect((await userinfo(access_token)).status).toBe(200)
    await demandInvalid(hashOf(access_token))
    const hashed = { access_token, refresh_token: hashOf(refresh_token) }
    await demandRefusal(await refresh(hashed), 400, 'invalid_grant')
  })
})

test('T13: a verifier cannot be guessed: the fifth wrong one invalidates the code', async () => {
  const code = await freshCode()
  for (let n = 0; n < 5; n++) {
    const more = { code_verifier: `${n}`.repeat(50) }
    await demandRefusal(await redeem(setup.authUrl, setup.client, code, more), 400, 'invalid_grant')
  }
  await demandRefusal(await redeem(setup.authUrl, setup.client, code), 400, 'invalid_grant')
})

test('requests without client authentication never invalidate a code', async () => {
  const code = await freshCode()
  for (let n = 0; n < 6; n++) {
    const body = new URLSearchParams({ grant_type: 'authorization_code', code })
    const answer = await fetch(`${setup.authUrl}/oauth/token`, { method: 'POST', body })
    await demandRefusal(answer, 400, 'invalid_request')
  }
  expect((await redeem(setup.authUrl, setup.client, code)).status).toBe(200)
})

test('an expired code is refused', async () => {
  const code = await freshCode()
  expire(code)
  await demandRefusal(await redeem(setup.authUrl, setup.client, code), 400, 'invalid_grant')
})

describe('reuse is refused and revokes what the code had issued', () => {
  test.each([
    ['at once', () => {}],
    ['also once the code has expired', expire],
  ])('%s', async (_when, wait) => {
    const code = await offlineCode()
    const answer = await redeem(setup.authUrl, setup.client, code)
    const tokens = (await answer.json()) as Tokens
    expect((await userinfo(tokens.access_token)).status).toBe(200)
    wait(code)
    await demandRefusal(await redeem(setup.authUrl, setup.client, code), 400, 'invalid_grant')
    await demandInvalid(tokens.access_token)
    await demandRefusal(await refresh(tokens), 400, 'invalid_grant')
    await demandRefusal(await redeem(setup.authUrl, setup.client, code), 400, 'invalid_grant')
  })

  test('also where the request says that it accepts pages alone', async () => {
    const code = await offlineCode()
    const tokens = (await (await redeem(setup.authUrl, setup.client, code)).json()) as Tokens
    const again = await redeem(setup.authUrl, setup.client, code, {}, { accept: 'text/html' })
    await demandRefusal(again, 400, 'invalid_grant')
    await demandInvalid(tokens.access_token)
    await demandRefusal(await refresh(tokens), 400, 'invalid_grant')
  })

  test('of 40 concurrent redemptions exactly one succeeds, and what it issued is revoked', async () => {
    const code = await offlineCode()
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => redeem(setup.authUrl, setup.client, code)),
    )
    const given = answers.filter(({ status }) => status === 200)
    expect(given).toHaveLength(1)
    for (const answer of answers.filter((one) => !given.includes(one))) {
      await demandRefusal(answer, 400, 'invalid_grant')
    }
    const tokens = (await given[0]?.json()) as Tokens
    await demandInvalid(tokens.access_token)
    await demandRefusal(await refresh(tokens), 400, 'invalid_grant')
  })

  test('of 20 concurrent refreshes exactly one succeeds, and what it issued stays', async () => {
    const answer = await redeem(setup.authUrl, setup.client, await offlineCode())
    const first = (await answer.json()) as Tokens
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(first)))
    const given = answers.filter(({ status }) => status === 200)
    expect(given).toHaveLength(1)
    const renewed = (await given[0]?.json()) as Tokens
    expect((await userinfo(renewed.access_token)).status).toBe(200)
    expect((await refresh(renewed)).status).toBe(200)
  })
})
