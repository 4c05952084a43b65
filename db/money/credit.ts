/** Credits: what an operator moves of an account's money. Charges come in through settlements. */
import type { Catalogues } from '#domain/catalogue.ts'
import { GatewayError } from '#domain/errors.ts'
import type { EntryId } from '#domain/id.ts'
import type { Ledger, LedgerEntry } from '#domain/ledger.ts'
import { addUsd, NO_MONEY, renderRubPerUsd, type UsdNanos } from '#domain/money.ts'
import { noteAct } from '../log/acts.ts'
import { fromInteger, toInteger } from '../rows/amount.ts'
import { rejectOutOfRange } from '../rows/ledger-row.ts'
import { judgeMark, toHotThreshold, toMark, toThreshold } from '../rows/low-balance.ts'
import { type Engine, run, type Statements } from '../statements.ts'
import type { AccountsOf } from './accounts.ts'
import { writeMark } from './low-balance.ts'
import { requireThreshold } from './thresholds.ts'

/** What each engine has of its own. */
export interface References {
  find(ref: string): Statements<EntryId | undefined>
  /** The error for one that was not found, and is in the index. */
  disputed(ref: string | null): GatewayError
}

export const appliedBefore = (ref: string | null): GatewayError =>
  new GatewayError('already_exists', `an entry with the reference "${ref}" was applied before`, {
    hint: 'gatewayctl ledger list',
  })

export const prepareCredit =
  (
    engine: Engine,
    of: AccountsOf,
    references: References,
    catalogue: Catalogues,
  ): Ledger['credit'] =>
  async (entry, act) => {
    const { accountId, amount, at, ref } = entry
    await engine.settled()
    const { balance } = await engine.change(
      function* () {
        yield* of.lock(accountId)
        if (ref !== null && (yield* references.find(ref)) !== undefined) throw appliedBefore(ref)
        const row = yield* requireThreshold(accountId, of)
        const balance = addUsd(fromInteger<UsdNanos>(row.balance_nanos), amount)
        rejectOutOfRange(balance)
        yield* noteAct(act)
        if ((yield* insert(entry)) === 0) throw references.disputed(ref)
        yield* of.setBalance(accountId, balance)
        const hot = toHotThreshold(toThreshold(accountId, row), toMark(row))
        // An adjustment downwards is a debit like any charge.
        const movement = amount < NO_MONEY ? 'debit' : 'credit'
        const change = hot && judgeMark(accountId, hot, balance, movement, at)
        if (hot && change) {
          yield* writeMark(change, catalogue.current())
          hot.mark = change.mark
        }
        return { balance, hot }
      },
      ({ balance, hot }) => of.moved(accountId, balance, hot),
    )
    return balance
  }

const insert = (entry: LedgerEntry): Statements<number> =>
  run(
    `INSERT INTO ledger (id, account_id, kind, amount_nanos, at, key_id, generation_id, day, end_user, rub_per_usd, price_version, note, ref)
     VALUES ($id, $accountId, $kind, $amount, $at, $keyId, $generationId, $day, $endUser, $rubPerUsd, $priceVersion, $note, $ref)
     ON CONFLICT DO NOTHING`,
    { ...entry, amount: toInteger(entry.amount), rubPerUsd: renderRubPerUsd(entry.rubPerUsd) },
  )
