/** Accounts in SQLite; plain SQL, so that listing keys need not load Drizzle. */
import type { Database } from 'bun:sqlite'
import { type Account, type Accounts, accountClosed, accountFacts } from '#domain/account.ts'
import { type Amended, changesBetween } from '#domain/act.ts'
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { AccountId } from '#domain/id.ts'
import { type AccountRow, toAccount } from '../../rows/account-row.ts'
import { toInteger } from '../../rows/amount.ts'
import { fromLimits } from '../../rows/limits-column.ts'
import type { HotState } from '../admission/hot-state.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'

export function createAccounts(connection: Connection, hotState: HotState): Accounts {
  const { database, commit } = connection
  const table = openAccountTable(database)
  const noteAct = prepareNoteAct(database)
  const requireFree = (name: string): void => {
    if (table.findByName(name)) {
      throw new GatewayError('already_exists', `there is already an account "${name}"`)
    }
  }
  const requireAccount = (id: AccountId): Account => {
    const account = table.find(id)
    if (account) return account
    throw new GatewayError('account_not_found', `there is no account ${id}`)
  }

  return {
    async create(account, act) {
      await commit.commitDurably(() => {
        requireFree(account.name)
        noteAct(act)
        table.insert(account)
      })
    },

    amend(id, { limits, ...fields }, act) {
      const write = (): Amended<Account> => {
        const before = requireAccount(id)
        if (before.closedAt !== null) throw accountClosed(before)
        const after = { ...before, ...fields, limits: { ...before.limits, ...limits } }
        if (after.name !== before.name) requireFree(after.name)
        table.update(after)
        noteAct(act, changesBetween(accountFacts(before), accountFacts(after)))
        return { before, after }
      }
      return commit.commitDurably(write, ({ after }) => hotState.replaceAccount(after))
    },

    close: (id, act) =>
      commit.commitDurably(() => {
        const account = requireAccount(id)
        if (account.closedAt !== null) return account
        if (table.hasUsableKey(id)) {
          throw new GatewayError(
            'invalid_request',
            `account ${account.name} has keys that are not revoked: close it again`,
          )
        }
        const closed = { ...account, closedAt: act.at }
        table.update(closed)
        noteAct(act)
        return closed
      }),

    async find(id) {
      commit.flushAwaited()
      return table.find(id)
    },
    async findByName(name) {
      commit.flushAwaited()
      return table.findByName(name)
    },
    async list() {
      commit.flushAwaited()
      return table.list()
    },
  }
}

function openAccountTable(database: Database) {
  const byId = statement<AccountRow, [AccountId]>(database, 'SELECT * FROM accounts WHERE id = ?')
  const byName = statement<AccountRow, [string]>(database, 'SELECT * FROM accounts WHERE name = ?')
  const all = statement<AccountRow>(database, 'SELECT * FROM accounts ORDER BY id')
  const insert = statement<unknown, [AccountId, string, Instant, number, string]>(
    database,
    'INSERT INTO accounts (id, name, created_at, balance_nanos, limits) VALUES (?, ?, ?, ?, ?)',
  )
  const update = statement<unknown, [string, number | null, string, Instant | null, AccountId]>(
    database,
    'UPDATE accounts SET name = ?, member_daily_nanos = ?, limits = ?, closed_at = ? WHERE id = ?',
  )
  const usable = statement<unknown, [AccountId]>(
    database,
    'SELECT 1 FROM keys WHERE account_id = ? AND revoked_at IS NULL LIMIT 1',
  )
  const read = (row: AccountRow | null): Account | undefined =>
    row === null ? undefined : toAccount(row)
  return {
    find: (id: AccountId) => read(byId().get(id)),
    findByName: (name: string) => read(byName().get(name)),
    list: () => all().all().map(toAccount),
    insert({ id, name, createdAt, balance, limits }: Account) {
      insert().run(id, name, createdAt, toInteger(balance), fromLimits(limits))
    },
    /** All but its balance. */
    update({ id, name, memberDaily, limits, closedAt }: Account) {
      const daily = memberDaily === null ? null : toInteger(memberDaily)
      update().run(name, daily, fromLimits(limits), closedAt, id)
    },
    hasUsableKey: (id: AccountId) => usable().get(id) !== null,
  }
}
