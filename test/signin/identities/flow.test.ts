// Sign-in through an identity provider: who is signed in, who must confirm an address first, and which responses are refused.

import { describe, expect, onTestFinished, test } from 'vitest'
import { later, MINUTE_MS } from '#domain/clock.ts'
import type { Browser, Page } from '#test/acceptance/signin/browser.ts'
import { anAct } from '#test/support/nouns.ts'
import { type Behaviour, type Issuer, openIssuer } from '#test/support/third-party.ts'
import {
  ISSUER,
  isSignedIn,
  onwardFrom,
  openTestSignin,
  type TestSignin,
  type TestSigninOptions,
} from './test-signin.ts'

const EMAIL = 'ann@example.org'

function startIssuer(behaviour: Behaviour = {}): Issuer {
  const issuer = openIssuer()
  issuer.behaviour = behaviour
  onTestFinished(() => issuer.close())
  return issuer
}

async function open(
  options: TestSigninOptions = {},
  behaviour: Behaviour = {},
  authoritativeFor: string[] = [],
) {
  const deps = await openTestSignin(options)
  const issuer = startIssuer(behaviour)
  await deps.add(issuer.url, { authoritativeFor })
  return { deps, issuer }
}

/** Presses the button, and returns the address that the browser is sent to. */
async function pressButton(deps: TestSignin, browser: Browser, name = 'sso'): Promise<string> {
  const page = await deps.start(browser)
  return onwardFrom(await browser.submit(page, `/identity/${name}`, {}))
}

/** To the identity provider and back. */
async function roundTrip(
  deps: TestSignin,
  issuer: Issuer,
  browser = deps.browser(),
): Promise<Page> {
  return browser.open(issuer.consent(await pressButton(deps, browser)))
}

