// A window of thousands is read back from the log in slices: others are served meanwhile, and not a slot is lost or won.

import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DATABASE_FILE } from '#db/file-name.ts'
import { untilCurrent } from '#domain/catalogue.ts'
import { DAY_MS } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { anAct, anActivity, anOwner, usd } from '#test/support/nouns.ts'
import { openWindowStore, type WindowStore } from './window-store.ts'

/** More than one slice by far, and the first of their instants more than a slice by itself. */
const LONG = [1_500, ...Array<number>(50).fill(70)]
const USED = LONG.reduce((sum, one) => sum + one, 0)

/** Uses the window up, a second between two instants. */
async function use(deps: WindowStore, key: ApiKey): Promise<void> {
  for (const count of LONG) {
    await deps.serveAll(key, count)
    deps.clock.advance(1_000)
  }
}

test('after a restart what is left of it is served, and each slot frees at its own instant', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue({ rpd: USED + 3 })
  await use(deps, key)
  await deps.restart()
  expect(await deps.serve(key, 200)).toBe(3)
  expect(await deps.store.admissions.usage(key.id, deps.clock.now())).toMatchObject({
    requestsDay: USED + 3,
  })
  const [first = 0, second = 0] = LONG
  deps.clock.advance(DAY_MS - LONG.length * 1_000 - 1)
  expect(await deps.serve(key, 10)).toBe(0)
  deps.clock.advance(1)
  expect(await deps.serve(key, first + 10)).toBe(first)
  deps.clock.advance(1_000)
  expect(await deps.serve(key, second + 10)).toBe(second)
})

test('a key without a limit reads the number of its requests', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue({})
  await use(deps, key)
  expect(await deps.store.admissions.usage(key.id, deps.clock.now())).toMatchObject({
    requestsDay: USED,
  })
})

test('another key is served while it is read', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue({ rpd: USED + 3 })
  const other = await deps.issue({ rpd: 3 })
  await use(deps, key)
  await deps.restart()
  const order: string[] = []
  await Promise.all([
    deps.serve(key, 10).then((count) => order.push(`long ${count}`)),
    deps.serve(other, 10).then((count) => order.push(`short ${count}`)),
  ])
  expect(order).toEqual(['short 3', 'long 3'])
})

test('limits that are set while it is read hold for those who wait', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue({ rpd: USED + 3 })
  await use(deps, key)
  const amend = (rpd: number) =>
    deps.store.keys.amend(key.id, { limits: { rpd } }, anAct(deps.clock.now()))
  await amend(USED / 2)
  await deps.restart()
  const waiting = deps.serve(key, 200)
  // Half of the window is what would be read otherwise.
  await amend(USED + 7)
  expect(await waiting).toBe(7)
})

test('a key that is revoked while its windows are read admits no request', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue({ rpd: USED + 3 })
  await use(deps, key)
  await deps.restart()
  const waiting = deps.serve(key, 200)
  await deps.store.keys.revoke(key.id, anAct(deps.clock.now()))
  expect(await waiting).toBe(0)
})

test.each(['key', 'account'] as const)(
  'the tokens of requests that end while it is read are counted once, for a limit of the %s',
  async (whose) => {
    const deps = await openWindowStore()
    const key = await deps.issue({})
    for (let n = 0; n < 3; n++) await deps.serveAll(key, 1_000)
    const running = Array.from({ length: 60 }, () => deps.claim(key))
    for (const claim of running) await deps.store.admissions.admit(claim)
    const limits = { tpm: 1_000, rpd: 100_000 }
    const act = anAct(deps.clock.now())
    if (whose === 'key') await deps.store.keys.amend(key.id, { limits }, act)
    else await deps.store.accounts.amend('acct_1', { limits }, act)
    const left = async () => {
      const at = deps.clock.now()
      const { admissions } = deps.store
      const [reading] =
        whose === 'key'
          ? await admissions.quota([key.id], at)
          : await admissions.accountUse(['acct_1'], at)
      return reading?.tokens?.remaining
    }
    const reading = left()
    // One in every turn, as the slices are read.
    for (const claim of running) {
      await deps.settle(claim, 7)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await reading
    expect(await left()).toBe(1_000 - 7 * running.length)
  },
)

test('requests that end while it is read for a higher limit are counted once', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue({})
  await use(deps, key)
  const running = Array.from({ length: 100 }, () => deps.claim(key))
  for (const claim of running) await deps.store.admissions.admit(claim)
  await deps.store.keys.amend(key.id, { limits: { rpd: USED + 105 } }, anAct(deps.clock.now()))
  const waiting = deps.serve(key, 200)
  // One in every turn, as the slices are read.
  for (const claim of running) {
    await deps.settle(claim)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await waiting).toBe(5)
  expect((await deps.store.audit()).findings).toEqual([])
})

