// Which applications are to be told that a session has ended, as people sign out (OpenID Connect Back-Channel Logout 1.0).

import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { digestOf } from '#signin/register/digest.ts'
import type { Browser } from '#test/acceptance/signin/browser.ts'
import { anAct } from '#test/support/nouns.ts'
import { ISSUER, onwardFrom, openTestSignin } from './identities/test-signin.ts'

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
  expect(between.text).toContain('<h1>Just a moment</h1>')
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

test('nobody, where nobody is signed in: the form that posts itself is on a page of ours, in the language that was asked', async () => {
  const deps = await open()
  const logoutUris = ['https://mail.example.org/?a="&b']
  await deps.register('quoted', { logoutUris })
  const browser = deps.browser({ 'sec-fetch-mode': 'navigate' })
  const query = new URLSearchParams({
    client_id: 'quoted',
    ui_locales: 'ru',
    state: `'"&amp;<`,
    post_logout_redirect_uri: logoutUris[0] ?? '',
  })
  const page = await browser.open(`${ISSUER}/oauth/logout?${query}`)
  expect(page.text).toContain('<h1>Одну минуту</h1>')
  expect(page.text).not.toContain('Submitting Callback')
  const [, script = ''] = /<script src="([^"]+)"/.exec(page.text) ?? []
  expect(await (await deps.ask(ISSUER + script)).text()).toBe('document.forms[0].submit()')
  const left = onwardFrom(await browser.submit(page, '/oauth/logout/confirm', {}))
  expect(new URL(left).searchParams.get('state')).toBe(`'"&amp;<`)
  const form = { response_mode: 'form_post', prompt: 'none', state: `'"&amp;<` }
  const refused = await deps.start(deps.browser(), form)
  expect(refused.status).toBe(400)
  expect(refused.text).toContain('name="state" value="&#39;&quot;&amp;amp;&lt;"')
  expect(await deps.told()).toEqual([])
})
