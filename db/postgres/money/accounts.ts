/** Accounts in PostgreSQL. */
import { type Account, type Accounts, accountClosed, accountFacts } from '#domain/account.ts'
import { changesBetween } from '#domain/act.ts'
import { GatewayError } from '#domain/errors.ts'
import type { AccountId } from '#domain/id.ts'
import { type AccountRow, toAccount } from '../../rows/account-row.ts'
import { fromLimits } from '../../rows/limits-column.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'

const ACCOUNTS =
  'SELECT a.*, s.balance_nanos FROM accounts a JOIN account_state s ON s.account_id = a.id'

const find = async (sql: Sql, where: string, value: string): Promise<Account | undefined> => {
  const row = await sql.get<AccountRow>(`${ACCOUNTS} WHERE ${where} = ?`, value)
  return row === null ? undefined : toAccount(row)
}
const requireAccount = async (tx: Sql, id: AccountId): Promise<Account> => {
  const account = await find(tx, 'a.id', id)
  if (account) return account
  throw new GatewayError('account_not_found', `there is no account ${id}`)
}
const requireFree = async (tx: Sql, name: string): Promise<void> => {
  if (await find(tx, 'a.name', name)) {
    throw new GatewayError('already_exists', `there is already an account "${name}"`)
  }
}
/** All but its balance. Its sums are read again, and its marks found out, by whatever limits it has then. */
const update = async (tx: Sql, account: Account): Promise<void> => {
  const { id, name, memberDaily, limits, closedAt } = account
  // Before any row that a settlement reads after it.
  await tx.run(
    'UPDATE account_state SET summed = false, mark_day = 0, mark_month = 0 WHERE account_id = ?',
    id,
  )
  await tx.run(
    'UPDATE accounts SET name = ?, member_daily_nanos = ?, limits = ?, closed_at = ? WHERE id = ?',
    name,
    memberDaily,
    fromLimits(limits),
    closedAt,
    id,
  )
}

export function createAccounts(database: Database): Accounts {
  return {
    create: (account, act) =>
      database.change(async (tx) => {
        await requireFree(tx, account.name)
        await noteAct(tx, act)
        const { id, name, createdAt, balance, limits } = account
        await tx.run(
          'INSERT INTO accounts (id, name, created_at, limits) VALUES (?, ?, ?, ?)',
          id,
          name,
          createdAt,
          fromLimits(limits),
        )
        await tx.run(
          'INSERT INTO account_state (account_id, balance_nanos) VALUES (?, ?)',
          id,
          balance,
        )
      }),

    amend: (id, { limits, ...fields }, act) =>
      database.change(async (tx) => {
        const before = await requireAccount(tx, id)
        if (before.closedAt !== null) throw accountClosed(before)
        const after = { ...before, ...fields, limits: { ...before.limits, ...limits } }
        if (after.name !== before.name) await requireFree(tx, after.name)
        await update(tx, after)
        await noteAct(tx, act, changesBetween(accountFacts(before), accountFacts(after)))
        return { before, after }
      }),

    close: (id, act) =>
      database.change(async (tx) => {
        const account = await requireAccount(tx, id)
        if (account.closedAt !== null) return account
        const usable = await tx.get(
          'SELECT 1 FROM keys WHERE account_id = ? AND revoked_at IS NULL LIMIT 1',
          id,
        )
        if (usable !== null) {
          throw new GatewayError(
            'invalid_request',
            `account ${account.name} has keys that are not revoked: close it again`,
          )
        }
        const closed = { ...account, closedAt: act.at }
        await update(tx, closed)
        await noteAct(tx, act)
        return closed
      }),

    async find(id) {
      await database.flush()
      return await find(database, 'a.id', id)
    },
    async findByName(name) {
      await database.flush()
      return await find(database, 'a.name', name)
    },
    async list() {
      await database.flush()
      return (await database.all<AccountRow>(`${ACCOUNTS} ORDER BY a.id`)).map(toAccount)
    },
  }
}
