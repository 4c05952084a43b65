/** Thresholds in PostgreSQL; a change is judged in its own transaction. */
import type { Catalogues } from '#domain/catalogue.ts'
import { GatewayError } from '#domain/errors.ts'
import type { AccountId } from '#domain/id.ts'
import { describeThreshold, type MarkedThreshold, type Thresholds } from '#domain/low-balance.ts'
import type { UsdNanos } from '#domain/money.ts'
import { requireVault } from '../../require-vault.ts'
import { judgeMark, placeOfSecret, toHotThreshold } from '../../rows/low-balance.ts'
import { keptSecret } from '../../rows/webhook-secret.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'
import { lockAccount } from './lock-account.ts'
import { markOf, type ThresholdRow, thresholdOf, writeMark } from './low-balance.ts'

type FoundRow = Partial<ThresholdRow> & { readonly id: AccountId; readonly balance_nanos: number }

export function createThresholds(database: Database, catalogue: Catalogues): Thresholds {
  const requireRow = async (sql: Sql, id: AccountId): Promise<FoundRow> => {
    const row = await sql.get<FoundRow>(
      `SELECT s.account_id AS id, s.balance_nanos, t.* FROM account_state s LEFT JOIN thresholds t ON t.account_id = s.account_id
       WHERE s.account_id = ?`,
      id,
    )
    if (row) return row
    throw new GatewayError('account_not_found', `there is no account ${id}`)
  }
  const find = async (id: AccountId): Promise<MarkedThreshold> => {
    const row = await requireRow(database, id)
    return { ...thresholdOf(id, row), mark: markOf(row) }
  }

  return {
    async find(accountId) {
      await database.flush()
      return await find(accountId)
    },
    async findMany(accountIds) {
      await database.flush()
      const found: MarkedThreshold[] = []
      for (const id of accountIds) found.push(await find(id))
      return found
    },

    async set(change, offer, act) {
      await database.flush()
      return await database.change(async (tx) => {
        const { accountId } = change
        // No charge moves the balance until it is judged.
        await lockAccount(tx, accountId)
        const row = await requireRow(tx, accountId)
        const before = thresholdOf(accountId, row)
        const threshold = { ...before, ...change }
        const standing = row.sealed_webhook_secret ?? null
        const { sealed, isNew } = keptSecret(threshold.webhookUrl, standing, offer, (secret) =>
          requireVault(database).seal(secret, placeOfSecret(accountId)),
        )
        await tx.run(
          `INSERT INTO thresholds (account_id, below_nanos, email, webhook_url, sealed_webhook_secret)
           VALUES ($accountId, $below, $email, $webhookUrl, $sealed)
           ON CONFLICT (account_id) DO UPDATE SET below_nanos = excluded.below_nanos, email = excluded.email,
             webhook_url = excluded.webhook_url, sealed_webhook_secret = excluded.sealed_webhook_secret`,
          { ...threshold, sealed },
        )
        const hot = toHotThreshold(threshold, markOf(row))
        const balance = BigInt(row.balance_nanos) as UsdNanos
        const verdict =
          hot === null
            ? { accountId, mark: null, facts: null, channels: [] }
            : judgeMark(accountId, hot, balance, 'threshold', act.at)
        if (verdict) await writeMark(tx, catalogue, verdict)
        const changed = { before, after: threshold, hasNewSecret: isNew }
        await noteAct(tx, act, describeThreshold(changed))
        return changed
      })
    },

    async webhookSecret(accountId) {
      const { sealed_webhook_secret: sealed } = await requireRow(database, accountId)
      return sealed ? requireVault(database).open(sealed, placeOfSecret(accountId)) : null
    },
  }
}