describe('a person who returns from the identity provider', () => {
  test('confirms the address by a code the first time; from then on the identity provider is enough', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const asked = await roundTrip(deps, issuer, browser)
    expect(asked.status).toBe(200)
    expect(asked.url).toMatch(/\/sign-in\/[\w-]+$/)
    expect(asked.text).toContain('You have not signed in with Example SSO before.')
    expect(asked.text).toContain(`value="${EMAIL}"`)
    expect(await deps.store.people.count()).toBe(0)
    expect(isSignedIn(await deps.byCode(browser, asked, EMAIL))).toBe(true)
    const ann = await deps.store.people.findByEmail(EMAIL)
    expect(isSignedIn(await roundTrip(deps, issuer))).toBe(true)
    expect(deps.mailedCodes.size).toBe(1)
    expect(await deps.store.identities.ofPerson(ann?.id ?? 'usr_')).toMatchObject([
      { issuer: issuer.url, subject: 's-1', claimedName: EMAIL },
    ])
    expect(deps.faults).toEqual([])
  })

  test('is identified by issuer and subject: another subject with the same address is another person', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    await deps.byCode(browser, await roundTrip(deps, issuer, browser), EMAIL)
    issuer.behaviour = { claims: { sub: 's-2' } }
    expect(isSignedIn(await roundTrip(deps, issuer))).toBe(false)
    issuer.behaviour = { claims: { email: 'renamed@example.org', email_verified: false } }
    expect(isSignedIn(await roundTrip(deps, issuer))).toBe(true)
    expect(await deps.store.people.count()).toBe(1)
  })

  test('may confirm another address than the reported one, and the identity is linked to that person', async () => {
    const { deps, issuer } = await open()
    const work = await deps.withVerified('ann@work.example')
    const browser = deps.browser()
    const page = await roundTrip(deps, issuer, browser)
    expect(isSignedIn(await deps.byCode(browser, page, 'ann@work.example'))).toBe(true)
    expect(await deps.store.identities.ofPerson(work.id)).toHaveLength(1)
    expect(await deps.store.people.findByEmail(EMAIL)).toBeUndefined()
  })

  test('confirms by a code whose mail names the link; a code that was sent before is no longer valid', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const page = await deps.start(browser)
    const asked = await browser.submit(page, '/email', { email: EMAIL })
    const before = deps.mailedCodes.get(EMAIL) ?? ''
    const away = onwardFrom(await browser.submit(page, '/identity/sso', {}))
    const back = await browser.open(issuer.consent(away))
    expect(back.text).toContain('You have not signed in with Example SSO before.')
    expect(isSignedIn(await browser.submit(asked, '/code', { code: before }))).toBe(false)
    expect(isSignedIn(await deps.byCode(browser, back, EMAIL))).toBe(true)
  })

  test('and then types another address is linked to nobody', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const page = await roundTrip(deps, issuer, browser)
    const asked = await browser.submit(page, '/email', { email: EMAIL })
    const again = await browser.submit(asked, '/restart', {})
    expect(again.text).not.toContain('You have not signed in with')
    expect(isSignedIn(await deps.byCode(browser, again, EMAIL))).toBe(true)
    expect(await deps.store.identities.countPeople(issuer.url)).toBe(0)
  })

  test('needs no code where the identity provider is authoritative for a verified address', async () => {
    const { deps, issuer } = await open({}, {}, ['example.org'])
    const ann = await deps.withVerified(EMAIL)
    expect(isSignedIn(await roundTrip(deps, issuer))).toBe(true)
    expect(await deps.store.identities.ofPerson(ann.id)).toHaveLength(1)
  })

  test.each<[string, Behaviour, string[], string]>([
    ['the identity provider is not authoritative for the domain', {}, ['example.com'], EMAIL],
    ['email_verified is false', { claims: { email_verified: false } }, ['example.org'], EMAIL],
    ['email_verified is a string', { claims: { email_verified: 'true' } }, ['example.org'], EMAIL],
    [
      'email_verified is missing',
      { claims: { email_verified: undefined } },
      ['example.org'],
      EMAIL,
    ],
    ['the address is missing', { claims: { email: undefined } }, ['example.org'], EMAIL],
    ['the address is invalid', { claims: { email: 'ann@example.org\nx' } }, ['example.org'], EMAIL],
    [
      'the domain is a subdomain of the configured one',
      { claims: { email: 'ann@x.example.org' } },
      ['example.org'],
      'ann@x.example.org',
    ],
  ])('confirms the address by a code where %s', async (_why, behaviour, domains, email) => {
    const { deps, issuer } = await open({}, behaviour, domains)
    const ann = await deps.withVerified(email)
    const page = await roundTrip(deps, issuer)
    expect(isSignedIn(page)).toBe(false)
    expect(page.text).toContain('name="email"')
    expect(await deps.store.identities.ofPerson(ann.id)).toEqual([])
  })

  test('confirms an address that an operator typed and that was never confirmed', async () => {
    const { deps, issuer } = await open({ signup: [] }, {}, ['example.org'])
    const at = deps.clock.now()
    const added = {
      ...(await deps.withVerified('x@example.org')),
      id: 'usr_added',
      email: EMAIL,
    } as const
    await deps.store.people.add({ ...added, isEmailVerified: false, createdAt: at }, anAct())
    const browser = deps.browser()
    const page = await roundTrip(deps, issuer, browser)
    expect(page.text).toContain('name="email"')
    expect(isSignedIn(await deps.byCode(browser, page, EMAIL))).toBe(true)
    expect(isSignedIn(await roundTrip(deps, issuer))).toBe(true)
  })

  test('without an account is refused where sign-up is off, and learns it only by mail', async () => {
    const { deps, issuer } = await open({ signup: [] }, {}, ['example.org'])
    const browser = deps.browser()
    const page = await roundTrip(deps, issuer, browser)
    const asked = await browser.submit(page, '/email', { email: EMAIL })
    expect(asked.text).toContain('name="code"')
    expect(deps.mailedCodes.size).toBe(0)
    expect(await deps.store.people.count()).toBe(0)
  })

  test('is told to contact the operator where no code can be sent', async () => {
    const { deps, issuer } = await open({ codeDelivery: { kind: 'none' } })
    const page = await roundTrip(deps, issuer)
    expect(page.text).toContain(
      'The identity that Example SSO reported does not belong to anybody here.',
    )
    expect(page.text).toContain('/identity/sso')
    expect(page.text).not.toContain('name="email"')
  })

  test('and is disabled is shown that, by the button as by a code', async () => {
    const { deps, issuer } = await open({}, {}, ['example.org'])
    const ann = await deps.withVerified(EMAIL)
    await roundTrip(deps, issuer)
    await deps.store.people.setDisabled(ann.id, true, anAct(deps.clock.now()))
    for (const claims of [{}, { sub: 's-9' }]) {
      issuer.behaviour = { claims }
      const page = await roundTrip(deps, issuer)
      expect([page.status, isSignedIn(page)]).toEqual([403, false])
      expect(page.text).toContain('You cannot sign in')
    }
    expect(await deps.store.identities.ofPerson(ann.id)).toHaveLength(1)
  })

  test('is looked up at the userinfo endpoint where the ID token has no address, for the same subject only', async () => {
    const { deps, issuer } = await open(
      {},
      {
        claims: { email: undefined, email_verified: undefined },
        userinfo: { email: EMAIL, email_verified: true },
      },
      ['example.org'],
    )
    await deps.withVerified(EMAIL)
    expect(isSignedIn(await roundTrip(deps, issuer))).toBe(true)
    issuer.behaviour = {
      ...issuer.behaviour,
      userinfo: { sub: 's-other', email: EMAIL, email_verified: true },
    }
    const page = await roundTrip(deps, issuer)
    expect([page.status, isSignedIn(page)]).toEqual([400, false])
  })
})

