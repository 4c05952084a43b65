// Pages of a sign-in that is over: who went back is told that they are signed in; and what an application forgot to ask for.

import { expect, test } from 'vitest'
import { addressFor, ISSUER, isSignedIn, openTestSignin } from './identities/test-signin.ts'

const EMAIL = 'ann@example.org'

test('the page of a completed sign-in says that the person is signed in, as long as they are', async () => {
  const deps = await openTestSignin()
  const browser = deps.browser()
  const page = await deps.start(browser)
  const uid = new URL(page.url).pathname.split('/').at(-1)
  // As the Back button sends it, which still has the cookies that were deleted meanwhile.
  const cookies = [...browser.cookies].map(([name, value]) => `${name}=${value}`)
  expect(isSignedIn(await deps.byCode(browser, page, EMAIL))).toBe(true)
  for (const path of [`/sign-in/${uid}`, `/oauth/authorize/${uid}`]) {
    const back = await browser.open(ISSUER + path)
    expect([path, back.status, back.text.includes('You are signed in')]).toEqual([path, 400, true])
    const stranger = await deps.ask(ISSUER + path, { headers: { cookie: cookies.join('; ') } })
    expect(await stranger.text()).toContain('This page is out of date')
  }
})

test('a request without openid is told what is missing, and not how it is kept here', async () => {
  const deps = await openTestSignin()
  const { url } = await deps.browser().open(addressFor({ scope: 'email' }))
  const answer = new URL(url).searchParams
  expect(answer.get('error')).toBe('invalid_request')
  expect(answer.get('error_description')).toBe('the scope openid must be requested')
})

test('acr_values is answered with what was proved', async () => {
  const deps = await openTestSignin()
  const browser = deps.browser()
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  const back = await deps.byCode(browser, await deps.start(browser, { acr_values: '2 1' }), EMAIL)
  const answer = await deps.ask(`${ISSUER}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: 'wiki',
      client_secret: 'secret',
      code: new URL(back.url).searchParams.get('code') ?? '',
      code_verifier: verifier,
    }),
  })
  const { id_token } = (await answer.json()) as { readonly id_token: string }
  const claims = JSON.parse(Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString())
  expect(claims).toMatchObject({ acr: '1', amr: ['otp'] })
})
