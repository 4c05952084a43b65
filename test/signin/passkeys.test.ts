// Passkeys against what a real device would never send: each answer is of a device in software, posted as the script posts it.
import { decodeJwt } from 'jose'
import { describe, expect, onTestFinished, test } from 'vitest'
import { HOUR_MS } from '#domain/clock.ts'
import { newPerson } from '#signin/register/person.ts'
import type { Browser, Page } from '#test/acceptance/signin/browser.ts'
import { anAct } from '#test/support/nouns.ts'
import {
  type PasskeyOptions,
  type SoftPasskey,
  softPasskey,
  type Twist,
} from '#test/support/soft-passkey.ts'
import { openIssuer } from '#test/support/third-party.ts'
import {
  isSignedIn,
  onwardFrom,
  openTestSignin,
  type TestSignin,
} from './identities/test-signin.ts'

const ISSUER = 'https://auth.example.org'
const ANN = 'ann@example.org'
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'

const open = (passkeys: 'off' | 'optional' | 'required' = 'optional') =>
  openTestSignin({ issuer: ISSUER, passkeys })

/** What the page's form passes to the device. */
function optionsOf({ text, url }: Page): PasskeyOptions {
  const written = /data-options="([^"]*)"/.exec(text)?.[1]
  if (written === undefined) throw new Error(`no form of ${url} asks for a passkey`)
  return JSON.parse(written.replaceAll('&quot;', '"')) as PasskeyOptions
}

const device = (): SoftPasskey => softPasskey(ISSUER)

const givePasskey = (browser: Browser, page: Page, passkey: SoftPasskey, twist?: Twist) =>
  browser.submit(page, '/passkey', { response: passkey.used(optionsOf(page), twist) })

const addPasskey = (browser: Browser, page: Page, passkey: SoftPasskey, twist?: Twist) =>
  browser.submit(page, '/new-passkey', { response: passkey.made(optionsOf(page), twist) })

/** Types an address and its code, in a browser that has passkeys. */
async function byCode(
  { mailedCodes }: TestSignin,
  browser: Browser,
  page: Page,
  email: string,
): Promise<Page> {
  const asked = await browser.submit(page, '/email', { email })
  return browser.submit(asked, '/code', { code: mailedCodes.get(email) ?? '', passkeys: 'yes' })
}

/** Signs up by a code, and adds a passkey when it is offered. */
async function withPasskey(deps: TestSignin, email = ANN): Promise<SoftPasskey> {
  const passkey = device()
  const browser = deps.browser()
  const offered = await byCode(deps, browser, await deps.start(browser), email)
  const page = await addPasskey(browser, offered, passkey)
  if (!isSignedIn(page)) throw new Error(`${email} has no passkey:\n${page.text}`)
  return passkey
}

