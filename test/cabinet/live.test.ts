// The one stream of a page: a request is told of soon after it ends, to those who may see it, and the page shows it under its filters.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser } from '#test/acceptance/signin/browser.ts'
import { csrfOf, type House, openHouse, post } from './house.ts'

let house: House

beforeAll(async () => {
  house = await openHouse()
})
afterAll(() => house.close())

interface Told {
  readonly shown: Readonly<Record<string, string>>
  readonly latest: string | null
}

/** Reads events until one is like this. */
async function openStream(browser: Browser) {
  const cut = new AbortController()
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const { body } = await fetch(`${house.authUrl}/cabinet/live`, {
    headers: { cookie, accept: 'text/event-stream' },
    signal: cut.signal,
  })
  const reader = body?.getReader()
  let rest = ''
  return {
    close: () => cut.abort(),
    async until(isIt: (told: Told) => boolean): Promise<Told> {
      for (;;) {
        const [event, ...more] = rest.split('\n\n')
        if (more.length > 0) {
          rest = more.join('\n\n')
          const data = /^data: (\{.*)$/m.exec(event ?? '')?.[1]
          const told = data === undefined ? undefined : (JSON.parse(data) as Told)
          if (told !== undefined && isIt(told)) return told
          continue
        }
        const { value, done } = (await reader?.read()) ?? { done: true }
        if (done) throw new Error(`it ended: ${rest}`)
        rest += new TextDecoder().decode(value)
      }
    },
  }
}

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
  expect(page.text).toContain('data-live="/cabinet/live?account=')
  const stream = await openStream(browser)
  const before = await stream.until(() => true)
  const request = await ask(secret)
  const told = await stream.until(({ latest }) => latest !== before.latest)
  stream.close()
  expect(told.latest).toBe(request)
  expect(told.shown['balance']).not.toBe(before.shown['balance'])

  // What the script asks for: the same address, of which it takes the list.
  const again = /data-latest="[^"]*" hx-get="([^"]+)" hx-trigger="request-came"/.exec(
    page.text,
  )?.[1]
  expect(again).toBe('/cabinet/activity?key=seen&amp;status=2xx')
  const list = await browser.open(again?.replaceAll('&amp;', '&') ?? '')
  expect(list.text).toContain(`data-latest="${request}"`)
  // An older page stays what it is.
  const older = await browser.open(`/cabinet/activity?before=${request}`)
  expect(older.text).not.toContain('data-latest')
})

test('a member is told of the requests of their own keys alone', async () => {
  const { browser } = await house.person('mia@example.org', 'member')
  const { key: others } = await house.act('keys.create', { name: 'others' })
  const made = await post(browser, house.authUrl, '/cabinet/keys/new', {
    csrf: csrfOf(await browser.open('/cabinet/keys/new')),
    name: 'own',
    daily_spend_limit_usd: '1',
  })
  const own = /<code id="secret">([^<]+)</.exec(made.text)?.[1] ?? ''
  const stream = await openStream(browser)
  expect(await stream.until(() => true)).toMatchObject({ latest: null })
  await ask(others)
  const request = await ask(own)
  const told = await stream.until(({ latest }) => latest !== null)
  stream.close()
  expect(told.latest).toBe(request)
  expect(told.shown).not.toHaveProperty('balance')
})
