/** Nodes of one PostgreSQL, by the clock of the machine. */
import { onTestFinished } from 'vitest'
import type { Address } from '#db/postgres/engine/address.ts'
import { type Database, openDatabase } from '#db/postgres/engine/database.ts'
import { openPostgres } from '#db/postgres/store.ts'
import type { Claim } from '#domain/admission.ts'
import { systemClock } from '#domain/clock.ts'
import { newEpochId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Limits } from '#domain/limits.ts'
import { labelOf, newSecret } from '#domain/secret.ts'
import type { GatewayStore } from '#signin/store.ts'
import { aCharge, aClaim, aKey, anAccount, anAct, anActivity, aTopUp, usd } from './nouns.ts'

export async function openNode(address: Address, node: string): Promise<GatewayStore> {
  const store = await openPostgres({ address, clock: systemClock, node })
  onTestFinished(() => store.close())
  return store
}

/** Its tables, for a test that looks at them or stands in the way. */
export function openTables(address: Address): Database {
  const owner = { node: 'other', epoch: newEpochId(systemClock.now()) }
  const database = openDatabase(address, { clock: systemClock, owner, vault: null })
  onTestFinished(() => database.close())
  return database
}

export async function issue(
  store: GatewayStore,
  limits: Partial<Limits> = { concurrency: 1 },
): Promise<ApiKey> {
  await store.accounts.create(anAccount(), anAct())
  await store.ledger.credit(aTopUp(systemClock.now(), usd('100')), anAct())
  const secret = newSecret()
  const key = aKey(systemClock.now(), limits, { label: labelOf(secret) })
  await store.keys.issue(key, secret, anAct())
  return key
}

export const claimAt = (store: GatewayStore, key: ApiKey, hold = '0.01'): Claim => ({
  ...aClaim(key, systemClock.now(), usd(hold)),
  owner: store.owner,
})

export const settle = (store: GatewayStore, claim: Claim, amount?: string): Promise<boolean> => {
  const charge = amount === undefined ? null : aCharge(usd(amount))
  const cost = charge && { cost: charge.amount, costRub: charge.costRub }
  const activity = anActivity(claim, { ...cost })
  const at = systemClock.now()
  return store.admissions.settle(claim.generationId, { at, charge, activity, answer: null })
}