async function claimsOf(deps: TestSignin, page: Page) {
  const answer = await deps.ask(`${ISSUER}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: 'wiki',
      client_secret: 'secret',
      code: new URL(page.url).searchParams.get('code') ?? '',
      code_verifier: VERIFIER,
    }),
  })
  const { id_token } = (await answer.json()) as { readonly id_token: string }
  return JSON.parse(Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString()) as object
}

const outcomesOf = async ({ store }: TestSignin) =>
  (await store.events.list({ limit: 50 })).map(({ outcome, method, email, detail }) => ({
    outcome,
    method,
    email,
    detail,
  }))

const person = async ({ store }: TestSignin, email = ANN) => {
  const found = await store.people.findByEmail(email)
  if (found === undefined) throw new Error(`there is no ${email}`)
  return found
}

describe('a passkey after the first code', () => {
  test('is offered, added, and then signs in alone, which the ID token says', async () => {
    const deps = await open()
    const passkey = await withPasskey(deps)
    const { id } = await person(deps)
    expect(await deps.store.passkeys.ofPerson(id)).toMatchObject([
      { credentialId: passkey.id, isSynced: false, lastUsedAt: null },
    ])
    const browser = deps.browser()
    const page = await givePasskey(browser, await deps.start(browser), passkey)
    expect(isSignedIn(page)).toBe(true)
    expect(await claimsOf(deps, page)).toMatchObject({
      sub: id,
      acr: '2',
      amr: ['hwk', 'user', 'mfa'],
    })
    expect(await outcomesOf(deps)).toMatchObject([
      { outcome: 'signed_in', method: 'passkey', email: ANN },
      { outcome: 'signed_in', method: 'code', email: ANN },
      { outcome: 'passkey_added', email: ANN },
      { outcome: 'signed_up', email: ANN },
      { outcome: 'code_sent' },
    ])
    expect(deps.faults).toEqual([])
  })

  test('is offered once: not to who has one, said no in this browser, or has no script', async () => {
    const deps = await open()
    const browser = deps.browser()
    const offered = await byCode(deps, browser, await deps.start(browser), ANN)
    expect(isSignedIn(await browser.submit(offered, '/skip-passkey', {}))).toBe(true)
    const prompt = { prompt: 'login' }
    for (const email of [ANN, 'bob@example.org']) {
      const again = await deps.start(browser, prompt)
      const page = await byCode(deps, browser, again, email)
      // As somebody else, the library first ends the session of who was signed in.
      if (!isSignedIn(page)) expect(page.text).not.toContain('data-passkey="add"')
    }
    const unscripted = deps.browser()
    const page = await deps.byCode(unscripted, await deps.start(unscripted), 'cleo@example.org')
    expect(isSignedIn(page)).toBe(true)
    await withPasskey(deps, 'dora@example.org')
    const other = deps.browser()
    const after = await byCode(deps, other, await deps.start(other), 'dora@example.org')
    expect(isSignedIn(after)).toBe(true)
  })

  test('of another kind than asked for is not added', async () => {
    const deps = await open()
    const browser = deps.browser()
    let offered = await byCode(deps, browser, await deps.start(browser), ANN)
    const twists: readonly Twist[] = [
      { origin: 'https://evil.example' },
      { rpId: 'evil.example' },
      { challenge: 'AAAA' },
      { type: 'webauthn.get' },
      { isVerified: false },
    ]
    for (const twist of twists) {
      offered = await addPasskey(browser, offered, device(), twist)
      expect([twist, offered.status]).toEqual([twist, 400])
    }
    for (const response of ['', '{', 'null', '{"id":1}', '{"id":"a","response":null}']) {
      offered = await browser.submit(offered, '/new-passkey', { response })
      expect([response, offered.status]).toEqual([response, 400])
    }
    expect(await deps.store.passkeys.ofPerson((await person(deps)).id)).toEqual([])
    expect(isSignedIn(await addPasskey(browser, offered, device()))).toBe(true)
    expect(deps.faults).toEqual([])
  })
})

describe('to sign in by a passkey', () => {
  const REFUSED: readonly (readonly [what: string, twist: Twist, detail: RegExp])[] = [
    ['of another page', { origin: 'https://evil.example' }, /origin "https:\/\/evil.example"/],
    ['of a port of this host', { origin: `${ISSUER}:8443` }, /origin/],
    ['for another host', { rpId: 'evil.example' }, /RP ID/],
    ['to another challenge', { challenge: 'AAAA' }, /challenge/],
    ['of an addition', { type: 'webauthn.create' }, /type/],
    ['without user verification', { isVerified: false }, /User verification/],
    ['by another key', { by: device() }, /signature/],
    ['for somebody else', { userHandle: 'YWJj' }, /somebody else/],
  ]

  test.each(REFUSED)('an answer %s is refused, and noted', async (_what, twist, detail) => {
    const deps = await open()
    const passkey = await withPasskey(deps)
    const browser = deps.browser()
    const page = await givePasskey(browser, await deps.start(browser), passkey, twist)
    expect(page.status).toBe(400)
    expect(page.text).toContain('This passkey is not known here')
    const [last] = await outcomesOf(deps)
    expect(last).toMatchObject({ outcome: 'passkey_refused', method: 'passkey', email: ANN })
    expect(last?.detail).toMatch(detail)
    // The page asks anew, and the right answer is taken.
    expect(isSignedIn(await givePasskey(browser, page, passkey))).toBe(true)
    expect(deps.faults).toEqual([])
  })

  test('an answer is accepted once: neither the same browser nor another can send it again', async () => {
    const deps = await open()
    const passkey = await withPasskey(deps)
    const browser = deps.browser()
    const page = await deps.start(browser)
    const response = passkey.used(optionsOf(page))
    expect(isSignedIn(await browser.submit(page, '/passkey', { response }))).toBe(true)
    const thief = deps.browser()
    const other = await deps.start(thief)
    const replayed = await thief.submit(other, '/passkey', { response })
    expect(replayed.status).toBe(400)
    expect((await outcomesOf(deps))[0]).toMatchObject({ outcome: 'passkey_refused', email: ANN })
    const again = await browser.submit(page, '/passkey', { response })
    expect(isSignedIn(again)).toBe(false)
  })

  test('of two answers at the same time, one is taken', async () => {
    const deps = await open()
    const passkey = await withPasskey(deps)
    const before = (await outcomesOf(deps)).length
    const browser = deps.browser()
    const page = await deps.start(browser)
    const options = optionsOf(page)
    const both = await Promise.all(
      [1, 2].map(() => browser.submit(page, '/passkey', { response: passkey.used(options) })),
    )
    expect(both.filter(isSignedIn).length).toBeGreaterThanOrEqual(1)
    const after = (await outcomesOf(deps)).slice(0, -before)
    expect(after.filter(({ outcome }) => outcome === 'signed_in')).toHaveLength(1)
  })

  test('a counter that has not grown is a copy of the device: refused, and noted', async () => {
    const deps = await open()
    const passkey = await withPasskey(deps)
    const browser = deps.browser()
    const first = await givePasskey(browser, await deps.start(browser), passkey, { counter: 7 })
    expect(isSignedIn(first)).toBe(true)
    for (const counter of [7, 6, 0]) {
      const copy = deps.browser()
      const page = await givePasskey(copy, await deps.start(copy), passkey, { counter })
      expect([counter, page.status]).toEqual([counter, 400])
      expect((await outcomesOf(deps))[0]).toMatchObject({ outcome: 'passkey_cloned', email: ANN })
    }
  })

  test('a challenge is valid as long as its page', async () => {
    const deps = await open()
    const passkey = await withPasskey(deps)
    const browser = deps.browser()
    const page = await deps.start(browser)
    const response = passkey.used(optionsOf(page))
    // The page, shown again within its hour, asks for an answer of its own.
    const shown = await browser.open(page.url)
    const late = await browser.submit(page, '/passkey', { response })
    expect([late.status, late.text.includes('This passkey is not known here')]).toEqual([400, true])
    expect(isSignedIn(await givePasskey(browser, late, passkey))).toBe(true)
    expect(optionsOf(shown).challenge).not.toBe(optionsOf(page).challenge)

    const holder = 'ab'.repeat(32)
    const expiresAt = deps.clock.now()
    await deps.store.passkeys.challenge({ holder, purpose: 'use', challenge: 'c', expiresAt })
    expect(await deps.store.passkeys.take(holder, 'use', deps.clock.now())).toBeUndefined()
    const slow = deps.browser()
    const old = await deps.start(slow)
    deps.clock.advance(HOUR_MS)
    const over = await givePasskey(slow, old, passkey)
    expect(isSignedIn(over)).toBe(false)
    expect([over.status, over.text.includes('came too late')]).toEqual([400, true])
  })

  test('one that was removed, and one of nobody, are not known', async () => {
    const deps = await open()
    const passkey = await withPasskey(deps)
    const { id } = await person(deps)
    const [stored] = await deps.store.passkeys.ofPerson(id)
    await deps.store.passkeys.remove(id, stored?.id ?? 'psk_', anAct())
    for (const one of [passkey, device()]) {
      const browser = deps.browser()
      const page = await givePasskey(browser, await deps.start(browser), one)
      expect(page.status).toBe(400)
      expect((await outcomesOf(deps))[0]).toMatchObject({
        outcome: 'passkey_refused',
        detail: 'not known',
      })
    }
  })

  test('a disabled person is told so; who was signed out everywhere since begins again', async () => {
    const deps = await open()
    const passkey = await withPasskey(deps)
    const { id } = await person(deps)
    const browser = deps.browser()
    const page = await deps.start(browser)
    await deps.store.artifacts.revokePerson(id, anAct())
    const ended = await givePasskey(browser, page, passkey)
    expect([ended.status, ended.text.includes('out of date')]).toEqual([400, true])
    await deps.store.people.setDisabled(id, true, anAct())
    const other = deps.browser()
    const refused = await givePasskey(other, await deps.start(other), passkey)
    expect([refused.status, refused.text.includes('You cannot sign in')]).toEqual([403, true])
    expect((await outcomesOf(deps))[0]).toMatchObject({ outcome: 'disabled' })
  })

  test('an application that named somebody else gets no code', async () => {
    const deps = await open()
    const passkey = await withPasskey(deps)
    await withPasskey(deps, 'bob@example.org')
    const browser = deps.browser()
    const first = await deps.byCode(browser, await deps.start(browser), 'bob@example.org')
    const answer = await deps.ask(`${ISSUER}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: 'wiki',
        client_secret: 'secret',
        code: new URL(first.url).searchParams.get('code') ?? '',
        code_verifier: VERIFIER,
      }),
    })
    const { id_token } = (await answer.json()) as { readonly id_token: string }
    const stranger = deps.browser()
    const page = await deps.start(stranger, { id_token_hint: id_token })
    const back = new URL((await givePasskey(stranger, page, passkey)).url).searchParams
    expect([back.get('code'), back.get('error')]).toEqual([null, 'login_required'])
  })

  test('several processes share challenges', async () => {
    const deps = await openTestSignin({ issuer: ISSUER, nodes: 3 })
    const passkey = await withPasskey(deps)
    for (let times = 0; times < 4; times++) {
      const browser = deps.browser()
      expect(isSignedIn(await givePasskey(browser, await deps.start(browser), passkey))).toBe(true)
    }
  })
})

