// What was spent, as a screen and as a file: both have all of it, however many groups there are.
import { expect, onTestFinished, test } from 'vitest'
import { REST_PLACE, type Sheet } from '#cabinet/draw/parts.ts'
import { streamedPageOf } from '#cabinet/respond.ts'
import { showSpend } from '#cabinet/screens/spend.ts'
import type { Visit } from '#cabinet/visit.ts'
import { ENGLISH } from '#cabinet/words/en.ts'
import { HOUR_MS, later } from '#domain/clock.ts'
import { MAX_USAGE_GROUPS } from '#domain/usage-report.ts'
import { type Html, html, raw } from '#pages/html.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { fillLog } from './fill-log.ts'
import { type House, openHouse } from './house.ts'

test('a file has a line for each group, and one for all that are beyond them', async () => {
  const dataDir = tempDirectory()
  const house = await openHouse({ dataDir })
  onTestFinished(() => house.close())
  const { id } = await house.act('keys.create', { name: 'many' })
  const { browser } = await house.person('ann@example.org', 'owner')
  fillLog(dataDir, id, later(house.clock.now(), -HOUR_MS), MAX_USAGE_GROUPS + 5)
  const { text } = await browser.open('/cabinet/spend.csv?by=user')
  const lines = text.trimEnd().split('\r\n')
  expect(lines).toHaveLength(1 + MAX_USAGE_GROUPS + 1)
  expect(lines.at(-1)).toBe('others,5,50,25,0,0.005,0.45')
})

test('the page leaves before its sums are read, and what fails later is said in their place', async () => {
  const { promise: read, resolve } = Promise.withResolvers<Html>()
  const issuer = 'http://127.0.0.1'
  const failed = (): Html => html`<p>failed</p>`
  const page = html`<main>begin ${raw(REST_PLACE)} end</main>`
  const open = async (rest: () => Promise<Html>) => {
    const meanwhile = async (): Promise<Html> => html`<i>days</i>`
    const answer = await streamedPageOf(
      { issuer },
      page,
      { rest, meanwhile },
      { language: 'en', failed },
    )
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    return (answer.body as ReadableStream).pipeThrough(new TextDecoderStream())
  }
  const reader = (await open(() => read)).getReader()
  expect((await reader.read()).value).toBe('<main>begin ')
  // What is known at once stands in their place until then.
  expect((await reader.read()).value).toBe('<div class="meanwhile"><i>days</i></div>')
  resolve(html`<b>sums</b>`)
  expect((await reader.read()).value).toBe('<b>sums</b>')
  expect((await reader.read()).value).toBe(' end</main>')
  expect((await reader.read()).done).toBe(true)
  const broken = await open(() => Promise.reject(new Error('broken')))
  expect(await Array.fromAsync(broken)).toEqual(['<main>begin ', '<p>failed</p>', ' end</main>'])
})

/** What the screen draws for an owner, without the frame. */
async function drawnFor(house: House, query: string) {
  const [account] = await house.act('accounts.list', {})
  const visit = {
    words: ENGLISH,
    language: 'en',
    role: 'owner',
    account: { id: account?.id },
    at: house.clock.now(),
    url: new URL(`http://127.0.0.1/cabinet/spend?${query}`),
    act: house.act,
  } as unknown as Visit
  const { meanwhile, rest } = (await showSpend(visit, undefined as never)) as Sheet
  return {
    meanwhile: async () => String(await meanwhile?.()),
    rest: async () => String(await rest?.()),
  }
}

test('what stands in their place is the days of the period, where the sums of all of them are known', async () => {
  const house = await openHouse({ clock: handClock('2026-11-21T12:00:00Z') })
  onTestFinished(() => house.close())
  const draw = async (query: string): Promise<number> => {
    const { meanwhile } = await drawnFor(house, `by=model&${query}`)
    return (await meanwhile()).split('<title>').length - 1
  }
  expect(await draw('since=2026-11-19&until=2026-11-20')).toBe(2)
  expect(await draw('period=30')).toBe(30)
  expect(await draw('period=90')).toBe(0)
})

/** The words of figures and of cells, and the bars. */
const partsOf = (text: string): readonly string[] =>
  [...text.matchAll(/<(td|th|dt|dd|g)\b[^>]*>(.*?)<\/\1>/gs)].map(([, , part = '']) => part)

test('of keys it is all that follows, but for tokens and roubles', async () => {
  const house = await openHouse()
  onTestFinished(() => house.close())
  const { key: once } = await house.act('keys.create', { name: 'once' })
  const { key: twice } = await house.act('keys.create', { name: 'twice' })
  for (const key of [once, twice, twice]) {
    const answer = await fetch(`${house.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }),
    })
    expect(answer.status).toBe(200)
    await answer.text()
  }
  const { meanwhile, rest } = await drawnFor(house, 'period=30')
  const [before, after] = [partsOf(await meanwhile()), partsOf(await rest())]
  // Of the whole, and of two keys.
  expect(before.filter((part) => part === '…')).toHaveLength(2 * 3)
  expect(before.map((part, place) => (part === '…' ? after[place] : part))).toEqual(after)
  expect(after.join()).toContain('<bdi>twice</bdi>')
  const newest = ENGLISH.spend.newest(400)
  const long = await (await drawnFor(house, 'since=2020-01-01')).rest()
  expect(long.split('<title>').length - 1).toBe(400)
  const short = await (await drawnFor(house, 'period=90')).rest()
  expect([long, short].map((page) => page.includes(newest))).toEqual([true, false])
})