describe('the response of an identity provider is refused, with a clear message, when', () => {
  const now = (): number => Math.floor(Date.now() / 1000)

  test.each<[string, () => Behaviour, string]>([
    [
      'the person refuses',
      () => ({ answer: { code: null, error: 'access_denied' } }),
      'did not sign you in',
    ],
    [
      'the response names another issuer',
      () => ({ answer: { iss: 'https://evil.example' } }),
      'could not be reached',
    ],
    ['the response names no issuer', () => ({ answer: { iss: null } }), 'could not be reached'],
    [
      'the ID token is of another issuer',
      () => ({ claims: { iss: 'https://evil.example' } }),
      'could not',
    ],
    ['the nonce is wrong', () => ({ claims: { nonce: 'another' } }), 'could not'],
    ['there is no nonce', () => ({ claims: { nonce: undefined } }), 'could not'],
    ['the ID token is for another client', () => ({ claims: { aud: 'another' } }), 'could not'],
    [
      'its audience lists several clients and azp is another',
      () => ({ claims: { aud: ['gateway', 'x'], azp: 'x' } }),
      'could not',
    ],
    ['it has expired', () => ({ claims: { exp: now() - 120, iat: now() - 600 } }), 'could not'],
    ['it never expires', () => ({ claims: { exp: undefined } }), 'could not'],
    ['it has no subject', () => ({ claims: { sub: undefined } }), 'could not'],
    ['its subject is too long', () => ({ claims: { sub: 'x'.repeat(256) } }), 'could not'],
    ['it is signed by another key', () => ({ isForged: true }), 'could not'],
    ['it is unsigned', () => ({ header: { alg: 'none' } }), 'could not'],
    ['it is signed by a shared secret', () => ({ header: { alg: 'HS256' } }), 'could not'],
    ['its key is not published', () => ({ header: { kid: 'k9' } }), 'could not'],
    [
      'there is no ID token',
      () => ({ token: () => Response.json({ access_token: 'a', token_type: 'Bearer' }) }),
      'could not',
    ],
    [
      'the code is refused',
      () => ({ token: () => Response.json({ error: 'invalid_grant' }, { status: 400 }) }),
      'could not',
    ],
    [
      'the token response is HTML',
      () => ({ token: () => new Response('<h1>hi</h1>') }),
      'could not',
    ],
    [
      'the token response is too long',
      () => ({ token: () => new Response('x'.repeat(600_000)) }),
      'could not',
    ],
    [
      'the token endpoint redirects',
      () => ({ token: () => Response.redirect('http://127.0.0.1:1/', 307) }),
      'could not',
    ],
  ])('%s', async (_what, behaviour, words) => {
    const { deps, issuer } = await open({}, behaviour(), ['example.org'])
    await deps.withVerified(EMAIL)
    const page = await roundTrip(deps, issuer)
    expect([page.status, isSignedIn(page)]).toEqual([400, false])
    expect(page.text).toContain(`Example SSO ${words}`)
    // In every case the page says what to do next, and neither page nor log contains a secret.
    expect(page.text).toContain('name="email"')
    const said = page.text + deps.faults.map((fault) => Bun.inspect(fault)).join()
    expect(said).not.toMatch(/canary|code-1/)
    expect(page.text).not.toContain('.ts:')
    expect(await deps.store.identities.countPeople(issuer.url)).toBe(0)
    issuer.behaviour = {}
    expect(isSignedIn(await roundTrip(deps, issuer))).toBe(true)
  })

  test('it takes too long', async () => {
    const late = Promise.withResolvers<Response>()
    const { deps, issuer } = await open({ totalMs: 150 }, { token: () => late.promise })
    const page = await roundTrip(deps, issuer)
    late.resolve(new Response())
    expect(page.text).toContain('Example SSO could not be reached')
    expect(String(deps.faults[0])).toContain('127.0.0.1')
  })
})

