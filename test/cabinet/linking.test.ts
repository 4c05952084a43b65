// Linking what a person is at a third party: begun by who is signed in, of use to that session alone, and never by an address.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Browser, Page } from '#test/acceptance/signin/browser.ts'
import { type Issuer, openIssuer } from '#test/support/third-party.ts'
import { csrfOf, type House, openHouse, post } from './house.ts'

let house: House
let issuer: Issuer

beforeAll(async () => {
  house = await openHouse()
  issuer = openIssuer()
  await house.act('identities.add', {
    name: 'sso',
    label: 'Example SSO',
    issuer: issuer.url,
    client_id: 'gateway',
    secret: 'shh',
  })
})
afterAll(async () => {
  await house.close()
  await issuer.close()
})
beforeEach(() => {
  issuer.behaviour = {}
})

/** Presses the button; where the browser is sent. */
async function begin(browser: Browser): Promise<string> {
  const page = await browser.open('/cabinet/you')
  const form = { csrf: csrfOf(page), provider: 'sso' }
  const { text } = await post(browser, house.authUrl, '/cabinet/you/link', form)
  const to = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(text)?.[1] ?? ''
  return to.replaceAll('&amp;', '&')
}

const as = (sub: string, more: Readonly<Record<string, unknown>> = {}) => {
  issuer.behaviour = { claims: { sub, ...more } }
}

const linkedTo = async (email: string): Promise<readonly string[]> =>
  (await house.act('users.show', { person: email })).identities.map(({ subject }) => subject)

const endingOf = ({ url }: Page): string | null => new URL(url).searchParams.get('link')

test('a person links what they are there, signs in by it, and unlinks it', async () => {
  const { browser } = await house.person('ann@example.org', 'owner')
  as('sub-ann')
  const to = await begin(browser)
  expect(to).toContain(`${issuer.url}/authorize?`)
  const landed = await browser.open(issuer.consent(to))
  expect([landed.status, endingOf(landed)]).toEqual([200, 'linked'])
  expect(landed.text).toContain('Example SSO')
  expect(await linkedTo('ann@example.org')).toEqual(['sub-ann'])
  const [newest] = await house.act('acts.list', {})
  expect(newest).toMatchObject({
    verb: 'users.identities.add',
    who: expect.stringContaining('ann@'),
  })

  await post(browser, house.authUrl, '/cabinet/you/identities', {
    csrf: csrfOf(landed),
    provider: 'sso',
  })
  expect(await linkedTo('ann@example.org')).toEqual([])
})

test('an answer is taken once', async () => {
  const { browser } = await house.person('once@example.org', 'owner')
  as('sub-once')
  const back = issuer.consent(await begin(browser))
  expect(endingOf(await browser.open(back))).toBe('linked')
  expect(endingOf(await browser.open(back))).toBe('refused')
})

test('the answer to a login that somebody else began links nothing', async () => {
  const { browser: hers } = await house.person('hers@example.org', 'owner')
  const { browser: his } = await house.person('his@example.org', 'owner')
  as('sub-his')
  const back = issuer.consent(await begin(his))
  expect(endingOf(await hers.open(back))).toBe('refused')
  expect(await linkedTo('hers@example.org')).toEqual([])
  // What was tried in vain was not used up.
  expect(endingOf(await his.open(back))).toBe('linked')
})

test('whoever is signed out is asked to sign in, and nothing is linked', async () => {
  const { browser } = await house.person('out@example.org', 'owner')
  as('sub-out')
  const back = issuer.consent(await begin(browser))
  const page = await browser.open('/cabinet')
  await browser.submit(page, '/cabinet/sign-out', {})
  expect((await browser.open(back)).url).toContain('/sign-in/')
  expect(await linkedTo('out@example.org')).toEqual([])
})

test('an address that the third party vouches for moves nothing: who is signed in gets it, and nobody else', async () => {
  await house.person('victim@example.org', 'owner')
  const { browser } = await house.person('mallory@example.org', 'member')
  as('sub-mallory', { email: 'victim@example.org', email_verified: true })
  expect(endingOf(await browser.open(issuer.consent(await begin(browser))))).toBe('linked')
  expect(await linkedTo('victim@example.org')).toEqual([])
  expect(await linkedTo('mallory@example.org')).toEqual(['sub-mallory'])
})

test('what is somebody else’s stays theirs', async () => {
  const { browser: first } = await house.person('first@example.org', 'owner')
  const { browser: second } = await house.person('second@example.org', 'owner')
  as('sub-shared')
  expect(endingOf(await first.open(issuer.consent(await begin(first))))).toBe('linked')
  const landed = await second.open(issuer.consent(await begin(second)))
  expect(endingOf(landed)).toBe('taken')
  expect(landed.text).not.toContain('first@')
  expect(await linkedTo('second@example.org')).toEqual([])
})

test('a refusal there, a forged token and a provider that is gone say so', async () => {
  const { browser } = await house.person('said@example.org', 'owner')
  issuer.behaviour = { answer: { code: null, error: 'access_denied' } }
  expect(endingOf(await browser.open(issuer.consent(await begin(browser))))).toBe('refused')
  issuer.behaviour = { isForged: true }
  expect(endingOf(await browser.open(issuer.consent(await begin(browser))))).toBe('refused')
  const page = await browser.open('/cabinet/you')
  const form = { csrf: csrfOf(page), provider: 'none' }
  const gone = await post(browser, house.authUrl, '/cabinet/you/link', form)
  expect(endingOf(gone)).toBe('unreachable')
  expect(await linkedTo('said@example.org')).toEqual([])
})
