// A session ends once nobody has used it for twelve hours; what an open page asks for by itself is no use of it.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#domain/clock.ts'
import type { Browser } from '#test/acceptance/signin/browser.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { type House, openHouse } from './house.ts'
import { openStream } from './open-stream.ts'

/** From now on, as the library of the sign-in provider has a clock of its own: both have signed in before it moves. */
const clock = handClock(new Date().toISOString())
let house: House
let left: Browser
let used: Browser

beforeAll(async () => {
  house = await openHouse({ clock })
  left = (await house.person('ann@example.org', 'owner')).browser
  used = (await house.person('bob@example.org', 'owner')).browser
})
afterAll(() => house.close())

/** As the script of a page that is open asks for its list anew. */
const takeList = (browser: Browser) =>
  browser.open('/cabinet/activity', {
    headers: { 'hx-request': 'true', 'hx-trigger': 'requests' },
  })

test('an open page keeps no session that nobody uses, and does not sign in again by itself', async () => {
  const stream = await openStream(house, left)
  await stream.figures()
  clock.advance(6 * HOUR_MS)
  // The stream looks at the session once more, the page takes its list, and a connection that broke is made again.
  await house.act('balance.top-up', { amount_usd: '1' })
  expect((await stream.figures()).shown['balance']).toBe('$21.00')
  expect((await takeList(left)).text).toContain('id="requests"')
  const again = await openStream(house, left)
  await again.figures()
  again.close()
  expect((await used.open('/cabinet')).text).toContain('Sign out')
  clock.advance(6 * HOUR_MS + MINUTE_MS)
  await house.act('balance.top-up', { amount_usd: '1' })
  expect(await stream.ended()).toBe('/cabinet/ended')
  expect((await left.open('/cabinet/ended')).text).toContain('Nobody used this session')
  expect((await takeList(left)).status).toBe(204)
  // Whoever has opened a page meanwhile is still in.
  expect((await takeList(used)).status).toBe(200)
})

test('a session that was used while the clock was ahead ends with its correction, and for good', async () => {
  clock.advance(30 * DAY_MS)
  const { browser } = await house.person('cid@example.org', 'owner')
  expect((await takeList(browser)).status).toBe(200)
  clock.advance(-30 * DAY_MS)
  expect((await takeList(browser)).status).not.toBe(200)
  clock.advance(30 * DAY_MS)
  expect((await takeList(browser)).status).not.toBe(200)
})
