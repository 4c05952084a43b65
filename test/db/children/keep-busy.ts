/**
 * Serves requests and tops up until it is killed. Each line it prints is a promise that must outlive it:
 * `settled <generation> <nanos>` or `credited <ref>`.
 */

import { writeSync } from 'node:fs'
import { openStore } from '#db/index.ts'
import { systemClock } from '#domain/clock.ts'
import { newAccountId, newKeyId } from '#domain/id.ts'
import type { UsdNanos } from '#domain/money.ts'
import { newSecret } from '#domain/secret.ts'
import { admitClaim } from '#test/support/admit.ts'
import { aCharge, aClaim, aKey, anAccount, anAct, anActivity, aTopUp } from '#test/support/nouns.ts'

const WORKERS = 8
const clock = systemClock
const store = await openStore({ dataDir: process.argv[2] ?? '', clock, serves: true })

const accountId = newAccountId(clock.now())
await store.accounts.create(anAccount({ id: accountId, name: accountId }), anAct())
await store.ledger.credit(
  aTopUp(clock.now(), 1_000_000_000n as UsdNanos, { accountId, ref: accountId }),
  anAct(),
)
const key = aKey(clock.now(), {}, { id: newKeyId(clock.now()), accountId })
await store.keys.issue(key, newSecret(), anAct())

const acknowledge = (line: string): void => {
  writeSync(1, `${line}\n`)
}
const upTo = (most: number): number => Math.floor(Math.random() * most)

async function serve(): Promise<never> {
  for (;;) {
    const claim = aClaim(key, clock.now(), 1_000n as UsdNanos)
    const { admitted } = await admitClaim(store.admissions, claim)
    if (!admitted) throw new Error('refused')
    await Bun.sleep(upTo(3))
    const cost = BigInt(upTo(1_000)) as UsdNanos
    await store.admissions.settle(claim.generationId, {
      answer: null,
      at: clock.now(),
      charge: aCharge(cost),
      activity: anActivity(claim, { cost }),
    })
    acknowledge(`settled ${claim.generationId} ${cost}`)
  }
}

async function topUp(): Promise<never> {
  for (let n = 0; ; n++) {
    const ref = `${accountId}-${n}`
    await store.ledger.credit(aTopUp(clock.now(), 1_000n as UsdNanos, { accountId, ref }), anAct())
    acknowledge(`credited ${ref}`)
    await Bun.sleep(upTo(20))
  }
}

await Promise.all([topUp(), ...Array.from({ length: WORKERS }, serve)])
