/** Verbs for balances: show, top up, adjust. */
import * as z from 'zod/mini'
import { type Account, accountClosed } from '#domain/account.ts'
import { GatewayError } from '#domain/errors.ts'
import { newEntryId } from '#domain/id.ts'
import type { LedgerEntry } from '#domain/ledger.ts'
import {
  NO_MONEY,
  negateUsd,
  readUsd,
  renderRub,
  renderRubPerUsd,
  renderUsd,
  toRub,
  type UsdNanos,
} from '#domain/money.ts'
import { type Rate, rateAt } from '#domain/rate.ts'
import { statedIn } from '#domain/stated.ts'
import { accountField, lineField, noteField, orNull, readAs, usdField } from '#forms/fields.ts'
import { shellWord } from '#forms/shell-word.ts'
import type { OperatorDeps } from './deps.ts'
import { findAccount } from './find-account.ts'
import { type EntryRecord, renderEntry } from './ledger.ts'
import { readDays, renderRunway } from './snapshot/money.ts'
import type { RunwayRecord } from './snapshot/record.ts'
import { type DraftAct, mutation, verb } from './verb.ts'

export interface BalanceRecord {
  readonly account: string
  readonly balance_usd: string
  readonly balance_rub: number
  readonly rub_per_usd: string
  readonly rate_set_by_operator: boolean
}

interface ShownBalanceRecord extends BalanceRecord {
  /** How long it lasts at the pace of late. */
  readonly runway: RunwayRecord
}

interface AdjustmentRecord extends BalanceRecord {
  readonly entry: EntryRecord
}

export interface TopUpRecord extends BalanceRecord {
  /** False when this `ref` had been applied before, so that nothing changed. */
  readonly applied: boolean
  readonly entry: EntryRecord
}

const render = (account: string, balance: UsdNanos, rate: Rate): BalanceRecord => ({
  account,
  balance_usd: renderUsd(balance),
  balance_rub: renderRub(toRub(balance, rate.rubPerUsd)),
  rub_per_usd: renderRubPerUsd(rate.rubPerUsd),
  rate_set_by_operator: rate.setByOperator,
})

/** @throws account_not_found */
export const showBalance = verb(
  z.strictObject({ account: accountField }),
  async (deps, input): Promise<ShownBalanceRecord> => {
    const { id, name, balance } = await findAccount(deps, input.account)
    const now = deps.clock.now()
    const spends = (await readDays(deps, now)).filter(({ accountId }) => accountId === id)
    return {
      ...render(name, balance, rateAt(deps.store.catalogue.current(), now)),
      runway: renderRunway(balance, spends, now),
    }
  },
)

/**
 * Credits an account. Idempotent by `ref`: a repeated one with the same amount changes nothing.
 * @throws account_not_found, account_closed, already_exists (the same `ref` with another amount)
 */
export const topUp = mutation(
  'balance.top-up',
  z.strictObject({
    account: accountField,
    amount_usd: usdField.check(
      z.refine((amount) => amount > NO_MONEY, 'must be more than nothing'),
    ),
    note: orNull(noteField),
    ref: orNull(lineField(200).check(z.minLength(1))),
  }),
  async (deps, input, act): Promise<TopUpRecord> => {
    const account = await findAccount(deps, input.account)
    const { amount_usd: amount, note, ref } = input
    // To one that is closed, only a repetition is answered: with its entry.
    const byRef = async () => (ref === null ? undefined : await entryByRef(deps, ref))
    if (account.closedAt !== null && (await byRef())?.accountId !== account.id) {
      throw accountClosed(account)
    }
    try {
      const credited = await credit(deps, account, { kind: 'top_up', amount, note, ref }, act)
      return { ...credited, applied: true }
    } catch (thrown) {
      // Only the store can tell which of two at once is the repetition.
      const isRepeated = thrown instanceof GatewayError && thrown.code === 'already_exists'
      const earlier = isRepeated ? await byRef() : undefined
      if (!earlier) throw thrown
      const isOurs = earlier.accountId === account.id
      if (!isOurs || earlier.amount !== amount) throw await refTaken(deps, earlier)
      // Read again: the account was read before that entry where both are of one moment.
      const { name, balance } = await findAccount(deps, account.id)
      return {
        ...render(name, balance, rateNow(deps)),
        applied: false,
        entry: renderEntry(earlier, name),
      }
    }
  },
)

const rateNow = ({ store, clock }: OperatorDeps): Rate =>
  rateAt(store.catalogue.current(), clock.now())

const signedUsdField = readAs((text) => {
  const amount = readUsd(text.replace(/^[+-]/, ''))
  if (amount === undefined || amount === NO_MONEY) return undefined
  return text.startsWith('-') ? negateUsd(amount) : amount
}, 'a decimal amount of dollars other than nothing, such as "-2.50", with at most 9 places and up to 9007199')

/**
 * Corrects a balance up or down, also below zero; the ledger keeps the reason. A decrease is checked against the low-balance
 * threshold as a charge is.
 * @throws account_not_found
 */
export const adjustBalance = mutation(
  'balance.adjust',
  z.strictObject({
    account: accountField,
    amount_usd: signedUsdField,
    note: noteField.check(z.trim(), z.minLength(1, 'must say why')),
  }),
  async (deps, input, act): Promise<AdjustmentRecord> => {
    const account = await findAccount(deps, input.account)
    const { amount_usd: amount, note } = input
    return await credit(deps, account, { kind: 'adjust', amount, note, ref: null }, act)
  },
)

/** Writes an entry with the current time and exchange rate. */
export async function credit(
  { store, clock }: OperatorDeps,
  account: Account,
  stated: Pick<LedgerEntry, 'kind' | 'amount' | 'note' | 'ref'>,
  act: DraftAct,
): Promise<AdjustmentRecord> {
  const at = clock.now()
  const rate = rateAt(store.catalogue.current(), at)
  const entry: LedgerEntry = {
    id: newEntryId(at),
    accountId: account.id,
    at,
    keyId: null,
    generationId: null,
    day: null,
    endUser: null,
    rubPerUsd: rate.rubPerUsd,
    priceVersion: null,
    ...stated,
  }
  const { amount, note, ref } = stated
  const changed = { amount_usd: renderUsd(amount), entry: entry.id, ...statedIn({ note, ref }) }
  const balance = await store.ledger.credit(entry, act(account.name, changed))
  return { ...render(account.name, balance, rate), entry: renderEntry(entry, account.name) }
}

/** Of whichever account: a reference is applied once in all. */
async function entryByRef({ store }: OperatorDeps, ref: string): Promise<LedgerEntry | undefined> {
  const [entry] = await store.ledger.list({ kind: 'top_up', ref, limit: 1 })
  return entry
}

async function refTaken(
  { store }: OperatorDeps,
  { ref, amount, accountId }: LedgerEntry,
): Promise<GatewayError> {
  const name = (await store.accounts.find(accountId))?.name ?? accountId
  return new GatewayError(
    'already_exists',
    `the reference "${ref}" was applied before, to a top-up of $${renderUsd(amount)} of account ${name}; accounts share references`,
    { hint: `gatewayctl ledger list --kind top_up --account ${shellWord(name)}` },
  )
}
