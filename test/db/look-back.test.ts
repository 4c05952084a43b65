// A look back over a long log or ledger lets requests pass: it must not hold the one thread until it has found what it seeks.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore } from '#db/index.ts'
import type { Store } from '#domain/store.ts'
import { handClock } from '#test/support/hand-clock.ts'
import {
  aCharge,
  aClaim,
  aKey,
  anAccount,
  anAct,
  anActivity,
  aTopUp,
  usd,
} from '#test/support/nouns.ts'

const LINES = 10_000

/** A long log and a long ledger. */
async function openLong(): Promise<Store> {
  const clock = handClock('2026-08-22T12:00:00Z')
  const store = await openStore({ dataDir: ':memory:', clock })
  await store.accounts.create(anAccount(), anAct())
  await store.ledger.credit(aTopUp(clock.now(), usd('100')), anAct())
  const key = aKey(clock.now())
  await store.keys.issue(key, 'if-x' as never, anAct())
  const at = clock.now()
  const charge = aCharge(usd('0.000000001'))
  const settled: Promise<boolean>[] = []
  for (let i = 0; i < LINES; i++) {
    const claim = aClaim(key, at, usd('0'))
    await store.admissions.admit(claim)
    settled.push(
      store.admissions.settle(claim.generationId, {
        answer: null,
        at,
        charge,
        activity: anActivity(claim),
      }),
    )
  }
  await Promise.all(settled)
  return store
}

let store: Store
beforeAll(async () => {
  store = await openLong()
})
afterAll(() => store.close())

const LOOKS: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  'activity list': ({ activity }) => activity.list({ requestId: 'nobody', limit: 1 }),
  drift: ({ activity }) => activity.drift({}),
  usage: ({ activity }) => activity.usage({ by: 'key', thenBy: null, top: 1 }),
  'ledger list': ({ ledger }) => ledger.list({ kind: 'refund', limit: 1 }),
  audit: (store) => store.audit(),
}

test.each(Object.keys(LOOKS))('%s gives the thread back again and again', async (name) => {
  // Loads what is loaded once, and commits what was noted.
  await LOOKS[name]?.(store)

  let turns = 0
  let isLooking = true
  const count = (): void => {
    turns++
    if (isLooking) setImmediate(count)
  }
  setImmediate(count)
  await LOOKS[name]?.(store)
  isLooking = false
  // Between any two slices of a thousand; half of that is still far from holding the thread.
  expect(turns).toBeGreaterThanOrEqual(LINES / 2_000)
})
