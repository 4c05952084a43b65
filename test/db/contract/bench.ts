/** The bench that a store is tried on: a fresh one for every test, a clock wound by hand, and the acts that tests repeat. */

import { afterEach, beforeEach } from 'vitest'
import type { Claim, Refusal, Verdict } from '#domain/admission.ts'
import type { Clock } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Limits } from '#domain/limits.ts'
import type { UsdNanos } from '#domain/money.ts'
import { labelOf, newSecret, type Secret } from '#domain/secret.ts'
import type { GatewayStore } from '#signin/store.ts'
import { admitClaim } from '#test/support/admit.ts'
import { type HandClock, handClock } from '#test/support/hand-clock.ts'
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

export type OpenStore = (clock: Clock) => Promise<GatewayStore>
/** Ends the store's process and starts another over the same data. */
export type ReopenStore = (store: GatewayStore, clock: Clock) => Promise<GatewayStore>

export interface Bench {
  readonly store: GatewayStore
  readonly clock: HandClock
  /** Whether this engine has a `restart`. */
  readonly survives: boolean
  /** Whether what a window knows beyond the log is gone after a `restart`. */
  readonly forgetsSteps: boolean
  restart(): Promise<void>
  issue(limits?: Partial<Limits>, stated?: Partial<ApiKey>): Promise<IssuedKey>
  topUp(amount: string, accountId?: AccountId): Promise<UsdNanos>
  /** Asks for admission now. */
  admit(key: ApiKey, hold?: string): Promise<Attempt>
  /** Settles with this charge, or voids. */
  settle(claim: Claim, amount: string | null): Promise<boolean>
  /** Admits and settles at once. */
  spend(key: ApiKey, amount: string): Promise<Claim>
}

export interface IssuedKey {
  readonly key: ApiKey
  readonly secret: Secret
}

export interface Attempt {
  readonly claim: Claim
  readonly verdict: Verdict
  readonly refusal: Refusal | null
}

/** Registers the opening and closing of a store around each test; one account with $100 is there. */
export function setBench(open: OpenStore, reopen?: ReopenStore, forgetsSteps = true): Bench {
  let store: GatewayStore
  let clock: HandClock

  beforeEach(async () => {
    clock = handClock('2026-08-22T12:00:00Z')
    store = await open(clock)
    await store.accounts.create(anAccount(), anAct())
    await bench.topUp('100')
  })
  afterEach(() => store.close())

  const bench: Bench = {
    get store() {
      return store
    },
    get clock() {
      return clock
    },
    survives: reopen !== undefined,
    forgetsSteps: reopen !== undefined && forgetsSteps,
    async restart() {
      if (reopen) store = await reopen(store, clock)
    },
    async issue(limits = {}, stated = {}) {
      const secret = newSecret()
      const key = aKey(clock.now(), limits, { label: labelOf(secret), ...stated })
      await store.keys.issue(key, secret, anAct())
      return { key, secret }
    },
    topUp: (amount, accountId = 'acct_1') =>
      store.ledger.credit(aTopUp(clock.now(), usd(amount), { accountId }), anAct()),
    async admit(key, hold = '0.01') {
      const catalogue = store.catalogue.current().version
      const claim = { ...aClaim(key, clock.now(), usd(hold)), catalogue }
      const verdict = await admitClaim(store.admissions, claim)
      return { claim, verdict, refusal: verdict.admitted ? null : verdict.refusal }
    },
    settle(claim, amount) {
      const charge = amount === null ? null : aCharge(usd(amount))
      const cost = charge && { cost: charge.amount, costRub: charge.costRub }
      const activity = anActivity(claim, { ...cost })
      return store.admissions.settle(claim.generationId, {
        answer: null,
        at: clock.now(),
        charge,
        activity,
      })
    },
    async spend(key, amount) {
      const { claim, refusal } = await bench.admit(key, amount)
      if (refusal) throw new Error(`not admitted: ${refusal.code}`)
      await bench.settle(claim, amount)
      return claim
    },
  }
  return bench
}

/** So few that what settles them together is short in every engine, on a busy machine too. */
const AT_ONCE = 25

/** So many requests, some at once: a crowd one after the other takes several times as long. */
export async function askMany(
  count: number,
  ask: (nth: number) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, nth) => from + nth)
    await Promise.all(some.map(ask))
  }
}
