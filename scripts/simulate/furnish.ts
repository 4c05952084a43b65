/** What a world's gateway starts with: accounts with little money, keys with low limits, and the demo models. */
import { type Account, draftAccount } from '#domain/account.ts'
import { draftAct } from '#domain/act.ts'
import type { Instant } from '#domain/clock.ts'
import { newEntryId, newKeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { type Limits, NO_LIMITS } from '#domain/limits.ts'
import type { UsdNanos } from '#domain/money.ts'
import { DEFAULT_RUB_PER_USD } from '#domain/rate.ts'
import { labelOf, newSecret } from '#domain/secret.ts'
import type { Store } from '#domain/store.ts'
import { demoCards, demoProvider } from '#upstream/demo/cards.ts'
import type { Customer } from './clients.ts'
import type { World } from './world.ts'

export interface Furniture {
  readonly accounts: readonly Account[]
  readonly keys: readonly ApiKey[]
  readonly customers: readonly Customer[]
}

const NOTHING = { target: null, changed: {} }
const ACCOUNTS = 2
const KEYS = 4

/** At `at`, by the ports that an operator's verbs use. */
export async function furnish(world: World, store: Store, at: Instant): Promise<Furniture> {
  const act = () => draftAct(at, 'world', 'furnish', NOTHING)
  const { chance } = world
  const nanos = (least: number, most: number): UsdNanos =>
    BigInt(least + chance.pick(most - least)) as UsdNanos
  const some = <T>(percent: number, value: () => T): T | null =>
    world.odds(percent) ? value() : null
  const drawLimits = (): Limits => ({
    ...NO_LIMITS,
    rpm: some(35, () => 4 + chance.pick(16)),
    rpd: some(10, () => 15 + chance.pick(30)),
    tpm: some(10, () => 1_500 + chance.pick(6_000)),
    concurrency: some(40, () => 1 + chance.pick(3)),
    dailySpend: some(30, () => nanos(300_000, 2_500_000)),
    monthlySpend: some(15, () => nanos(400_000, 3_000_000)),
  })

  await store.providers.add(demoProvider(at), [], [], act())
  for (const card of demoCards(at)) await store.models.add(card, act())
  const accounts: Account[] = []
  for (let nth = 0; nth < ACCOUNTS; nth++) {
    const account = draftAccount(`account-${nth}`, at, world.odds(30) ? drawLimits() : {})
    const balance = nanos(2_000_000, 12_000_000)
    await store.accounts.create(account, act())
    await store.ledger.credit(
      {
        id: newEntryId(at),
        accountId: account.id,
        kind: 'top_up',
        amount: balance,
        at,
        ...{ keyId: null, generationId: null, day: null, endUser: null, priceVersion: null },
        ...{ note: null, ref: null, rubPerUsd: DEFAULT_RUB_PER_USD },
      },
      act(),
    )
    accounts.push({ ...account, balance })
  }
  const keys: ApiKey[] = []
  const customers: Customer[] = []
  for (let nth = 0; nth < KEYS; nth++) {
    const account = accounts[nth % ACCOUNTS] as Account
    const secret = newSecret()
    const key: ApiKey = {
      id: newKeyId(at),
      accountId: account.id,
      name: `key-${nth}`,
      kind: 'ordinary',
      label: labelOf(secret),
      note: null,
      limits: drawLimits(),
      accountLimits: account.limits,
      createdAt: at,
      updatedAt: at,
      ...{ lastUsedAt: null, expiresAt: null, disabledAt: null, revokedAt: null, madeBy: null },
    }
    await store.keys.issue(key, secret, act())
    keys.push(key)
    customers.push({ id: key.id, secret })
  }
  return { accounts, keys, customers }
}