/** Every turn takes long, and brings another request, as long as `isOver` does not hold. */
async function passTurns(
  deps: WindowStore,
  isOver: () => boolean,
  arrive: () => void,
): Promise<void> {
  while (!isOver()) {
    deps.clock.advance(300)
    arrive()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('requests that come while it is read for longer than a second are admitted once it is', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue({ rpd: USED + 1_000 })
  await use(deps, key)
  await deps.restart()
  const { admissions } = deps.store
  const admit = () => untilCurrent(() => admissions.admit(deps.claim(key)))
  let isRead = false
  const first = admit().finally(() => {
    isRead = true
  })
  const others: ReturnType<typeof admit>[] = []
  await passTurns(
    deps,
    () => isRead,
    () => {
      others.push(admit())
    },
  )
  expect(others.length).toBeGreaterThan(4)
  for (const verdict of await Promise.all([first, ...others])) {
    expect(verdict).toMatchObject({ admitted: true })
  }
})

test('what is used is told however long it is read', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue({ rpd: USED + 1_000 })
  await use(deps, key)
  await deps.restart()
  let isRead = false
  const { admissions } = deps.store
  const usage = admissions.usage(key.id, deps.clock.now()).finally(() => {
    isRead = true
  })
  await passTurns(
    deps,
    () => isRead,
    () => void admissions.spending([key.id], deps.clock.now()),
  )
  expect(await usage).toMatchObject({ requestsDay: USED })
})

test('what an account has used is told however long it is read', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue()
  await use(deps, key)
  const limits = { rpd: USED + 1_000 }
  await deps.store.accounts.amend(key.accountId, { limits }, anAct(deps.clock.now()))
  let isRead = false
  const { admissions } = deps.store
  const uses = admissions.accountUse([key.accountId], deps.clock.now()).finally(() => {
    isRead = true
  })
  await passTurns(
    deps,
    () => isRead,
    () => void admissions.accountUse([key.accountId], deps.clock.now()),
  )
  expect(await uses).toMatchObject([{ day: { remaining: 1_000 } }])
})

test('a request whose process has died while it was read is not admitted', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue({ rpd: USED + 3 })
  await use(deps, key)
  await deps.restart()
  const owner = anOwner()
  const { admissions } = deps.store
  const admitting = admissions.admit({ ...deps.claim(key), owner })
  await admissions.expire([owner.epoch], deps.clock.now())
  await expect(admitting).rejects.toMatchObject({ code: 'store_unavailable' })
  expect((await deps.store.health({ checkIntegrity: false })).openHolds).toBe(0)
  expect(await deps.serve(key, 10)).toBe(3)
})

test('tokens of requests that end while another window is read are counted', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue({})
  await use(deps, key)
  const { admissions, keys } = deps.store
  const running = Array.from({ length: 20 }, () => deps.claim(key))
  for (const claim of running) await admissions.admit(claim)
  const limits = { rpd: USED + 105, tpm: 1_000 }
  await keys.amend(key.id, { limits }, anAct(deps.clock.now()))
  const reading = admissions.judge(deps.claim(key))
  const usage = { ...NO_USAGE, inputTokens: 40, outputTokens: 10 }
  for (const claim of running) {
    const activity = { ...anActivity(claim), usage }
    const settlement = { at: deps.clock.now(), charge: null, activity, answer: null }
    await admissions.settle(claim.generationId, settlement)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await reading
  const judged = await admissions.judge(deps.claim(key))
  expect(judged).toMatchObject({ refusal: { limit: 'tpm_limit', used: 20 * 50 } })
})

test('a user who is new is looked up without ending the transaction that others share', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue({ endUserDailySpend: usd('1') })
  const claimOf = (endUser: string) => ({ ...deps.claim(key), endUser })
  const running = [claimOf('ann'), claimOf('bob')] as const
  for (const claim of running) await deps.store.admissions.admit(claim)
  const database = new Database(join(deps.dataDir, DATABASE_FILE), { readonly: true })
  const logged = () =>
    database.query<{ n: number }, []>('SELECT count(*) AS n FROM activity').get()?.n
  const settling = deps.settle(running[0])
  const admitting = deps.store.admissions.admit(claimOf('cay'))
  expect(logged()).toBe(0)
  await Promise.all([settling, admitting])
  expect(logged()).toBe(1)
  database.close()
})
