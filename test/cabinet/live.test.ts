// The one stream of a page: a request is told of soon after it ends, to those who may see it, and the page shows it under its filters.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser } from '#test/acceptance/signin/browser.ts'
import { csrfOf, type House, openHouse, post } from './house.ts'
import { openStream } from './open-stream.ts'

let house: House

beforeAll(async () => {
  house = await openHouse()
})
afterAll(() => house.close())

async function ask(secret: string, model = 'demo/echo'): Promise<string> {
  const answer = await fetch(`${house.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  })
  await answer.text()
  return answer.headers.get('x-generation-id') ?? ''
}

test('a request is told of as soon as it has ended, and the filtered page has it', async () => {
  const { browser } = await house.person('ann@example.org', 'owner')
  const { key: secret } = await house.act('keys.create', { name: 'seen' })
  const page = await browser.open('/cabinet/activity?key=seen&status=2xx')
  const { id: account } = await house.act('accounts.show', { name: 'default' })
  expect(page.text).toContain('data-live="/cabinet/live?account=')
  const stream = await openStream(house, browser)
  const before = await stream.figures()
  const request = await ask(secret)
  const told = await stream.figures(({ latest }) => latest !== before.latest)
  stream.close()
  expect(told.latest).toBe(request)
  expect(told.shown['balance']).not.toBe(before.shown['balance'])

  // What the script asks for: the same address, of which it takes the list.
  const again = /data-latest="[^"]*" hx-get="([^"]+)" hx-trigger="request-came"/.exec(
    page.text,
  )?.[1]
  expect(again).toBe(`/cabinet/activity?key=seen&amp;status=2xx&amp;account=${account}&amp;new=1`)
  const list = await browser.open(again?.replaceAll('&amp;', '&') ?? '')
  expect(list.text).toContain(`data-latest="${request}"`)
  // While nothing that came matches, a list that found nothing stays as it is.
  expect((await browser.open('/cabinet/activity?key=seen&status=5xx&new=1')).status).toBe(204)
  // An older page stays what it is.
  const older = await browser.open(`/cabinet/activity?before=${request}`)
  expect(older.text).not.toContain('data-latest')
})

/** A member's own; its secret. */
async function makeKey(browser: Browser): Promise<string> {
  const made = await post(browser, house.authUrl, '/cabinet/keys/new', {
    csrf: csrfOf(await browser.open('/cabinet/keys/new')),
    name: 'own',
    daily_spend_limit_usd: '1',
  })
  return /<code id="secret">([^<]+)</.exec(made.text)?.[1] ?? ''
}

test('a member is told of the requests of their own keys alone', async () => {
  const { browser } = await house.person('mia@example.org', 'member')
  const { key: others } = await house.act('keys.create', { name: 'others' })
  const own = await makeKey(browser)
  const stream = await openStream(house, browser)
  expect(await stream.figures()).toMatchObject({ latest: null })
  await ask(others)
  const request = await ask(own)
  const told = await stream.figures(({ latest }) => latest !== null)
  stream.close()
  expect(told.latest).toBe(request)
  expect(told.shown).not.toHaveProperty('balance')
})

test('open pages of an account share what is read, each as far as its person sees', async () => {
  const roles = ['owner', 'viewer', 'member'] as const
  const people = await Promise.all(roles.map((role) => house.person(`${role}@example.org`, role)))
  const secret = await makeKey(people[2]?.browser as Browser)
  const streams = await Promise.all(people.map(({ browser }) => openStream(house, browser)))
  await Promise.all(streams.map((stream) => stream.figures()))
  const request = await ask(secret)
  const told = await Promise.all(
    streams.map((stream) => stream.figures(({ latest }) => latest === request)),
  )
  for (const stream of streams) stream.close()
  expect(told.map(({ shown }) => 'balance' in shown)).toEqual([true, true, false])
})

test('what an open page asks for, and its file, are of its account, and move no other page to it', async () => {
  const { browser } = await house.person('two@example.org', 'owner')
  await house.act('accounts.create', { name: 'second' })
  await house.act('accounts.members.add', {
    account: 'second',
    email: 'two@example.org',
    role: 'owner',
  })
  const { key: secret } = await house.act('keys.create', { name: 'of the first' })
  await ask(secret)
  const { text } = await browser.open('/cabinet/activity?account=default')
  const form = await browser.open('/cabinet/keys/new')
  const addressIn = (page: string, pattern: RegExp): string =>
    (pattern.exec(page)?.[1] ?? '').replaceAll('&amp;', '&')
  // Another tab.
  await browser.open('/cabinet/balance?account=second')
  const headers = { 'hx-request': 'true', 'hx-trigger': 'requests' }
  const again = addressIn(text, /hx-get="([^"]+)" hx-trigger="request-came"/)
  expect((await browser.open(again, { headers })).text).toContain('>of the first<')
  const file = await browser.open(addressIn(text, /href="(\/cabinet\/activity\.csv[^"]*)"/))
  expect(file.text).toContain('of the first')
  const matches = addressIn(form.text, /hx-get="(\/cabinet\/keys\/matches[^"]*)"/)
  expect(matches).toContain('?account=')
  await browser.open(matches, { headers: { 'hx-request': 'true' } })
  expect((await browser.open('/cabinet/activity')).text).not.toContain('of the first')
  // A link that is followed, by a script too, moves what is opened next.
  await browser.open('/cabinet?account=default', {
    headers: { 'hx-request': 'true', 'hx-boosted': 'true' },
  })
  expect((await browser.open('/cabinet/activity')).text).toContain('of the first')
})
