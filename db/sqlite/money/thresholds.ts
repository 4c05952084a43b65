/** Thresholds in SQLite; a change is judged in its own transaction, and every movement after it sees it. */
import { eq } from 'drizzle-orm'
import { drizzle as openDrizzle } from 'drizzle-orm/bun-sqlite'
import type { Catalogues } from '#domain/catalogue.ts'
import { GatewayError } from '#domain/errors.ts'
import type { AccountId } from '#domain/id.ts'
import {
  describeThreshold,
  type MarkedThreshold,
  type Threshold,
  type Thresholds,
} from '#domain/low-balance.ts'
import { requireVault } from '../../require-vault.ts'
import { judgeMark, placeOfSecret, toHotThreshold, toThreshold } from '../../rows/low-balance.ts'
import { keptSecret } from '../../rows/webhook-secret.ts'
import type { HotState } from '../admission/hot-state.ts'
import type { Connection } from '../engine/connection.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { accounts, thresholds } from '../schema.ts'
import { prepareMarkWriter } from './low-balance.ts'

export function createThresholds(
  connection: Connection,
  hotState: HotState,
  catalogue: Catalogues,
): Thresholds {
  const { database, commit } = connection
  const drizzle = openDrizzle({ client: database })
  const writeMark = prepareMarkWriter(connection, catalogue)
  const noteAct = prepareNoteAct(database)

  const requireRow = (id: AccountId) => {
    const found = drizzle
      .select()
      .from(accounts)
      .leftJoin(thresholds, eq(thresholds.accountId, accounts.id))
      .where(eq(accounts.id, id))
      .get()
    if (found) return found.thresholds
    throw new GatewayError('account_not_found', `there is no account ${id}`)
  }

  const write = (row: Threshold & { readonly sealedWebhookSecret: string | null }): void => {
    drizzle
      .insert(thresholds)
      .values(row)
      .onConflictDoUpdate({ target: thresholds.accountId, set: row })
      .run()
  }

  const find = (accountId: AccountId): MarkedThreshold => {
    const row = requireRow(accountId)
    const notifiedAt = row?.notifiedAt ?? null
    return { ...toThreshold(accountId, row), mark: notifiedAt === null ? null : { notifiedAt } }
  }

  return {
    async find(accountId) {
      commit.flushAwaited()
      return find(accountId)
    },

    async findMany(accountIds) {
      commit.flushAwaited()
      return accountIds.map(find)
    },

    async set(change, offer, act) {
      const { accountId } = change
      const { changed } = await commit.commitDurably(
        () => {
          const row = requireRow(accountId)
          const account = hotState.account(accountId)
          const before = toThreshold(accountId, row)
          const threshold = { ...before, ...change }
          const standing = row?.sealedWebhookSecret ?? null
          const { sealed, isNew } = keptSecret(threshold.webhookUrl, standing, offer, (secret) =>
            requireVault(connection).seal(secret, placeOfSecret(accountId)),
          )
          write({ ...threshold, sealedWebhookSecret: sealed })
          const mark = account.threshold?.mark ?? null
          const hot = toHotThreshold(threshold, mark)
          const verdict =
            hot === null
              ? { accountId, mark: null, facts: null, channels: [] }
              : judgeMark(accountId, hot, account.balance, 'threshold', act.at)
          if (verdict) writeMark(verdict)
          if (hot && verdict) hot.mark = verdict.mark
          const changed = { before, after: threshold, hasNewSecret: isNew }
          noteAct(act, describeThreshold(changed))
          return { hot, changed }
        },
        ({ hot }) => {
          hotState.account(accountId).threshold = hot
        },
      )
      return changed
    },

    async webhookSecret(accountId) {
      const row = requireRow(accountId)
      return row?.sealedWebhookSecret
        ? requireVault(connection).open(row.sealedWebhookSecret, placeOfSecret(accountId))
        : null
    },
  }
}
