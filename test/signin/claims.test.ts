// Where the claims of a person are: in the ID token and the userinfo by default, or in the userinfo alone, as a client is registered.

import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { anAct } from '#test/support/nouns.ts'
import { ISSUER, openTestSignin } from './identities/test-signin.ts'

const EMAIL = 'ann@example.org'
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const PERSONAL = { email: EMAIL, email_verified: true, name: 'ann', preferred_username: EMAIL }

test.each([
  ['says who the person is', true],
  ['names them by `sub` alone, where the client is registered so', false],
] as const)('an ID token %s; the userinfo always says it', async (_what, hasIdTokenClaims) => {
  const deps = await openTestSignin()
  await deps.store.clients.amend('wiki', { hasIdTokenClaims }, anAct())
  await deps.store.groups.add('staff', (await deps.withVerified(EMAIL)).id, null, anAct())
  const browser = deps.browser()
  const more = { scope: 'openid email profile groups offline_access', prompt: 'consent' }
  const asked = await deps.byCode(browser, await deps.start(browser, more), EMAIL)
  const back = await browser.submit(asked, '/consent', { decision: 'allow' })
  const token = async (grant: Readonly<Record<string, string>>) => {
    const answer = await deps.ask(`${ISSUER}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'wiki', client_secret: 'secret', ...grant }),
    })
    return (await answer.json()) as Readonly<Record<string, string>>
  }
  const first = await token({
    grant_type: 'authorization_code',
    code: new URL(back.url).searchParams.get('code') ?? '',
    code_verifier: VERIFIER,
  })
  const second = await token({
    grant_type: 'refresh_token',
    refresh_token: first['refresh_token'] ?? '',
  })
  const own = ['acr', 'amr', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'sub']
  const personal = { ...PERSONAL, groups: ['staff'] }
  for (const { id_token = '', access_token = '' } of [first, second]) {
    const claims = decodeJwt(id_token)
    if (hasIdTokenClaims) expect(claims).toMatchObject(personal)
    else expect(Object.keys(claims).toSorted()).toEqual(own)
    const userinfo = await deps.ask(`${ISSUER}/oauth/userinfo`, {
      headers: { authorization: `Bearer ${access_token}` },
    })
    expect(await userinfo.json()).toMatchObject({ sub: claims.sub, ...personal })
  }
})
