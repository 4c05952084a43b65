/** Thresholds in SQLite; a change is judged in its own transaction, and every movement after it sees it. */
import { eq } from 'drizzle-orm'
import { drizzle as openDrizzle } from 'drizzle-orm/bun-sqlite'
import { GatewayError } from '#domain/errors.ts'
import type { AccountId } from '#domain/id.ts'
import type { Threshold, Thresholds } from '#domain/low-balance.ts'
import type { Connection } from './connection.ts'
import type { HotState } from './hot-state.ts'
import { judgeMark, prepareMarkWriter, toHotThreshold } from './low-balance.ts'
import { requireVault } from './require-vault.ts'
import { accounts, thresholds } from './schema.ts'

const place = (id: AccountId): string => `thresholds|webhook_secret|${id}|v1`

export function createThresholds(connection: Connection, hotState: HotState): Thresholds {
  const { database, commit } = connection
  const drizzle = openDrizzle({ client: database })
  const writeMark = prepareMarkWriter(connection)

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

  const write = (threshold: Threshold, sealed: { sealedWebhookSecret?: string | null }): void => {
    const stated = { ...threshold, ...sealed }
    drizzle
      .insert(thresholds)
      .values(stated)
      .onConflictDoUpdate({ target: thresholds.accountId, set: stated })
      .run()
  }

  return {
    async find(accountId) {
      commit.flush()
      const row = requireRow(accountId)
      const notifiedAt = row?.notifiedAt ?? null
      return {
        accountId,
        below: row?.below ?? null,
        email: row?.email ?? null,
        webhookUrl: row?.webhookUrl ?? null,
        mark: notifiedAt === null ? null : { notifiedAt },
      }
    },

    async set(threshold, webhookSecret, at) {
      const { accountId, below, email, webhookUrl } = threshold
      const sealed = seal(connection, threshold, webhookSecret)
      await commit.commitDurably(
        () => {
          requireRow(accountId)
          const account = hotState.account(accountId)
          write({ accountId, below, email, webhookUrl }, sealed)
          const mark = account.threshold?.mark ?? null
          const hot = toHotThreshold(threshold, mark)
          const change =
            hot === null
              ? { accountId, mark: null, facts: null, channels: [] }
              : judgeMark(accountId, hot, account.balance, 'threshold', at)
          if (change) writeMark(change)
          if (hot && change) hot.mark = change.mark
          return hot
        },
        (hot) => {
          hotState.account(accountId).threshold = hot
        },
      )
    },

    async webhookSecret(accountId) {
      const row = requireRow(accountId)
      return row?.sealedWebhookSecret
        ? requireVault(connection).open(row.sealedWebhookSecret, place(accountId))
        : null
    },
  }
}

/** Nothing where the one that stands is to stay; without an address there is none. */
function seal(
  connection: Connection,
  { accountId, webhookUrl }: Threshold,
  secret: string | null | undefined,
): { sealedWebhookSecret?: string | null } {
  if (webhookUrl === null || secret === null) return { sealedWebhookSecret: null }
  if (secret === undefined) return {}
  return { sealedWebhookSecret: requireVault(connection).seal(secret, place(accountId)) }
}