describe('the browser is not sent to the identity provider when', () => {
  test.each<[string, Behaviour]>([
    ['its metadata names another issuer', { metadata: { issuer: 'https://evil.example' } }],
    [
      'its authorization endpoint is http',
      { metadata: { authorization_endpoint: 'http://evil.example/a' } },
    ],
    [
      'its authorization endpoint is a javascript: URL',
      { metadata: { authorization_endpoint: 'javascript:alert(1)' } },
    ],
    ['its token endpoint is http', { metadata: { token_endpoint: 'http://evil.example/t' } }],
    ['its keys are at an http address', { metadata: { jwks_uri: 'http://evil.example/j' } }],
    ['it names no keys', { metadata: { jwks_uri: undefined } }],
    [
      'its metadata endpoint redirects',
      { discovery: () => Response.redirect('http://127.0.0.1:1/', 302) },
    ],
    [
      'its metadata is not valid JSON',
      { discovery: () => new Response('{', { headers: { 'content-type': 'application/json' } }) },
    ],
    ['its metadata endpoint answers 503', { discovery: () => new Response(null, { status: 503 }) }],
  ])('%s', async (_what, behaviour) => {
    const { deps, issuer } = await open({}, behaviour)
    const browser = deps.browser()
    const page = await browser.submit(await deps.start(browser), '/identity/sso', {})
    expect(page.status).toBe(400)
    expect(page.text).toContain('Example SSO could not be reached')
    expect(deps.faults).toHaveLength(1)
    issuer.behaviour = {}
    expect(await pressButton(deps, browser)).toContain(`${issuer.url}/authorize?`)
  })

  test('its issuer differs by a trailing slash', async () => {
    const deps = await openTestSignin()
    const issuer = startIssuer()
    await deps.add(`${issuer.url}/`)
    const browser = deps.browser()
    const page = await browser.submit(await deps.start(browser), '/identity/sso', {})
    expect(page.status).toBe(400)
    expect(String(deps.faults[0])).toContain('another issuer')
  })

  test('it cannot be reached', async () => {
    const { deps, issuer } = await open()
    await issuer.close()
    const browser = deps.browser()
    const page = await browser.submit(await deps.start(browser), '/identity/sso', {})
    expect(page.text).toContain('Example SSO could not be reached')
  })

  test('it is on this machine over http, and the gateway is not', async () => {
    const { deps, issuer } = await open({ issuer: 'https://auth.example.org' })
    const browser = deps.browser()
    const page = await browser.submit(await deps.start(browser), '/identity/sso', {})
    expect(page.status).toBe(400)
    expect(issuer.asked).toEqual([])
  })

  test('no button names it', async () => {
    const { deps } = await open()
    const browser = deps.browser()
    const page = await deps.start(browser)
    const strange = await browser.open(`${page.url}/identity/other`, {
      method: 'POST',
      headers: { origin: ISSUER },
    })
    expect([strange.status, strange.headers.get('location')]).toEqual([400, null])
    expect(strange.text).toContain('no longer offered')
  })
})

