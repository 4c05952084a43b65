// A window of thousands is read back from the log in slices: others are served meanwhile, and not a slot is lost or won.
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#db/index.ts'
import type { Claim } from '#domain/admission.ts'
import { DAY_MS } from '#domain/clock.ts'
import type { ApiKey, Limits } from '#domain/key.ts'
import type { Store } from '#domain/store.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { aCharge, aClaim, aKey, anAccount, anActivity, aTopUp, usd } from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

/** More than one slice by far, and the first of their instants more than a slice by itself. */
const LONG = [1_500, ...Array<number>(50).fill(70)]
const USED = LONG.reduce((sum, one) => sum + one, 0)

async function open() {
  const clock = handClock('2026-08-22T12:00:00Z')
  const dataDir = tempDirectory()
  let store: Store = await openStore({ dataDir, clock })
  onTestFinished(() => store.close())
  await store.accounts.create(anAccount())
  await store.ledger.credit(aTopUp(clock.now(), usd('100')))

  const house = {
    clock,
    get store() {
      return store
    },
    async restart() {
      await store.close()
      store = await openStore({ dataDir, clock })
    },
    async issue(limits: Partial<Limits>): Promise<ApiKey> {
      const key = aKey(clock.now(), limits)
      await store.keys.issue(key, `if-${key.id}` as never)
      return key
    },
    claim: (key: ApiKey): Claim => aClaim(key, clock.now(), usd('0.000000001')),
    settle: (claim: Claim) =>
      store.admissions.settle(claim.generationId, {
        at: clock.now(),
        charge: aCharge(usd('0.000000001')),
        activity: anActivity(claim),
      }),
    /** How many of so many at once are admitted; they are settled. */
    async admit(key: ApiKey, count: number): Promise<number> {
      const claims = Array.from({ length: count }, () => house.claim(key))
      const admitted = await Promise.all(
        claims.map(async (claim) => {
          const verdict = await store.admissions.admit(claim)
          return verdict.admitted && (await house.settle(claim))
        }),
      )
      return admitted.filter(Boolean).length
    },
    /** Uses the window up, a second between two instants. */
    async use(key: ApiKey): Promise<void> {
      for (const count of LONG) {
        expect(await house.admit(key, count)).toBe(count)
        clock.advance(1_000)
      }
    },
  }
  return house
}

test('after a restart what is left of it is served, and each slot frees at its own instant', async () => {
  const house = await open()
  const key = await house.issue({ rpd: USED + 3 })
  await house.use(key)
  await house.restart()
  expect(await house.admit(key, 200)).toBe(3)
  expect(await house.store.admissions.usage(key.id, house.clock.now())).toMatchObject({
    requestsDay: USED + 3,
  })
  const [first = 0, second = 0] = LONG
  house.clock.advance(DAY_MS - LONG.length * 1_000 - 1)
  expect(await house.admit(key, 10)).toBe(0)
  house.clock.advance(1)
  expect(await house.admit(key, first + 10)).toBe(first)
  house.clock.advance(1_000)
  expect(await house.admit(key, second + 10)).toBe(second)
})

test('a key without a limit is told how many they were', async () => {
  const house = await open()
  const key = await house.issue({})
  await house.use(key)
  expect(await house.store.admissions.usage(key.id, house.clock.now())).toMatchObject({
    requestsDay: USED,
  })
})

test('another key is served while it is read', async () => {
  const house = await open()
  const key = await house.issue({ rpd: USED + 3 })
  const other = await house.issue({ rpd: 3 })
  await house.use(key)
  await house.restart()
  const order: string[] = []
  await Promise.all([
    house.admit(key, 10).then((count) => order.push(`long ${count}`)),
    house.admit(other, 10).then((count) => order.push(`short ${count}`)),
  ])
  expect(order).toEqual(['short 3', 'long 3'])
})

test('limits that are set while it is read hold for those who wait', async () => {
  const house = await open()
  const key = await house.issue({ rpd: USED + 3 })
  await house.use(key)
  const amend = (rpd: number) =>
    house.store.keys.amend(key.id, { limits: { rpd } }, house.clock.now())
  await amend(USED / 2)
  await house.restart()
  const waiting = house.admit(key, 200)
  // Half of the window is what would be read otherwise.
  await amend(USED + 7)
  expect(await waiting).toBe(7)
})

test('a key that is revoked while it is read admits nobody', async () => {
  const house = await open()
  const key = await house.issue({ rpd: USED + 3 })
  await house.use(key)
  await house.restart()
  const waiting = house.admit(key, 200)
  await house.store.keys.revoke(key.id, house.clock.now())
  expect(await waiting).toBe(0)
})

test('requests that end while it is read for a higher limit are counted once', async () => {
  const house = await open()
  const key = await house.issue({})
  await house.use(key)
  const running = Array.from({ length: 100 }, () => house.claim(key))
  for (const claim of running) await house.store.admissions.admit(claim)
  await house.store.keys.amend(key.id, { limits: { rpd: USED + 105 } }, house.clock.now())
  const waiting = house.admit(key, 200)
  // One in every turn, as the slices are read.
  for (const claim of running) {
    await house.settle(claim)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await waiting).toBe(5)
  expect((await house.store.audit()).findings).toEqual([])
})
