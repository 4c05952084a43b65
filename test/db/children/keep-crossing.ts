/**
 * Crosses its threshold down by a charge and up by a credit until it is killed. It prints `account <id>` first; each line
 * after it is a promise that must outlive it: `crossed <how often>`.
 */

import { writeSync } from 'node:fs'
import { openStore } from '#db/index.ts'
import { systemClock } from '#domain/clock.ts'
import { newAccountId, newKeyId } from '#domain/id.ts'
import { newSecret } from '#domain/secret.ts'
import { admitClaim } from '#test/support/admit.ts'
import {
  aCharge,
  aClaim,
  aKey,
  anAccount,
  anAct,
  anActivity,
  aThreshold,
  aTopUp,
  usd,
} from '#test/support/nouns.ts'

const clock = systemClock
const store = await openStore({ dataDir: process.argv[2] ?? '', clock, serves: true })

const accountId = newAccountId(clock.now())
await store.accounts.create(anAccount({ id: accountId, name: accountId }), anAct())
const credit = (amount: string) =>
  store.ledger.credit(aTopUp(clock.now(), usd(amount), { accountId }), anAct())
await credit('20.5')
await store.thresholds.set(aThreshold({ accountId }), undefined, anAct(clock.now()))
const key = aKey(clock.now(), {}, { id: newKeyId(clock.now()), accountId })
await store.keys.issue(key, newSecret(), anAct())
writeSync(1, `account ${accountId}\n`)

for (let crossed = 1; ; crossed++) {
  const claim = aClaim(key, clock.now(), usd('1'))
  const { admitted } = await admitClaim(store.admissions, claim)
  if (!admitted) throw new Error('refused')
  const charge = aCharge(usd('1'))
  const activity = anActivity(claim, { cost: charge.amount })
  await store.admissions.settle(claim.generationId, {
    answer: null,
    at: clock.now(),
    charge,
    activity,
  })
  writeSync(1, `crossed ${crossed}\n`)
  // Many a kill is to come between the two.
  await Bun.sleep(Math.random() * 10)
  await credit('1')
}
