// Signing out of the cabinet: an event of who signed out where, and a session that is over.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { csrfOf, type House, openHouse, post } from './house.ts'

let house: House
beforeAll(async () => {
  house = await openHouse()
})
afterAll(() => house?.close())

test('is listed once, with whose session it was', async () => {
  const ann = await house.person('ann@example.org', 'owner')
  const page = await ann.browser.open('/cabinet')
  const fields = { csrf: csrfOf(page) }
  await post(ann.browser, house.authUrl, '/cabinet/sign-out', fields)
  await post(ann.browser, house.authUrl, '/cabinet/sign-out', fields)
  const events = await house.act('users.events', { person: 'ann@example.org', client: null })
  expect(events.map(({ outcome }) => outcome)).toEqual([
    'signed_out',
    'signed_in',
    'code_sent',
    'accounts.members.add',
  ])
  expect(events[0]).toMatchObject({ email: 'ann@example.org', client: 'cabinet', refused: false })
  const ofCabinet = await house.act('users.events', { client: 'cabinet' })
  expect(ofCabinet.map(({ outcome }) => outcome)).toEqual(['signed_out', 'signed_in', 'code_sent'])
  expect(events[0]?.address).toMatch(/^(::ffff:)?127\.0\.0\.1$/)
})
