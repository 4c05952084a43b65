/** Creates the default account, the demo provider with its models, and a first key. Idempotent: adds only what is missing. */
import * as z from 'zod/mini'
import { DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import { newAccountId, newEntryId } from '#domain/id.ts'
import { NO_MONEY, renderUsd, type UsdNanos } from '#domain/money.ts'
import { nameField, usdField } from '#forms/fields.ts'
import type { OperatorDeps } from './deps.ts'
import { findAccount } from './find-account.ts'
import { createKey, type IssuedKeyRecord } from './keys.ts'
import { mutation } from './verb.ts'

export interface InitRecord {
  readonly account: string
  readonly balance_usd: string
  /** What this run created. */
  readonly created: readonly ('account' | 'provider' | 'credit' | 'key')[]
  readonly models: readonly string[]
  /** The first key with its secret; null when there already was a key. */
  readonly key: IssuedKeyRecord | null
}

const FIRST_KEY_NAME = 'default'

export const initialise = mutation(
  'init',
  z.strictObject({
    key_name: z._default(nameField, FIRST_KEY_NAME),
    /** False when a server initialises its own store: nobody would see the secret. */
    first_key: z._default(z.boolean(), true),
    demo: z._default(z.boolean(), true),
    /** Credited only when the account is created. */
    demo_credit_usd: z._default(z.nullable(usdField), null),
    rpm_limit: z._default(z.nullable(z.int().check(z.minimum(1))), null),
  }),
  async (deps, input): Promise<InitRecord> => {
    const isNew = await createAccount(deps)
    const credited = isNew && (await credit(deps, input.demo_credit_usd ?? NO_MONEY))
    const hasDemo = input.demo && (await addDemo(deps, isNew))
    const key = input.first_key ? await firstKey(deps, input.key_name, input.rpm_limit) : null
    const account = await findAccount(deps, DEFAULT_ACCOUNT_NAME)
    return {
      account: account.name,
      balance_usd: renderUsd(account.balance),
      created: [
        ...(isNew ? ['account' as const] : []),
        ...(hasDemo ? ['provider' as const] : []),
        ...(credited ? ['credit' as const] : []),
        ...(key ? ['key' as const] : []),
      ],
      models: (await deps.store.models.list()).map(({ id }) => id),
      key,
    }
  },
  (_, { account, created, balance_usd, key }) =>
    created.length === 0
      ? null
      : { target: account, changed: { created, balance_usd, key: key?.id ?? null } },
)

async function createAccount({ store, clock }: OperatorDeps): Promise<boolean> {
  if (await store.accounts.findByName(DEFAULT_ACCOUNT_NAME)) return false
  const at = clock.now()
  await store.accounts.create({
    id: newAccountId(at),
    name: DEFAULT_ACCOUNT_NAME,
    createdAt: at,
    balance: NO_MONEY,
  })
  return true
}

async function credit(deps: OperatorDeps, amount: UsdNanos): Promise<boolean> {
  if (amount === NO_MONEY) return false
  const at = deps.clock.now()
  await deps.store.ledger.credit({
    id: newEntryId(at),
    accountId: (await findAccount(deps, DEFAULT_ACCOUNT_NAME)).id,
    kind: 'top_up',
    amount,
    at,
    keyId: null,
    generationId: null,
    day: null,
    endUser: null,
    rubPerUsd: (await deps.store.rates.at(at)).rubPerUsd,
    priceVersion: null,
    note: 'first credit',
    ref: null,
  })
  return true
}

/** Added only with a new account or when there is no provider, so that a removed demo is not added again. */
async function addDemo(deps: OperatorDeps, isNew: boolean): Promise<boolean> {
  const { store, clock } = deps
  if (!isNew && (await store.providers.list()).length > 0) return false
  const { provider, cards } = await deps.demoKit(clock.now())
  if (await store.providers.find(provider.name)) return false
  await store.providers.add(provider, null)
  for (const card of cards) await store.models.add(card)
  return true
}

async function firstKey(
  deps: OperatorDeps,
  name: string,
  rpm: number | null,
): Promise<IssuedKeyRecord | null> {
  const { totalCount } = await deps.store.keys.list({ includeRevoked: true, limit: 1 })
  if (totalCount > 0) return null
  return createKey.run(deps, await createKey.read({ name, rpm_limit: rpm }))
}
