// The way to a third party and back: who is let in by it, who must prove an address first, and whatever is refused on it.
import { describe, expect, onTestFinished, test } from 'vitest'
import { later, MINUTE_MS } from '#domain/clock.ts'
import type { Browser, Page } from '#test/acceptance/signin/browser.ts'
import { type Issuer, type Manners, openIssuer } from '#test/support/third-party.ts'
import {
  ISSUER,
  isSignedIn,
  onwardFrom,
  openTestGateway,
  type TestGateway,
  type Wishes,
} from './stand.ts'

const EMAIL = 'ann@example.org'

function startIssuer(manners: Manners = {}): Issuer {
  const issuer = openIssuer()
  issuer.manners = manners
  onTestFinished(() => issuer.close())
  return issuer
}

async function open(wishes: Wishes = {}, manners: Manners = {}, authoritativeFor: string[] = []) {
  const deps = await openTestGateway(wishes)
  const issuer = startIssuer(manners)
  await deps.add(issuer.url, { authoritativeFor })
  return { deps, issuer }
}

/** Presses the button, and answers where the browser then goes. */
async function leave(deps: TestGateway, browser: Browser, name = 'sso'): Promise<string> {
  const page = await deps.start(browser)
  return onwardFrom(await browser.submit(page, `/identity/${name}`, {}))
}

/** There and back again. */
async function context(deps: TestGateway, issuer: Issuer, browser = deps.browser()): Promise<Page> {
  return browser.open(issuer.consent(await leave(deps, browser)))
}