describe('where a passkey is required', () => {
  test('a code alone enters nothing: the first passkey is added, and from then on shown', async () => {
    const deps = await open('required')
    const browser = deps.browser()
    const offered = await deps.byCode(browser, await deps.start(browser), ANN)
    expect(offered.text).toContain('Add a passkey')
    // Neither without, nor by another request of this browser.
    expect(offered.text).not.toContain('skip-passkey')
    const silent = await deps.start(browser, { prompt: 'none' })
    expect(new URL(silent.url).searchParams.get('error')).toBe('login_required')
    expect(isSignedIn(await deps.start(browser))).toBe(false)
    const passkey = device()
    const added = await addPasskey(browser, await deps.start(browser), passkey)
    expect(isSignedIn(added)).toBe(true)
    expect(await claimsOf(deps, added)).toMatchObject({
      acr: '2',
      amr: ['otp', 'hwk', 'user', 'mfa'],
    })
    expect(isSignedIn(await deps.start(browser))).toBe(true)

    const other = deps.browser()
    const asked = await deps.byCode(other, await deps.start(other), ANN)
    expect(asked.text).toContain('data-passkey="use"')
    expect(optionsOf(asked).allowCredentials).toMatchObject([{ id: passkey.id }])
    const shown = await givePasskey(other, asked, passkey)
    expect(isSignedIn(shown)).toBe(true)
    expect(await claimsOf(deps, shown)).toMatchObject({
      acr: '2',
      amr: ['otp', 'hwk', 'user', 'mfa'],
    })
    const alone = deps.browser()
    expect(isSignedIn(await givePasskey(alone, await deps.start(alone), passkey))).toBe(true)
    expect(deps.faults).toEqual([])
  })

  test('a device is signed in by a code and a passkey: the first is added, then shown', async () => {
    const deps = await open('required')
    await deps.register('tv', { secretDigest: null, isForDevices: true, redirectUris: [] })
    const send = async (path: string, fields: Readonly<Record<string, string>>) => {
      const body = new URLSearchParams({ client_id: 'tv', ...fields })
      const answer = await deps.ask(ISSUER + path, { method: 'POST', body })
      return (await answer.json()) as Readonly<Record<string, string>>
    }
    const passkey = device()
    for (const isFirst of [true, false]) {
      const browser = deps.browser()
      const { device_code = '', user_code = '' } = await send('/oauth/device', {
        scope: 'openid email',
      })
      const poll = () =>
        send('/oauth/token', {
          grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
          device_code,
        })
      const entry = await browser.open(`${ISSUER}/device`)
      const typed = await browser.submit(entry, '/device', { user_code })
      const begun = await browser.submit(typed, '/device', { confirm: 'yes' })
      const asked = await deps.byCode(browser, begun, ANN)
      expect(asked.text).not.toContain('/consent"')
      expect(await poll()).toMatchObject({ error: 'authorization_pending' })
      const shown = isFirst
        ? await addPasskey(browser, asked, passkey)
        : await givePasskey(browser, asked, passkey)
      const done = await browser.submit(shown, '/consent', { decision: 'allow' })
      expect(done.text).toContain('The device is signed in')
      deps.clock.advance(10_000)
      const { id_token = '' } = await poll()
      expect(decodeJwt(id_token)).toMatchObject({ acr: '2', amr: ['otp', 'hwk', 'user', 'mfa'] })
    }
    expect(deps.faults).toEqual([])
  })

  test('a third party alone enters nothing: the first passkey is added, and from then on shown', async () => {
    const issuer = openIssuer()
    onTestFinished(() => issuer.close())
    const here = 'http://localhost:4141'
    const deps = await openTestSignin({ issuer: here, passkeys: 'required' })
    await deps.add(issuer.url)
    const passkey = softPasskey(here)
    for (const isFirst of [true, false]) {
      const browser = deps.browser()
      const left = await browser.submit(await deps.start(browser), '/identity/sso', {})
      const back = await browser.open(issuer.consent(onwardFrom(left)))
      const asked = isFirst ? await deps.byCode(browser, back, ANN) : back
      expect(isSignedIn(asked)).toBe(false)
      const silent = await deps.start(browser, { prompt: 'none' })
      expect(new URL(silent.url).searchParams.get('error')).toBe('login_required')
      const shown = isFirst
        ? await addPasskey(browser, asked, passkey)
        : await givePasskey(browser, asked, passkey)
      expect(isSignedIn(shown)).toBe(true)
    }
    expect((await outcomesOf(deps)).map(({ outcome, method }) => [outcome, method])).toEqual([
      ['signed_in', 'passkey'],
      ['signed_in', 'code'],
      ['passkey_added', null],
      ['identity_linked', 'sso'],
      ['signed_up', null],
      ['code_sent', null],
    ])
    expect(deps.faults).toEqual([])
  })

  test('that of somebody else is refused after a code, and nothing is added beside one', async () => {
    const deps = await open('required')
    const own = await withPasskey(deps)
    const others = await withPasskey(deps, 'bob@example.org')
    const browser = deps.browser()
    const asked = await deps.byCode(browser, await deps.start(browser), ANN)
    const refused = await givePasskey(browser, asked, others)
    expect(refused.status).toBe(400)
    expect((await outcomesOf(deps))[0]).toMatchObject({
      outcome: 'passkey_refused',
      detail: 'of somebody else',
    })
    const forms = refused.text.replaceAll('/passkey"', '/new-passkey"')
    const forged = await addPasskey(browser, { ...refused, text: forms }, device())
    expect(isSignedIn(forged)).toBe(false)
    const skipped = await browser.submit(
      { ...refused, text: refused.text.replaceAll('/passkey"', '/skip-passkey"') },
      '/skip-passkey',
      {},
    )
    expect(isSignedIn(skipped)).toBe(false)
    expect(await deps.store.passkeys.ofPerson((await person(deps)).id)).toHaveLength(1)
    expect(isSignedIn(await givePasskey(browser, skipped, own))).toBe(true)
  })

  test('of two browsers that are offered the first one, only one adds it', async () => {
    const deps = await open('required')
    const [one, other] = [deps.browser(), deps.browser()]
    const offered = await deps.byCode(one, await deps.start(one), ANN)
    const also = await deps.byCode(other, await deps.start(other), ANN)
    expect(isSignedIn(await addPasskey(one, offered, device()))).toBe(true)
    const late = await addPasskey(other, also, device())
    expect(isSignedIn(late)).toBe(false)
    expect(late.text).toContain('data-passkey="use"')
    expect(await deps.store.passkeys.ofPerson((await person(deps)).id)).toHaveLength(1)
  })

  test('sessions from before it was required are asked; the address may be another', async () => {
    const deps = await openTestSignin({ issuer: ISSUER })
    const browser = deps.browser()
    expect(isSignedIn(await deps.byCode(browser, await deps.start(browser), ANN))).toBe(true)
    await deps.restart({ passkeys: 'required' })
    const asked = await deps.start(browser)
    expect(isSignedIn(asked)).toBe(false)
    expect(asked.text).toContain('Add a passkey')
    const restarted = await browser.submit(asked, '/restart', {})
    expect(restarted.text).toContain('E-mail address')
  })

  test('codes and refresh tokens from before it was required are refused', async () => {
    const deps = await openTestSignin({ issuer: ISSUER })
    const token = async (fields: Readonly<Record<string, string>>) => {
      const body = new URLSearchParams({ client_id: 'wiki', client_secret: 'secret', ...fields })
      const answer = await deps.ask(`${ISSUER}/oauth/token`, { method: 'POST', body })
      return (await answer.json()) as Readonly<Record<string, string>>
    }
    const redeem = (url: string) =>
      token({
        grant_type: 'authorization_code',
        code: new URL(url).searchParams.get('code') ?? '',
        code_verifier: VERIFIER,
      })
    const browser = deps.browser()
    const lasting = { scope: 'openid offline_access', prompt: 'consent' }
    const asked = await deps.byCode(browser, await deps.start(browser, lasting), ANN)
    const back = await browser.submit(asked, '/consent', { decision: 'allow' })
    const { refresh_token = '' } = await redeem(back.url)
    const { url } = await deps.start(browser)
    await deps.restart({ passkeys: 'required' })
    const refreshed = token({ grant_type: 'refresh_token', refresh_token })
    expect([await redeem(url), await refreshed]).toMatchObject([
      { error: 'invalid_grant' },
      { error: 'invalid_grant' },
    ])
  })
})

