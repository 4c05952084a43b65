/** A directory of its own with money, keys of any limits, and a clock set by hand: what the tests of windows are played in. */

import { expect, onTestFinished } from 'vitest'
import { openStore } from '#db/index.ts'
import type { Claim } from '#domain/admission.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Limits } from '#domain/limits.ts'
import type { Store } from '#domain/store.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { admitClaim } from '#test/support/admit.ts'
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
import { tempDirectory } from '#test/support/temp-directory.ts'

const PENNY = usd('0.000000001')

export type WindowStore = Awaited<ReturnType<typeof openWindowStore>>

export async function openWindowStore() {
  const dataDir = tempDirectory()
  const clock = handClock('2026-08-22T12:00:00Z')
  let store: Store = await openStore({ dataDir, clock })
  let isOpen = true
  const close = async (): Promise<void> => {
    if (isOpen) await store.close()
    isOpen = false
  }
  onTestFinished(close)
  await store.accounts.create(anAccount(), anAct())
  await store.ledger.credit(aTopUp(clock.now(), usd('100')), anAct())

  const deps = {
    dataDir,
    clock,
    get store() {
      return store
    },
    close,
    async restart(): Promise<void> {
      await close()
      store = await openStore({ dataDir, clock })
      isOpen = true
    },
    async issue(limits: Partial<Limits> = {}): Promise<ApiKey> {
      const key = aKey(clock.now(), limits)
      await store.keys.issue(key, `if-${key.id}` as never, anAct())
      return key
    },
    claim: (key: ApiKey): Claim => aClaim(key, clock.now(), PENNY),
    async begin(key: ApiKey): Promise<Claim> {
      const claim = deps.claim(key)
      expect(await admitClaim(store.admissions, claim)).toMatchObject({ admitted: true })
      return claim
    },
    /** With so many tokens of output. */
    settle: (claim: Claim, outputTokens = 0): Promise<boolean> =>
      store.admissions.settle(claim.generationId, {
        answer: null,
        at: clock.now(),
        charge: aCharge(PENNY),
        activity: {
          ...anActivity(claim, { usage: { ...NO_USAGE, outputTokens } }),
          startedAt: claim.at,
          totalMs: clock.now() - claim.at,
        },
      }),
    /** How many of so many at once are admitted; they are settled. */
    async serve(key: ApiKey, count: number): Promise<number> {
      const claims = Array.from({ length: count }, () => deps.claim(key))
      const admitted = await Promise.all(
        claims.map(async (claim) => {
          const verdict = await admitClaim(store.admissions, claim)
          return verdict.admitted && (await deps.settle(claim))
        }),
      )
      return admitted.filter(Boolean).length
    },
    /** So many at once, each of which is admitted. */
    async serveAll(key: ApiKey, count: number): Promise<void> {
      expect(await deps.serve(key, count)).toBe(count)
    },
    /** The requests that a key's day window has, of one without a limit from the tables alone. */
    async countDay({ id }: ApiKey): Promise<number> {
      return (await store.admissions.usage(id, clock.now())).requestsDay
    },
  }
  return deps
}
