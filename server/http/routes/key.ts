/** GET /v1/key: a key asks about itself; it takes no slot and answers when every limit is exhausted (spec §4.5). */
import type { CounterHouse } from '../house.ts'
import { readQuota, renderJson, type Visit } from '../visit.ts'
import { renderKeyInfo } from '../wire/render-key-info.ts'
import { admitAny } from './admit-kind.ts'

export async function showKey(house: CounterHouse, visit: Visit): Promise<Response> {
  const { store, clock } = house
  const key = await admitAny(house, visit)
  const at = clock.now()
  const usage = await store.admissions.usage(key.id, at)
  const account = await store.accounts.find(key.accountId)
  const { rubPerUsd } = await store.rates.at(at)
  if (!account) throw new Error(`key ${key.id} has no account`)
  await readQuota(house, visit)
  return renderJson(visit, renderKeyInfo({ key, usage, balance: account.balance, rubPerUsd, at }))
}
