/** Thresholds; a change is judged in its own transaction, and every movement after it sees it. */
import { accountNotFound } from '#domain/account.ts'
import type { Catalogues } from '#domain/catalogue.ts'
import type { AccountId } from '#domain/id.ts'
import { describeThreshold, type MarkedThreshold, type Thresholds } from '#domain/low-balance.ts'
import type { UsdNanos } from '#domain/money.ts'
import { keptSecret } from '#domain/webhook-secret.ts'
import { noteAct } from '../log/acts.ts'
import { requireVault } from '../require-vault.ts'
import { fromInteger, toInteger } from '../rows/amount.ts'
import {
  judgeMark,
  type ThresholdRow,
  toHotThreshold,
  toMark,
  toThreshold,
} from '../rows/low-balance.ts'
import { type Engine, get, readSettled, run, type Statements } from '../statements.ts'
import type { AccountsOf } from './accounts.ts'
import { writeMark } from './low-balance.ts'

interface FoundRow extends ThresholdRow {
  readonly balance_nanos: number
  readonly sealed_webhook_secret: string | null
}

/** With the balance that it is held against. @throws account_not_found */
export function* requireThreshold(id: AccountId, { table }: AccountsOf): Statements<FoundRow> {
  const row = yield* get<FoundRow>(
    `SELECT balance_nanos, below_nanos, email, webhook_url, sealed_webhook_secret, notified_at
     FROM ${table} LEFT JOIN thresholds ON thresholds.account_id = accounts.id WHERE accounts.id = $id`,
    { id },
  )
  if (row === null) throw accountNotFound(id)
  return row
}

const placeOfSecret = (id: AccountId): string => `thresholds|webhook_secret|${id}|v1`

export function createThresholds(
  engine: Engine,
  of: AccountsOf,
  catalogue: Catalogues,
): Thresholds {
  function* find(id: AccountId): Statements<MarkedThreshold> {
    const row = yield* requireThreshold(id, of)
    return { ...toThreshold(id, row), mark: toMark(row) }
  }
  return {
    find: (id) => readSettled(engine, () => find(id)),
    findMany: (ids) =>
      readSettled(engine, function* () {
        const found: MarkedThreshold[] = []
        for (const id of ids) found.push(yield* find(id))
        return found
      }),

    async set(change, offer, act) {
      const { accountId } = change
      await engine.settled()
      const { changed } = await engine.change(
        function* () {
          // No charge moves the balance until it is judged.
          yield* of.lock(accountId)
          const row = yield* requireThreshold(accountId, of)
          const before = toThreshold(accountId, row)
          const after = { ...before, ...change }
          const { sealed, isNew } = keptSecret(
            after.webhookUrl,
            row.sealed_webhook_secret,
            offer,
            (secret) => requireVault(engine).seal(secret, placeOfSecret(accountId)),
          )
          const below = after.below === null ? null : toInteger(after.below)
          yield* run(UPSERT, { ...after, below, sealed })
          const hot = toHotThreshold(after, toMark(row))
          const balance = fromInteger<UsdNanos>(row.balance_nanos)
          const verdict =
            hot === null
              ? { accountId, mark: null, facts: null, channels: [] }
              : judgeMark(accountId, hot, balance, 'threshold', act.at)
          if (verdict) yield* writeMark(verdict, catalogue.current())
          if (hot && verdict) hot.mark = verdict.mark
          const changed = { before, after, hasNewSecret: isNew }
          yield* noteAct(act, describeThreshold(changed))
          return { changed, balance, hot }
        },
        ({ balance, hot }) => of.moved(accountId, balance, hot),
      )
      return changed
    },

    async webhookSecret(id) {
      const { sealed_webhook_secret: sealed } = await engine.read(() => requireThreshold(id, of))
      return sealed ? requireVault(engine).open(sealed, placeOfSecret(id)) : null
    },
  }
}

const UPSERT = `
  INSERT INTO thresholds (account_id, below_nanos, email, webhook_url, sealed_webhook_secret)
  VALUES ($accountId, $below, $email, $webhookUrl, $sealed)
  ON CONFLICT (account_id) DO UPDATE SET below_nanos = excluded.below_nanos, email = excluded.email,
    webhook_url = excluded.webhook_url, sealed_webhook_secret = excluded.sealed_webhook_secret`
