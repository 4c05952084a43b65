// Who may sign up, and who may enter which application: at its door, with its tokens, and from the moment that it changes.

import { describe, expect, test } from 'vitest'
import { mayEnter, maySignUp, readAccessRule } from '#signin/register/access.ts'
import { anAct } from '#test/support/nouns.ts'
import { addressFor, isSignedIn, openTestSignin, REDIRECT } from './identities/test-signin.ts'

const ANN = 'ann@example.org'

test('rules have one spelling, and fit a whole address, a whole domain or a group', () => {
  expect(['staff', '@Example.ORG', 'Ann@Example.org'].map(readAccessRule)).toEqual([
    'staff',
    '@example.org',
    'Ann@example.org',
  ])
  for (const no of ['', '@', '*', 'Staff', 'a b', '@*.org', 'x@', '@a@b.org', 'staff\n', '-x']) {
    expect([no, readAccessRule(no)]).toEqual([no, undefined])
  }
  const enters = (email: string, groups: readonly string[] = []) =>
    mayEnter(['staff', '@example.org', 'Bob@other.example'], {
      email,
      isEmailVerified: true,
      groups,
    })
  expect(['ann@EXAMPLE.org', 'bob@other.example'].map((email) => enters(email))).toEqual([
    true,
    true,
  ])
  expect(enters('x@other.example', ['staff'])).toBe(true)
  for (const no of [
    'x@sub.example.org',
    'x@notexample.org',
    'bob@other.example.org',
    'staff@x.y',
  ]) {
    expect([no, enters(no)]).toEqual([no, false])
  }
  expect([maySignUp('open', ANN), maySignUp([], ANN), maySignUp(['@example.org'], ANN)]).toEqual([
    true,
    false,
    true,
  ])
})

test('with domains to sign up from, others are mailed that they are not known, and the page is the same', async () => {
  const deps = await openTestSignin({ signup: ['@example.org'] })
  const look = async (email: string) => {
    const browser = deps.browser()
    const page = await browser.submit(await deps.start(browser), '/email', { email })
    return page.text.replaceAll(email, 'EMAIL').replace(/\/sign-in\/[\w-]+/g, '')
  }
  expect(await look('eve@example.org.evil.example')).toBe(await look('new@example.org'))
  expect([...deps.mailedCodes.keys()]).toEqual(['new@example.org'])
  const browser = deps.browser()
  expect(isSignedIn(await deps.byCode(browser, await deps.start(browser), ANN))).toBe(true)
})

test('an address that nobody has proved opens nothing, until a code to it is typed', async () => {
  const deps = await openTestSignin()
  await deps.register('docs')
  await deps.store.clients.amend('wiki', { access: ['@corp.example'] }, anAct())
  const browser = deps.browser()
  await deps.byCode(browser, await deps.start(browser, { client_id: 'docs' }), ANN)
  const ann = await deps.store.people.findByEmail(ANN)
  await deps.store.people.amend(ann?.id ?? 'usr_', { email: 'boss@corp.example' }, anAct())
  expect(isSignedIn(await deps.start(browser, { client_id: 'docs' }))).toBe(true)
  const page = await deps.start(browser)
  expect([page.status, page.text]).toMatchObject([403, expect.stringContaining('with a code')])
  await deps.store.groups.add('staff', ann?.id ?? 'usr_', null, anAct())
  await deps.store.clients.amend('wiki', { access: ['@corp.example', 'staff'] }, anAct())
  expect(isSignedIn(await deps.start(browser))).toBe(true)
  await deps.store.clients.amend('wiki', { access: ['@corp.example'] }, anAct())

  const again = await browser.submit(await deps.start(browser), '/restart', {})
  const proved = await deps.byCode(browser, again, 'boss@corp.example')
  expect(isSignedIn(proved)).toBe(true)
  expect(await deps.store.people.findByEmail('boss@corp.example')).toMatchObject({
    id: ann?.id,
    isEmailVerified: true,
  })
})

