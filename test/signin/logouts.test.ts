// Which applications are to be told that a session has ended, as people sign out (OpenID Connect Back-Channel Logout 1.0).

import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { digestOf } from '#signin/register/digest.ts'
import type { Browser } from '#test/acceptance/signin/browser.ts'
import { anAct } from '#test/support/nouns.ts'
import { ISSUER, openTestSignin } from './identities/test-signin.ts'

const EMAIL = 'ann@example.org'
const EVERY = { most: 99, mostOfOne: 99, underWay: [] }
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'

async function open() {
  const deps = await openTestSignin()
  for (const id of ['mail', 'news', 'idle']) {
    await deps.register(id, { backchannelLogoutUri: `https://${id}.example.org/logout` })
  }
  /** Enters an application, and returns what its ID token says. */
  const enter = async (browser: Browser, client_id: string, email = EMAIL, more = {}) => {
    const page = await deps.start(browser, { client_id, ...more })
    const { url } = page.text.includes('name="email"')
      ? await deps.byCode(browser, page, email)
      : page
    const code = new URL(url).searchParams.get('code') ?? ''
    const answer = await deps.ask(`${ISSUER}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        client_id,
        client_secret: 'secret',
        grant_type: 'authorization_code',
        code,
        code_verifier: VERIFIER,
      }),
    })
    const { id_token } = (await answer.json()) as { readonly id_token: string }
    return decodeJwt(id_token)
  }
  const told = async () => {
    const at = deps.clock.now()
    const waiting = await deps.store.logouts.claim(at, at, EVERY)
    for (const { id } of waiting) await deps.store.logouts.drop(id)
    return waiting.map(({ clientId, personId, sid }) => [clientId, personId, sid]).toSorted()
  }
  const leave = async (browser: Browser, client: string, fields: Record<string, string>) => {
    const page = await browser.open(`${ISSUER}/oauth/logout?client_id=${client}`)
    return browser.submit(page, '/oauth/logout/confirm', fields)
  }
  return { ...deps, enter, told, leave }
}

test('those that were entered and have an address, with the `sid` of their ID tokens', async () => {
  const deps = await open()
  const browser = deps.browser()
  const mail = await deps.enter(browser, 'mail')
  const news = await deps.enter(browser, 'news')
  const wiki = await deps.enter(browser, 'wiki')
  expect(wiki).not.toHaveProperty('sid')
  expect(mail['sid']).not.toBe(news['sid'])
  expect(await deps.told()).toEqual([])
  await deps.leave(browser, 'wiki', { logout: 'yes' })
  expect(await deps.told()).toEqual([
    ['mail', mail.sub, mail['sid']],
    ['news', news.sub, news['sid']],
  ])
})

test('the one that asked, where its person stays signed in here', async () => {
  const deps = await open()
  const browser = deps.browser()
  const mail = await deps.enter(browser, 'mail')
  const news = await deps.enter(browser, 'news')
  await deps.leave(browser, 'wiki', {})
  expect(await deps.told()).toEqual([])
  await deps.leave(browser, 'mail', {})
  expect(await deps.told()).toEqual([['mail', mail.sub, mail['sid']]])
  await deps.leave(browser, 'mail', { logout: 'yes' })
  expect(await deps.told()).toEqual([['news', news.sub, news['sid']]])
})

test('those of the person before, where somebody else signs in; nobody, where the same person does', async () => {
  const deps = await open()
  const browser = deps.browser()
  const mail = await deps.enter(browser, 'mail')
  await deps.enter(browser, 'mail', EMAIL, { prompt: 'login' })
  expect(await deps.told()).toEqual([])
  const page = await deps.start(browser, { client_id: 'wiki', prompt: 'login' })
  const between = await deps.byCode(browser, page, 'bob@example.org')
  await browser.submit(between, '/oauth/logout/confirm', {})
  expect(await deps.told()).toEqual([['mail', mail.sub, mail['sid']]])
})

test('of this session alone, and not of others of the person', async () => {
  const deps = await open()
  const [browser, other] = [deps.browser(), deps.browser()]
  const mail = await deps.enter(browser, 'mail')
  const elsewhere = await deps.enter(other, 'mail')
  const [session] = [...browser.cookies].find(([name]) => name === 'session')?.slice(1) ?? []
  const found = await deps.store.artifacts.find('Session', digestOf(session ?? ''))
  await deps.store.artifacts.end(found === undefined ? [] : [found], anAct())
  expect(await deps.told()).toEqual([['mail', mail.sub, mail['sid']]])
  await deps.leave(other, 'mail', { logout: 'yes' })
  expect(await deps.told()).toEqual([['mail', mail.sub, elsewhere['sid']]])
})