describe('who comes back', () => {
  test('for the first time proves an address by a code; from then on the third party is enough', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const asked = await context(deps, issuer, browser)
    expect(asked.status).toBe(200)
    expect(asked.url).toMatch(/\/sign-in\/[\w-]+$/)
    expect(asked.text).toContain('You have not come by Example SSO before.')
    expect(asked.text).toContain(`value="${EMAIL}"`)
    expect(await deps.store.people.count()).toBe(0)
    expect(isSignedIn(await deps.byCode(browser, asked, EMAIL))).toBe(true)
    const ann = await deps.store.people.findByEmail(EMAIL)
    expect(isSignedIn(await context(deps, issuer))).toBe(true)
    expect(deps.told.size).toBe(1)
    expect(await deps.store.identities.ofPerson(ann?.id ?? 'usr_')).toMatchObject([
      { issuer: issuer.url, subject: 's-1', claimedName: EMAIL },
    ])
    expect(deps.faults).toEqual([])
  })

  test('is known by issuer and subject: another subject with the same address is a stranger', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    await deps.byCode(browser, await context(deps, issuer, browser), EMAIL)
    issuer.manners = { claims: { sub: 's-2' } }
    expect(isSignedIn(await context(deps, issuer))).toBe(false)
    issuer.manners = { claims: { email: 'renamed@example.org', email_verified: false } }
    expect(isSignedIn(await context(deps, issuer))).toBe(true)
    expect(await deps.store.people.count()).toBe(1)
  })

  test('may prove another address than the one that was told, and it is that person who is linked', async () => {
    const { deps, issuer } = await open()
    const work = await deps.proved('ann@work.example')
    const browser = deps.browser()
    const page = await context(deps, issuer, browser)
    expect(isSignedIn(await deps.byCode(browser, page, 'ann@work.example'))).toBe(true)
    expect(await deps.store.identities.ofPerson(work.id)).toHaveLength(1)
    expect(await deps.store.people.findByEmail(EMAIL)).toBeUndefined()
  })

  test('proves the address by a code that says what it opens: one that was sent before holds no more', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const page = await deps.start(browser)
    const asked = await browser.submit(page, '/email', { email: EMAIL })
    const before = deps.told.get(EMAIL) ?? ''
    const away = onwardFrom(await browser.submit(page, '/identity/sso', {}))
    const back = await browser.open(issuer.consent(away))
    expect(back.text).toContain('You have not come by Example SSO before.')
    expect(isSignedIn(await browser.submit(asked, '/code', { code: before }))).toBe(false)
    expect(isSignedIn(await deps.byCode(browser, back, EMAIL))).toBe(true)
  })

  test('and then chooses another address after all is linked to nobody', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const page = await context(deps, issuer, browser)
    const asked = await browser.submit(page, '/email', { email: EMAIL })
    const again = await browser.submit(asked, '/restart', {})
    expect(again.text).not.toContain('You have not come by')
    expect(isSignedIn(await deps.byCode(browser, again, EMAIL))).toBe(true)
    expect(await deps.store.identities.countPeople(issuer.url)).toBe(0)
  })

  test('is asked for nothing where the third party has the last word on a proved address', async () => {
    const { deps, issuer } = await open({}, {}, ['example.org'])
    const ann = await deps.proved(EMAIL)
    expect(isSignedIn(await context(deps, issuer))).toBe(true)
    expect(await deps.store.identities.ofPerson(ann.id)).toHaveLength(1)
  })

  test.each<[string, Manners, string[], string]>([
    ['it has no last word on the domain', {}, ['example.com'], EMAIL],
    [
      'it does not stand by the address',
      { claims: { email_verified: false } },
      ['example.org'],
      EMAIL,
    ],
    ['it says so in a text', { claims: { email_verified: 'true' } }, ['example.org'], EMAIL],
    ['it says nothing of it', { claims: { email_verified: undefined } }, ['example.org'], EMAIL],
    ['it tells no address', { claims: { email: undefined } }, ['example.org'], EMAIL],
    ['the address is none', { claims: { email: 'ann@example.org\nx' } }, ['example.org'], EMAIL],
    [
      'the domain merely ends alike',
      { claims: { email: 'ann@x.example.org' } },
      ['example.org'],
      'ann@x.example.org',
    ],
  ])('proves the address once more where %s', async (_why, manners, domains, email) => {
    const { deps, issuer } = await open({}, manners, domains)
    const ann = await deps.proved(email)
    const page = await context(deps, issuer)
    expect(isSignedIn(page)).toBe(false)
    expect(page.text).toContain('name="email"')
    expect(await deps.store.identities.ofPerson(ann.id)).toEqual([])
  })

  test('proves an address that the operator typed and nobody has proved yet', async () => {
    const { deps, issuer } = await open({ allowsSignup: false }, {}, ['example.org'])
    const at = deps.clock.now()
    const added = {
      ...(await deps.proved('x@example.org')),
      id: 'usr_added',
      email: EMAIL,
    } as const
    await deps.store.people.add({ ...added, isEmailVerified: false, createdAt: at })
    const browser = deps.browser()
    const page = await context(deps, issuer, browser)
    expect(page.text).toContain('name="email"')
    expect(isSignedIn(await deps.byCode(browser, page, EMAIL))).toBe(true)
    expect(isSignedIn(await context(deps, issuer))).toBe(true)
  })

  test('and is nobody here stays out where nobody may join, and is told by mail alone', async () => {
    const { deps, issuer } = await open({ allowsSignup: false }, {}, ['example.org'])
    const browser = deps.browser()
    const page = await context(deps, issuer, browser)
    const asked = await browser.submit(page, '/email', { email: EMAIL })
    expect(asked.text).toContain('name="code"')
    expect(deps.told.size).toBe(0)
    expect(await deps.store.people.count()).toBe(0)
  })

  test('where no code can be sent is told to ask', async () => {
    const { deps, issuer } = await open({ post: { kind: 'none' } })
    const page = await context(deps, issuer)
    expect(page.text).toContain(
      'The identity that Example SSO reported does not belong to anybody here.',
    )
    expect(page.text).toContain('/identity/sso')
    expect(page.text).not.toContain('name="email"')
  })

  test('and is disabled sees so, whichever way they come', async () => {
    const { deps, issuer } = await open({}, {}, ['example.org'])
    const ann = await deps.proved(EMAIL)
    await context(deps, issuer)
    await deps.store.people.setDisabled(ann.id, deps.clock.now())
    for (const claims of [{}, { sub: 's-9' }]) {
      issuer.manners = { claims }
      const page = await context(deps, issuer)
      expect([page.status, isSignedIn(page)]).toEqual([403, false])
      expect(page.text).toContain('You cannot sign in')
    }
    expect(await deps.store.identities.ofPerson(ann.id)).toHaveLength(1)
  })

  test('is asked for at the userinfo endpoint where the ID token has no address; for that very subject', async () => {
    const { deps, issuer } = await open(
      {},
      {
        claims: { email: undefined, email_verified: undefined },
        userinfo: { email: EMAIL, email_verified: true },
      },
      ['example.org'],
    )
    await deps.proved(EMAIL)
    expect(isSignedIn(await context(deps, issuer))).toBe(true)
    issuer.manners = {
      ...issuer.manners,
      userinfo: { sub: 's-other', email: EMAIL, email_verified: true },
    }
    const page = await context(deps, issuer)
    expect([page.status, isSignedIn(page)]).toEqual([400, false])
  })
})

