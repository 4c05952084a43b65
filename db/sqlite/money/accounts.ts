/** Accounts in SQLite; plain SQL, so that listing keys need not load Drizzle. */
import type { Account, Accounts } from '#domain/account.ts'
import { changesBetween } from '#domain/act.ts'
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { AccountId } from '#domain/id.ts'
import { renderUsd, type UsdNanos } from '#domain/money.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { fromInteger, toInteger } from './amount.ts'

interface AccountRow {
  readonly id: AccountId
  readonly name: string
  readonly created_at: Instant
  readonly balance_nanos: number
  readonly member_daily_nanos: number | null
}

export function createAccounts({ database, commit }: Connection): Accounts {
  const byId = statement<AccountRow, [AccountId]>(database, 'SELECT * FROM accounts WHERE id = ?')
  const byName = statement<AccountRow, [string]>(database, 'SELECT * FROM accounts WHERE name = ?')
  const all = statement<AccountRow>(database, 'SELECT * FROM accounts ORDER BY id')
  const insert = statement<unknown, [AccountId, string, Instant, number]>(
    database,
    'INSERT INTO accounts (id, name, created_at, balance_nanos) VALUES (?, ?, ?, ?)',
  )

  const update = statement<unknown, [string, AccountId]>(
    database,
    'UPDATE accounts SET name = ? WHERE id = ?',
  )

  const allow = statement<unknown, [number | null, AccountId]>(
    database,
    'UPDATE accounts SET member_daily_nanos = ? WHERE id = ?',
  )

  const noteAct = prepareNoteAct(database)
  const requireFree = (name: string): void => {
    if (byName().get(name)) {
      throw new GatewayError('already_exists', `there is already an account "${name}"`)
    }
  }

  return {
    async create({ id, name, createdAt, balance }, act) {
      await commit.commitDurably(() => {
        requireFree(name)
        noteAct(act)
        insert().run(id, name, createdAt, toInteger(balance))
      })
    },
    rename: (id, name, act) =>
      commit.commitDurably(() => {
        const row = byId().get(id)
        if (row === null) throw new GatewayError('account_not_found', `there is no account ${id}`)
        const before = toAccount(row)
        if (before.name !== name) requireFree(name)
        update().run(name, id)
        noteAct(act, changesBetween({ name: before.name }, { name }))
        return { before, after: { ...before, name } }
      }),
    allow: (id, memberDaily, act) =>
      commit.commitDurably(() => {
        const row = byId().get(id)
        if (row === null) throw new GatewayError('account_not_found', `there is no account ${id}`)
        const before = toAccount(row)
        const after = { ...before, memberDaily }
        allow().run(memberDaily === null ? null : toInteger(memberDaily), id)
        noteAct(act, changesBetween(facts(before), facts(after)))
        return { before, after }
      }),
    async find(id) {
      commit.flush()
      const row = byId().get(id)
      return row === null ? undefined : toAccount(row)
    },
    async findByName(name) {
      commit.flush()
      const row = byName().get(name)
      return row === null ? undefined : toAccount(row)
    },
    async list() {
      commit.flush()
      return all().all().map(toAccount)
    },
  }
}

const toAccount = (row: AccountRow): Account => ({
  id: row.id,
  name: row.name,
  createdAt: row.created_at,
  balance: fromInteger<UsdNanos>(row.balance_nanos),
  memberDaily:
    row.member_daily_nanos === null ? null : fromInteger<UsdNanos>(row.member_daily_nanos),
})

const facts = ({ memberDaily }: Account) => ({
  member_daily_usd: memberDaily === null ? null : renderUsd(memberDaily),
})
