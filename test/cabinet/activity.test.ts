// A filter that matches little of a long log: each page looks through so many lines, says how far it came, and goes on from there.
import { expect, onTestFinished, test } from 'vitest'
import { HOUR_MS, later } from '#domain/clock.ts'
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