describe('what the third party answers is refused, in plain words, when', () => {
  const now = (): number => Math.floor(Date.now() / 1000)

  test.each<[string, () => Manners, string]>([
    [
      'the person says no',
      () => ({ answer: { code: null, error: 'access_denied' } }),
      'did not sign you in',
    ],
    [
      'another issuer answers',
      () => ({ answer: { iss: 'https://evil.example' } }),
      'could not be reached',
    ],
    ['it does not say who answers', () => ({ answer: { iss: null } }), 'could not be reached'],
    [
      'the ID token is of another issuer',
      () => ({ claims: { iss: 'https://evil.example' } }),
      'could not',
    ],
    ['the nonce is another', () => ({ claims: { nonce: 'another' } }), 'could not'],
    ['there is no nonce', () => ({ claims: { nonce: undefined } }), 'could not'],
    ['the ID token is for another client', () => ({ claims: { aud: 'another' } }), 'could not'],
    [
      'it is for many, and not issued to us',
      () => ({ claims: { aud: ['gateway', 'x'], azp: 'x' } }),
      'could not',
    ],
    ['it has expired', () => ({ claims: { exp: now() - 120, iat: now() - 600 } }), 'could not'],
    ['it never expires', () => ({ claims: { exp: undefined } }), 'could not'],
    ['it has no subject', () => ({ claims: { sub: undefined } }), 'could not'],
    ['its subject is without end', () => ({ claims: { sub: 'x'.repeat(256) } }), 'could not'],
    ['somebody else signed it', () => ({ isForged: true }), 'could not'],
    ['nobody signed it', () => ({ header: { alg: 'none' } }), 'could not'],
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
    ['it answers in HTML', () => ({ token: () => new Response('<h1>hi</h1>') }), 'could not'],
    [
      'it answers without end',
      () => ({ token: () => new Response('x'.repeat(600_000)) }),
      'could not',
    ],
    [
      'it redirects',
      () => ({ token: () => Response.redirect('http://127.0.0.1:1/', 307) }),
      'could not',
    ],
  ])('%s', async (_what, manners, words) => {
    const { deps, issuer } = await open({}, manners(), ['example.org'])
    await deps.proved(EMAIL)
    const page = await context(deps, issuer)
    expect([page.status, isSignedIn(page)]).toEqual([400, false])
    expect(page.text).toContain(`Example SSO ${words}`)
    // Whatever went wrong, the page says how to go on, and neither page nor log repeats a secret.
    expect(page.text).toContain('name="email"')
    const said = page.text + deps.faults.map((fault) => Bun.inspect(fault)).join()
    expect(said).not.toMatch(/canary|code-1/)
    expect(page.text).not.toContain('.ts:')
    expect(await deps.store.identities.countPeople(issuer.url)).toBe(0)
    issuer.manners = {}
    expect(isSignedIn(await context(deps, issuer))).toBe(true)
  })

  test('it takes too long', async () => {
    const late = Promise.withResolvers<Response>()
    const { deps, issuer } = await open({ totalMs: 150 }, { token: () => late.promise })
    const page = await context(deps, issuer)
    late.resolve(new Response())
    expect(page.text).toContain('Example SSO could not be reached')
    expect(String(deps.faults[0])).toContain('127.0.0.1')
  })
})