describe('the callback', () => {
  test('has a state, nonce and PKCE challenge of its own for each interaction, and works in no other browser', async () => {
    const { deps, issuer } = await open()
    const one = new URL(await pressButton(deps, deps.browser()))
    const other = new URL(await pressButton(deps, deps.browser()))
    const sent = Object.fromEntries(one.searchParams)
    expect(sent).toEqual({
      response_type: 'code',
      client_id: 'gateway',
      redirect_uri: `${ISSUER}/identity/sso/callback`,
      scope: 'openid email profile',
      state: expect.stringMatching(/^[\w-]{21,}\.[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    })
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(other.searchParams.get(name)).not.toBe(sent[name])
    }
    await deps.browser().open(issuer.consent(one.href))
    expect(issuer.redeemed).toEqual([])
  })

  test.each([
    [{ prompt: 'login' }, 'login'],
    [{ prompt: 'login consent' }, 'login'],
    [{ max_age: '600' }, 'login'],
    [{ prompt: 'consent' }, null],
  ])(
    'where the application sends prompt %j, the identity provider is sent %s',
    async (more, prompt) => {
      const { deps } = await open()
      const browser = deps.browser()
      const page = await deps.start(browser, more)
      const address = new URL(onwardFrom(await browser.submit(page, '/identity/sso', {})))
      expect(address.searchParams.get('prompt')).toBe(prompt)
    },
  )

  test('works only in the browser that started it, even with the whole callback address', async () => {
    const { deps, issuer } = await open({}, {}, ['example.org'])
    await deps.withVerified(EMAIL)
    const browser = deps.browser()
    const back = issuer.consent(await pressButton(deps, browser))
    const thief = deps.browser()
    expect((await thief.open(back)).status).toBe(403)
    // Not with an interaction of its own either.
    await deps.start(thief)
    expect((await thief.open(back)).status).toBe(403)
    expect(issuer.redeemed).toEqual([])
    expect(isSignedIn(await browser.open(back))).toBe(true)
  })

  test('works once', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const back = issuer.consent(await pressButton(deps, browser))
    expect((await browser.open(back)).status).toBe(200)
    const replay = await browser.open(back)
    expect(replay.status).toBe(400)
    expect(replay.text).toContain('Example SSO did not sign you in')
    expect(issuer.redeemed).toHaveLength(1)
  })

  test('works once for many concurrent requests', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const back = issuer.consent(await pressButton(deps, browser))
    const pages = await Promise.all(Array.from({ length: 20 }, () => browser.open(back)))
    expect(pages.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(issuer.redeemed).toHaveLength(1)
  })

  test.each<[string, (back: URL) => void]>([
    ['no state', (back) => back.searchParams.delete('state')],
    ['an unknown state', (back) => back.searchParams.set('state', 'x')],
    ['a path as its state', (back) => back.searchParams.set('state', `../../${'x'.repeat(43)}`)],
    [
      'no name',
      (back) => {
        back.pathname = '/identity/%2e%2e/callback'
      },
    ],
  ])('with %s is refused', async (_what, spoil) => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const back = new URL(issuer.consent(await pressButton(deps, browser)))
    spoil(back)
    const page = await browser.open(back.href)
    expect([400, 404]).toContain(page.status)
    expect(isSignedIn(page)).toBe(false)
    expect(issuer.redeemed).toEqual([])
  })

  test('with a state that has the right interaction and a wrong secret is refused', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const back = new URL(issuer.consent(await pressButton(deps, browser)))
    const uid = back.searchParams.get('state')?.split('.')[0]
    back.searchParams.set('state', `${uid}.${'x'.repeat(43)}`)
    const page = await browser.open(back.href)
    expect(page.status).toBe(400)
    expect(page.text).toContain('did not sign you in')
    expect(issuer.redeemed).toEqual([])
  })

  test('expires when the next one begins, and after an hour', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const page = await deps.start(browser)
    const leaveAgain = async () => onwardFrom(await browser.submit(page, '/identity/sso', {}))
    const [first, second] = [await leaveAgain(), await leaveAgain()]
    expect((await browser.open(issuer.consent(first))).status).toBe(400)
    deps.clock.advance(60 * MINUTE_MS)
    expect((await browser.open(issuer.consent(second))).status).toBe(400)
    expect(issuer.redeemed).toEqual([])
  })

  test('of one identity provider is refused at the address of another (mix-up)', async () => {
    const { deps, issuer } = await open()
    const evil = startIssuer()
    await deps.add(evil.url, { name: 'evil', label: 'Evil' })
    const browser = deps.browser()
    const back = new URL(issuer.consent(await pressButton(deps, browser)))
    back.pathname = '/identity/evil/callback'
    const page = await browser.open(back.href)
    expect(page.status).toBe(400)
    expect([issuer.redeemed, evil.redeemed]).toEqual([[], []])
  })

  test('with a stolen code of the right issuer, in another interaction, is refused', async () => {
    const { deps, issuer } = await open({}, {}, ['example.org'])
    await deps.withVerified(EMAIL)
    const victim = new URL(issuer.consent(await pressButton(deps, deps.browser())))
    const thief = deps.browser()
    const own = new URL(issuer.consent(await pressButton(deps, thief)))
    own.searchParams.set('code', victim.searchParams.get('code') ?? '')
    const page = await thief.open(own.href)
    expect([page.status, isSignedIn(page)]).toEqual([400, false])
  })

  test("is reached only by a button on the provider's own page", async () => {
    const { deps } = await open()
    const browser = deps.browser()
    const page = await deps.start(browser)
    for (const origin of ['https://evil.example', 'null']) {
      const forged = await browser.open(`${page.url}/identity/sso`, {
        method: 'POST',
        headers: { origin },
      })
      expect(forged.status).toBe(403)
    }
    expect((await browser.open(`${page.url}/identity/sso`)).url).toBe(page.url)
  })
})

