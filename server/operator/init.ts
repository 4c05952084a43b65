/** Creates the default account, the demo provider with its models, and a first key. Idempotent: adds only what is missing. */
import * as z from 'zod/mini'
import { type Account, DEFAULT_ACCOUNT_NAME, draftAccount } from '#domain/account.ts'
import { GatewayError } from '#domain/errors.ts'
import { NO_MONEY, renderUsd } from '#domain/money.ts'
import { nameField, orNull, usdField } from '#forms/fields.ts'
import { requireKeyName } from '#forms/key-warnings.ts'
import { credit } from './balance.ts'
import type { OperatorDeps } from './deps.ts'
import { findAccount } from './find-account.ts'
import { createFirstKey, type IssuedKeyRecord } from './keys.ts'
import { type DraftAct, mutation } from './verb.ts'

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
    demo_credit_usd: orNull(usdField),
    rpm_limit: orNull(z.int().check(z.minimum(1))),
  }),
  async (deps, input, act): Promise<InitRecord> => {
    requireKeyName(input.key_name, 'key_name')
    const made = await createAccount(deps, act)
    const isNew = made !== null
    const amount = isNew ? (input.demo_credit_usd ?? NO_MONEY) : NO_MONEY
    if (isNew && amount !== NO_MONEY) {
      await credit(deps, made, { kind: 'top_up', amount, note: 'first credit', ref: null }, act)
    }
    const hasDemo = input.demo && (await addDemo(deps, isNew, act))
    const key = input.first_key ? await firstKey(deps, input.key_name, input.rpm_limit) : null
    const account = await findAccount(deps, DEFAULT_ACCOUNT_NAME)
    return {
      account: account.name,
      balance_usd: renderUsd(account.balance),
      created: [
        ...(isNew ? ['account' as const] : []),
        ...(hasDemo ? ['provider' as const] : []),
        ...(amount === NO_MONEY ? [] : ['credit' as const]),
        ...(key ? ['key' as const] : []),
      ],
      models: [...deps.store.catalogue.current().models.keys()],
      key,
    }
  },
)

/** Null where a node that starts at the same moment has made it. */
const unlessMade = async <Made>(making: Promise<Made>): Promise<Made | null> => {
  try {
    return await making
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.code === 'already_exists') return null
    throw thrown
  }
}

/** Null where it is there. */
async function createAccount(
  { store, clock }: OperatorDeps,
  act: DraftAct,
): Promise<Account | null> {
  if (await store.accounts.findByName(DEFAULT_ACCOUNT_NAME)) return null
  const at = clock.now()
  const name = DEFAULT_ACCOUNT_NAME
  const account = draftAccount(name, at)
  const making = store.accounts.create(account, act(name, { created: 'account' }))
  return await unlessMade(making.then(() => account))
}

/** Added only with a new account or when there is no provider, so that a removed demo is not added again. */
async function addDemo(deps: OperatorDeps, isNew: boolean, act: DraftAct): Promise<boolean> {
  const { store, clock } = deps
  const { providers } = store.catalogue.current()
  if (!isNew && providers.size > 0) return false
  const { provider, cards } = await deps.demoKit(clock.now())
  if (providers.has(provider.name)) return false
  const added = act(provider.name, { created: 'provider', models: cards.length })
  const making = store.providers.add(provider, [], cards, added)
  return (await unlessMade(making.then(() => true))) ?? false
}

async function firstKey(
  deps: OperatorDeps,
  name: string,
  rpm: number | null,
): Promise<IssuedKeyRecord | null> {
  const input = await createFirstKey.read({ name, rpm_limit: rpm })
  return await unlessMade(createFirstKey.run(deps, input))
}