describe('nobody is even sent there when', () => {
  test.each<[string, Manners]>([
    ['it calls itself otherwise', { metadata: { issuer: 'https://evil.example' } }],
    [
      'it leads people into clear text',
      { metadata: { authorization_endpoint: 'http://evil.example/a' } },
    ],
    [
      'it leads people to a script',
      { metadata: { authorization_endpoint: 'javascript:alert(1)' } },
    ],
    ['codes would travel in clear text', { metadata: { token_endpoint: 'http://evil.example/t' } }],
    ['its keys would come in clear text', { metadata: { jwks_uri: 'http://evil.example/j' } }],
    ['it has no keys', { metadata: { jwks_uri: undefined } }],
    [
      'its metadata is elsewhere',
      { discovery: () => Response.redirect('http://127.0.0.1:1/', 302) },
    ],
    [
      'its metadata is broken',
      { discovery: () => new Response('{', { headers: { 'content-type': 'application/json' } }) },
    ],
    ['it is out of order', { discovery: () => new Response(null, { status: 503 }) }],
  ])('%s', async (_what, manners) => {
    const { deps, issuer } = await open({}, manners)
    const browser = deps.browser()
    const page = await browser.submit(await deps.start(browser), '/identity/sso', {})
    expect(page.status).toBe(400)
    expect(page.text).toContain('Example SSO could not be reached')
    expect(deps.faults).toHaveLength(1)
    issuer.manners = {}
    expect(await leave(deps, browser)).toContain(`${issuer.url}/authorize?`)
  })

  test('its name differs by a slash, which an address would forgive', async () => {
    const deps = await openTestGateway()
    const issuer = startIssuer()
    await deps.add(`${issuer.url}/`)
    const browser = deps.browser()
    const page = await browser.submit(await deps.start(browser), '/identity/sso', {})
    expect(page.status).toBe(400)
    expect(String(deps.faults[0])).toContain('another issuer')
  })

  test('nobody is there', async () => {
    const { deps, issuer } = await open()
    await issuer.close()
    const browser = deps.browser()
    const page = await browser.submit(await deps.start(browser), '/identity/sso', {})
    expect(page.text).toContain('Example SSO could not be reached')
  })

  test('it is on this machine in clear text, and we are not', async () => {
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

describe('the way back', () => {
  test('carries state, nonce and a challenge that are of this interaction alone, and nothing of it is kept', async () => {
    const { deps, issuer } = await open()
    const one = new URL(await leave(deps, deps.browser()))
    const other = new URL(await leave(deps, deps.browser()))
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
  ])('where the application says %j, the third party is asked for %s', async (more, prompt) => {
    const { deps } = await open()
    const browser = deps.browser()
    const page = await deps.start(browser, more)
    const address = new URL(onwardFrom(await browser.submit(page, '/identity/sso', {})))
    expect(address.searchParams.get('prompt')).toBe(prompt)
  })

  test('is the browser’s that left: another one, with the whole address, gets nowhere', async () => {
    const { deps, issuer } = await open({}, {}, ['example.org'])
    await deps.proved(EMAIL)
    const browser = deps.browser()
    const back = issuer.consent(await leave(deps, browser))
    const thief = deps.browser()
    expect((await thief.open(back)).status).toBe(403)
    // Nor with an interaction of its own.
    await deps.start(thief)
    expect((await thief.open(back)).status).toBe(403)
    expect(issuer.redeemed).toEqual([])
    expect(isSignedIn(await browser.open(back))).toBe(true)
  })

  test('is gone once', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const back = issuer.consent(await leave(deps, browser))
    expect((await browser.open(back)).status).toBe(200)
    const replay = await browser.open(back)
    expect(replay.status).toBe(400)
    expect(replay.text).toContain('Example SSO did not sign you in')
    expect(issuer.redeemed).toHaveLength(1)
  })

  test('is gone once by however many at once', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const back = issuer.consent(await leave(deps, browser))
    const pages = await Promise.all(Array.from({ length: 20 }, () => browser.open(back)))
    expect(pages.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(issuer.redeemed).toHaveLength(1)
  })

  test.each<[string, (back: URL) => void]>([
    ['no state', (back) => back.searchParams.delete('state')],
    ['a state of nobody', (back) => back.searchParams.set('state', 'x')],
    ['a path for a state', (back) => back.searchParams.set('state', `../../${'x'.repeat(43)}`)],
    [
      'no name',
      (back) => {
        back.pathname = '/identity/%2e%2e/callback'
      },
    ],
  ])('with %s leads nowhere', async (_what, spoil) => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const back = new URL(issuer.consent(await leave(deps, browser)))
    spoil(back)
    const page = await browser.open(back.href)
    expect([400, 404]).toContain(page.status)
    expect(isSignedIn(page)).toBe(false)
    expect(issuer.redeemed).toEqual([])
  })

  test('with the state of this interaction and another secret is refused', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const back = new URL(issuer.consent(await leave(deps, browser)))
    const uid = back.searchParams.get('state')?.split('.')[0]
    back.searchParams.set('state', `${uid}.${'x'.repeat(43)}`)
    const page = await browser.open(back.href)
    expect(page.status).toBe(400)
    expect(page.text).toContain('did not sign you in')
    expect(issuer.redeemed).toEqual([])
  })

  test('ends when the next one begins, and after an hour', async () => {
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

  test('of one third party is none of another: an answer that is brought to the wrong door is refused', async () => {
    const { deps, issuer } = await open()
    const evil = startIssuer()
    await deps.add(evil.url, { name: 'evil', label: 'Evil' })
    const browser = deps.browser()
    const back = new URL(issuer.consent(await leave(deps, browser)))
    back.pathname = '/identity/evil/callback'
    const page = await browser.open(back.href)
    expect(page.status).toBe(400)
    expect([issuer.redeemed, evil.redeemed]).toEqual([[], []])
  })

  test('a code of the right issuer that was stolen into another interaction is worth nothing', async () => {
    const { deps, issuer } = await open({}, {}, ['example.org'])
    await deps.proved(EMAIL)
    const victim = new URL(issuer.consent(await leave(deps, deps.browser())))
    const thief = deps.browser()
    const own = new URL(issuer.consent(await leave(deps, thief)))
    own.searchParams.set('code', victim.searchParams.get('code') ?? '')
    const page = await thief.open(own.href)
    expect([page.status, isSignedIn(page)]).toEqual([400, false])
  })

  test('the button must be pressed on our own page', async () => {
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

describe('a provider that the operator takes away', () => {
  test('while somebody is there works no more when they are back', async () => {
    const { deps, issuer } = await open({}, {}, ['example.org'])
    await deps.proved(EMAIL)
    const browser = deps.browser()
    const back = issuer.consent(await leave(deps, browser))
    await deps.store.identityProviders.remove('sso')
    const page = await browser.open(back)
    expect([page.status, isSignedIn(page)]).toEqual([400, false])
    expect(page.text).toContain('no longer offered')
    expect(page.text).not.toContain('/identity/sso')
    await deps.add(issuer.url)
    expect(isSignedIn(await browser.open(back))).toBe(false)
    expect(issuer.redeemed).toEqual([])
  })

  test('while it is asked works no more when it answers', async () => {
    const { deps, issuer } = await open({}, {}, ['example.org'])
    await deps.proved(EMAIL)
    const asked = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<undefined>()
    issuer.manners = {
      token: () => {
        asked.resolve()
        return gone.promise as unknown as Promise<Response>
      },
    }
    const coming = context(deps, issuer)
    await asked.promise
    await deps.store.identityProviders.remove('sso')
    gone.resolve(undefined)
    const page = await coming
    expect([page.status, isSignedIn(page)]).toEqual([400, false])
    expect(page.text).toContain('no longer offered')
  })

  test('while an address is being proved is linked no more; the person is in by the code', async () => {
    const { deps, issuer } = await open()
    const browser = deps.browser()
    const page = await context(deps, issuer, browser)
    const asked = await browser.submit(page, '/email', { email: EMAIL })
    await deps.store.identityProviders.remove('sso')
    await deps.add(issuer.url)
    const back = await browser.submit(asked, '/code', { code: deps.told.get(EMAIL) ?? '' })
    expect(isSignedIn(back)).toBe(true)
    expect(await deps.store.identities.countPeople(issuer.url)).toBe(0)
  })
})

test('a network begins a hundred ways there in ten minutes, so that nobody makes us ask without end', async () => {
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

test('what has expired is swept', async () => {
  const { deps, issuer } = await open()
  await context(deps, issuer)
  await deps.store.detours.sweep(later(deps.clock.now(), 61 * MINUTE_MS))
  expect(deps.faults).toEqual([])
})

test('its buttons stand in their order, by the names that the operator chose, escaped', async () => {
  const { deps, issuer } = await open()
  await deps.add(`${issuer.url}/two`, { name: 'two', label: '<b>Two</b>' })
  const { text } = await deps.start(deps.browser())
  const labels = [...text.matchAll(/Continue with ([^<]*)</g)].map(([, label]) => label)
  expect(labels).toEqual(['Example SSO', '&lt;b&gt;Two&lt;/b&gt;'])
})