describe('an identity provider that the operator removes', () => {
  test('while a person is there no longer works when they return', async () => {
    const { deps, issuer } = await open({}, {}, ['example.org'])
    await deps.withVerified(EMAIL)
    const browser = deps.browser()
    const back = issuer.consent(await pressButton(deps, browser))
    await deps.store.identityProviders.remove('sso', anAct())
    const page = await browser.open(back)
    expect([page.status, isSignedIn(page)]).toEqual([400, false])
    expect(page.text).toContain('no longer offered')
    expect(page.text).not.toContain('/identity/sso')
    await deps.add(issuer.url)
    expect(isSignedIn(await browser.open(back))).toBe(false)
    expect(issuer.redeemed).toEqual([])
  })

  test('while it is queried no longer works when it answers', async () => {
    const { deps, issuer } = await open({}, {}, ['example.org'])
    await deps.withVerified(EMAIL)
    const asked = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<undefined>()
    issuer.behaviour = {
      token: () => {
        asked.resolve()
        return gone.promise as unknown as Promise<Response>
      },
    }
    const coming = roundTrip(deps, issuer)
    await asked.promise
    await deps.store.identityProviders.remove('sso', anAct())
    gone.resolve(undefined)
    const page = await coming
    expect([page.status, isSignedIn(page)]).toEqual([400, false])
    expect(page.text).toContain('no longer offered')
  })

  test('while an address is being confirmed is not linked; the person is signed in by the code', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const page = await roundTrip(deps, issuer, browser)
    const asked = await browser.submit(page, '/email', { email: EMAIL })
    await deps.store.identityProviders.remove('sso', anAct())
    await deps.add(issuer.url)
    const back = await browser.submit(asked, '/code', { code: deps.mailedCodes.get(EMAIL) ?? '' })
    expect(isSignedIn(back)).toBe(true)
    expect(await deps.store.identities.countPeople(issuer.url)).toBe(0)
  })
})

test('a network may start a hundred of these sign-ins in ten minutes, which bounds the requests sent to identity providers', async () => {
  const { deps, issuer } = await open()
  const browser = deps.browser()
  const page = await deps.start(browser)
  const press = () => browser.submit(page, '/identity/sso', {})
  for (let n = 0; n < 100; n++) expect((await press()).status).toBe(200)
  const late = await press()
  expect([late.status, late.headers.get('retry-after')]).toEqual([429, '600'])
  expect(issuer.asked).toEqual(['GET /.well-known/openid-configuration'])
  deps.clock.advance(10 * MINUTE_MS)
  expect((await press()).status).toBe(200)
})

test('expired state is deleted', async () => {
  const { deps, issuer } = await open()
  await roundTrip(deps, issuer)
  await deps.store.detours.sweep(later(deps.clock.now(), 61 * MINUTE_MS), 9)
  expect(deps.faults).toEqual([])
})

test("buttons are in the configured order, with the operator's labels, escaped", async () => {
  const { deps, issuer } = await open()
  await deps.add(`${issuer.url}/two`, { name: 'two', label: '<b>Two</b>' })
  const { text } = await deps.start(deps.browser())
  const labels = [...text.matchAll(/Continue with ([^<]*)</g)].map(([, label]) => label)
  expect(labels).toEqual(['Example SSO', '&lt;b&gt;Two&lt;/b&gt;'])
})