test('turned off, no page speaks of passkeys, and none signs in', async () => {
  const deps = await open()
  const passkey = await withPasskey(deps)
  await deps.restart({ passkeys: 'off' })
  const browser = deps.browser()
  const page = await deps.start(browser)
  expect(page.text).not.toMatch(/passkey|<script/)
  const forged = { ...page, text: page.text.replace('/email"', '/passkey"') }
  const options = { challenge: 'AAAA', rpId: 'auth.example.org' }
  const answer = await browser.submit(forged, '/passkey', { response: passkey.used(options) })
  expect(isSignedIn(answer)).toBe(false)
  expect(isSignedIn(await byCode(deps, browser, answer, ANN))).toBe(true)
})

test('at an address that is no name, and without TLS, there are none', async () => {
  for (const issuer of ['http://127.0.0.1:4141', 'https://192.0.2.7', 'http://auth.example.org']) {
    const deps = await openTestSignin({ issuer })
    const { text } = await deps.start(deps.browser())
    expect([issuer, /data-passkey|<script/.test(text)]).toEqual([issuer, false])
  }
  const deps = await openTestSignin({ issuer: 'http://localhost:4141' })
  expect((await deps.start(deps.browser())).text).toContain('data-passkey="wait"')
})

test('a person who was only added, and never proved the address, has no passkey to be', async () => {
  const deps = await open()
  await deps.store.people.add(newPerson(ANN, deps.clock.now()), anAct())
  const browser = deps.browser()
  const page = await givePasskey(browser, await deps.start(browser), device())
  expect(page.status).toBe(400)
})