describe('an application that is open to a group', () => {
  async function open(contact?: string) {
    const deps = await openTestSignin({ ...(contact && { contact }) })
    await deps.store.clients.amend('wiki', { access: ['staff'] }, anAct())
    const ann = await deps.withVerified(ANN)
    const join = () => deps.store.groups.add('staff', ann.id, null, anAct())
    const leave = () => deps.store.groups.remove('staff', ann.id, anAct())
    return { ...deps, ann, join, leave }
  }

  test('refuses others with a page that says whom to ask; they go back, or sign in as somebody else', async () => {
    const deps = await open('Jane <it@example.org>')
    const browser = deps.browser()
    const page = await deps.byCode(browser, await deps.start(browser, { state: 's1' }), ANN)
    expect(page.status).toBe(403)
    expect(page.text).toContain('You cannot open')
    expect(page.text).toContain('Jane &lt;it@example.org&gt;')
    expect(page.text).toContain(ANN)
    const back = new URL((await browser.submit(page, '/leave', {})).url)
    expect(back.href.startsWith(REDIRECT)).toBe(true)
    expect([...back.searchParams.keys()].sort()).toEqual([
      'error',
      'error_description',
      'iss',
      'state',
    ])
    expect(back.searchParams.get('error')).toBe('access_denied')

    const silent = await deps.start(browser, { prompt: 'none' })
    expect(new URL(silent.url).searchParams.get('error')).toBe('access_denied')

    const bob = await deps.withVerified('bob@example.org')
    await deps.store.groups.add('staff', bob.id, null, anAct())
    const again = await browser.submit(await deps.start(browser), '/restart', {})
    const leaving = await deps.byCode(browser, again, 'bob@example.org')
    expect(isSignedIn(await browser.submit(leaving, '/oauth/logout/confirm', {}))).toBe(true)
    expect((await deps.store.events.list({ limit: 99, outcome: 'not_allowed' })).length).toBe(3)
    expect(deps.faults).toEqual([])
  })

  test('tells nobody before they have signed in, and takes forms only from its own pages', async () => {
    const deps = await open()
    const browser = deps.browser()
    const first = await deps.start(browser)
    expect(first.text).not.toContain('You cannot open')
    const page = await deps.byCode(browser, first, ANN)
    for (const step of ['leave', 'restart']) {
      const forged = await deps.ask(`${page.url}/${step}`, {
        method: 'POST',
        headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      })
      expect(forged.status).toBe(403)
    }
  })

  test('lets its people in, and its tokens end with their membership', async () => {
    const deps = await open()
    await deps.join()
    const browser = deps.browser()
    const verifier = 'a-verifier-that-is-long-enough-to-be-one-0123456789'
    const challenge = new Bun.CryptoHasher('sha256').update(verifier).digest('base64url')
    const asked = {
      code_challenge: challenge,
      scope: 'openid groups offline_access',
      prompt: 'consent',
    }
    const consent = await deps.byCode(browser, await browser.open(addressFor(asked)), ANN)
    expect(consent.text).toContain('the groups that you belong to')
    const back = await browser.submit(consent, '/consent', { decision: 'allow' })
    const token = (fields: Readonly<Record<string, string>>) =>
      deps.ask('http://127.0.0.1:4141/oauth/token', {
        method: 'POST',
        body: new URLSearchParams({ client_id: 'wiki', client_secret: 'secret', ...fields }),
      })
    const answer = await token({
      grant_type: 'authorization_code',
      code: new URL(back.url).searchParams.get('code') ?? '',
      code_verifier: verifier,
    })
    const { id_token, access_token, refresh_token } = (await answer.json()) as Record<
      string,
      string
    >
    const claims = JSON.parse(Buffer.from(id_token?.split('.')[1] ?? '', 'base64url').toString())
    expect(claims).toMatchObject({ sub: deps.ann.id, groups: ['staff'] })
    const userinfo = () =>
      deps.ask('http://127.0.0.1:4141/oauth/userinfo', {
        headers: { authorization: `Bearer ${access_token}` },
      })
    expect(await (await userinfo()).json()).toEqual({ sub: deps.ann.id, groups: ['staff'] })
    await deps.leave()
    expect((await userinfo()).status).toBe(401)
    const refreshed = await token({
      grant_type: 'refresh_token',
      refresh_token: refresh_token ?? '',
    })
    expect([refreshed.status, await refreshed.json()]).toMatchObject([
      400,
      { error: 'invalid_grant' },
    ])
    const [refusal] = await deps.store.events.list({ limit: 1, outcome: 'invalid_grant' })
    expect(refusal).toMatchObject({ personId: deps.ann.id, clientId: 'wiki' })
    expect((await deps.start(browser)).status).toBe(403)
    await deps.join()
    expect((await userinfo()).status).toBe(200)
    expect(isSignedIn(await deps.start(browser))).toBe(true)
  })

  test('is entered as soon as it is open to everybody, and other applications never close', async () => {
    const deps = await open()
    await deps.register('docs')
    const browser = deps.browser()
    await deps.byCode(browser, await deps.start(browser), ANN)
    expect(isSignedIn(await deps.start(browser, { client_id: 'docs' }))).toBe(true)
    await deps.store.clients.amend('wiki', { access: 'everybody' }, anAct())
    expect(isSignedIn(await deps.start(browser))).toBe(true)
  })
})
