// A window of thousands is read back from the log in slices: others are served meanwhile, and not a slot is lost or won.
import { expect, test } from 'vitest'
import { DAY_MS } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { openWindowHouse, type WindowHouse } from './window-house.ts'

/** More than one slice by far, and the first of their instants more than a slice by itself. */
const LONG = [1_500, ...Array<number>(50).fill(70)]
const USED = LONG.reduce((sum, one) => sum + one, 0)

/** Uses the window up, a second between two instants. */
async function use(house: WindowHouse, key: ApiKey): Promise<void> {
  for (const count of LONG) {
    await house.serveAll(key, count)
    house.clock.advance(1_000)
  }
}

test('after a restart what is left of it is served, and each slot frees at its own instant', async () => {
  const house = await openWindowHouse()
  const key = await house.issue({ rpd: USED + 3 })
  await use(house, key)
  await house.restart()
  expect(await house.serve(key, 200)).toBe(3)
  expect(await house.store.admissions.usage(key.id, house.clock.now())).toMatchObject({
    requestsDay: USED + 3,
  })
  const [first = 0, second = 0] = LONG
  house.clock.advance(DAY_MS - LONG.length * 1_000 - 1)
  expect(await house.serve(key, 10)).toBe(0)
  house.clock.advance(1)
  expect(await house.serve(key, first + 10)).toBe(first)
  house.clock.advance(1_000)
  expect(await house.serve(key, second + 10)).toBe(second)
})

test('a key without a limit is told how many they were', async () => {
  const house = await openWindowHouse()
  const key = await house.issue({})
  await use(house, key)
  expect(await house.store.admissions.usage(key.id, house.clock.now())).toMatchObject({
    requestsDay: USED,
  })
})

test('another key is served while it is read', async () => {
  const house = await openWindowHouse()
  const key = await house.issue({ rpd: USED + 3 })
  const other = await house.issue({ rpd: 3 })
  await use(house, key)
  await house.restart()
  const order: string[] = []
  await Promise.all([
    house.serve(key, 10).then((count) => order.push(`long ${count}`)),
    house.serve(other, 10).then((count) => order.push(`short ${count}`)),
  ])
  expect(order).toEqual(['short 3', 'long 3'])
})

test('limits that are set while it is read hold for those who wait', async () => {
  const house = await openWindowHouse()
  const key = await house.issue({ rpd: USED + 3 })
  await use(house, key)
  const amend = (rpd: number) =>
    house.store.keys.amend(key.id, { limits: { rpd } }, house.clock.now())
  await amend(USED / 2)
  await house.restart()
  const waiting = house.serve(key, 200)
  // Half of the window is what would be read otherwise.
  await amend(USED + 7)
  expect(await waiting).toBe(7)
})

test('a key that is revoked while it is read admits nobody', async () => {
  const house = await openWindowHouse()
  const key = await house.issue({ rpd: USED + 3 })
  await use(house, key)
  await house.restart()
  const waiting = house.serve(key, 200)
  await house.store.keys.revoke(key.id, house.clock.now())
  expect(await waiting).toBe(0)
})

test('requests that end while it is read for a higher limit are counted once', async () => {
  const house = await openWindowHouse()
  const key = await house.issue({})
  await use(house, key)
  const running = Array.from({ length: 100 }, () => house.claim(key))
  for (const claim of running) await house.store.admissions.admit(claim)
  await house.store.keys.amend(key.id, { limits: { rpd: USED + 105 } }, house.clock.now())
  const waiting = house.serve(key, 200)
  // One in every turn, as the slices are read.
  for (const claim of running) {
    await house.settle(claim)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await waiting).toBe(5)
  expect((await house.store.audit()).findings).toEqual([])
})
