// A filter that matches little of a long log: each page looks through so many lines, says how far it came, and goes on from there.
import { expect, onTestFinished, test } from 'vitest'
import { type Day, dayOf, HOUR_MS, later, renderDay, renderInstant } from '#domain/clock.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { fillLog } from './fill-log.ts'
import { openHouse } from './house.ts'

test('a page looks through a bounded part of the log, says how far, and the next goes on', async () => {
  const dataDir = tempDirectory()
  const house = await openHouse({ dataDir })
  onTestFinished(() => house.close())
  const { id: busy } = await house.act('keys.create', { name: 'busy' })
  const { id: rare } = await house.act('keys.create', { name: 'rare' })
  const { browser } = await house.person('ann@example.org', 'owner')
  const at = later(house.clock.now(), -2 * HOUR_MS)
  fillLog(dataDir, rare, at, 1)
  fillLog(dataDir, busy, later(at, HOUR_MS), 45_000)
  const seen: string[] = []
  let path: string | undefined = `/cabinet/activity?key=${rare}`
  while (path !== undefined) {
    const { text } = await browser.open(path)
    const isFound = text.includes('<table')
    seen.push(isFound ? 'found' : (/<p class="empty">([^<]*)</.exec(text)?.[1] ?? ''))
    const onward = /<p class="pages".*?<a class="button" href="([^"]+)">Search further back</s.exec(
      text,
    )
    // A script goes on by itself where nothing was found.
    expect(text.includes('hx-trigger="load delay:200ms"')).toBe(!isFound)
    path = onward?.[1]?.replaceAll('&amp;', '&')
  }
  // A slow machine looks through less for a page.
  expect(seen.length).toBeGreaterThanOrEqual(3)
  expect(new Set(seen.slice(0, -1))).toEqual(new Set(['No request matches so far.']))
  expect(seen.at(-1)).toBe('found')
  expect((await browser.open('/cabinet/activity?key=busy')).text).toContain('>Older</a>')
  // A file has all of it, however far back.
  const file = await browser.open(`/cabinet/activity.csv?key=${rare}`)
  expect(file.text.trimEnd().split('\r\n')).toHaveLength(2)
})

test('days bound what is shown, one alone too; what is no day matches nothing, and the page says so', async () => {
  const dataDir = tempDirectory()
  const house = await openHouse({ dataDir })
  onTestFinished(() => house.close())
  const { id } = await house.act('keys.create', { name: 'one' })
  const { browser } = await house.person('ann@example.org', 'owner')
  const at = later(house.clock.now(), -HOUR_MS)
  fillLog(dataDir, id, at, 3)
  const [before, day, after] = [-1, 0, 1].map((days) => renderDay((dayOf(at) + days) as Day))
  const found = async (query: string) => {
    const lines = async (file: string) =>
      (await browser.open(`/cabinet/${file}?${query}`)).text.trimEnd().split('\r\n').length - 1
    return [await lines('spend.csv'), await lines('activity.csv')]
  }
  for (const query of [
    `until=${day}`,
    'until=9999-12-31',
    `since=${day}`,
    'since=0001-01-01&until=9999-12-31',
    'since=&until=&period=7',
  ])
    expect([query, await found(query)]).toEqual([query, [1, 3]])
  for (const query of [`until=${before}`, `since=${after}`, `until=${before}&period=month`])
    expect([query, await found(query)]).toEqual([query, [0, 0]])
  // The picture is of the newest days, and of the day in which it ends.
  const end = renderInstant(later(at, HOUR_MS))
  for (const query of ['since=2020-01-01', `since=2020-01-01&until=${end}`]) {
    const { text } = await browser.open(`/cabinet/spend?${query}`)
    expect([query, /<title>[^<]*\$0\.003/.test(text)]).toEqual([query, true])
  }
  for (const query of ['since=01.11.2026', 'until=2026-02-30', `since=yesterday&until=${day}`]) {
    expect([query, await found(query)]).toEqual([query, [0, 0]])
    for (const screen of ['spend', 'activity']) {
      const { status, text } = await browser.open(`/cabinet/${screen}?${query}`)
      expect([query, status, text.includes('take a day as YYYY-MM-DD')]).toEqual([query, 200, true])
    }
  }
})
