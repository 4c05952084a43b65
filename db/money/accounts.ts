/** Accounts. The row of one is the same in both engines; what requests change of it is where each engine keeps it. */
import {
  type Account,
  type Accounts,
  accountClosed,
  accountFacts,
  accountNotFound,
} from '#domain/account.ts'
import { changesBetween } from '#domain/act.ts'
import { GatewayError } from '#domain/errors.ts'
import type { AccountId } from '#domain/id.ts'
import type { UsdNanos } from '#domain/money.ts'
import { noteAct } from '../log/acts.ts'
import { type AccountRow, toAccount } from '../rows/account-row.ts'
import { toInteger } from '../rows/amount.ts'
import { fromLimits } from '../rows/limits-column.ts'
import type { HotThreshold } from '../rows/low-balance.ts'
import {
  all,
  type Engine,
  get,
  type Named,
  readSettled,
  run,
  type Statements,
} from '../statements.ts'

/** What each engine has of its own. */
export interface AccountsOf {
  /** Accounts with their balances, as a statement names them. */
  readonly table: string
  /** Whatever stands beside the row of a new account. */
  open(id: AccountId): Statements<unknown>
  /** No request of the account is admitted or settled until the transaction ends. */
  lock(id: AccountId): Statements<unknown>
  setBalance(id: AccountId, balance: UsdNanos): Statements<unknown>
  /** Before any row that a settlement reads: its sums are read again, and its marks found out, by whatever limits it has then. */
  forget(id: AccountId): Statements<unknown>
  /** In the turn of the commit, for whoever has limits in memory. */
  amended(account: Account): void
  /** The same for whoever has what movements are judged by. */
  moved(id: AccountId, balance: UsdNanos, threshold: HotThreshold | null): void
}

export function createAccounts(engine: Engine, of: AccountsOf): Accounts {
  const select = `SELECT accounts.*, balance_nanos FROM ${of.table}`
  function* find(where: string, bindings: Named): Statements<Account | undefined> {
    const row = yield* get<AccountRow>(`${select} WHERE ${where}`, bindings)
    return row === null ? undefined : toAccount(row)
  }
  const findById = (id: AccountId) => find('id = $id', { id })
  const findByName = (name: string) => find('name = $name', { name })

  function* requireAccount(id: AccountId): Statements<Account> {
    const account = yield* findById(id)
    if (account) return account
    throw accountNotFound(id)
  }
  function* requireFree(name: string): Statements<void> {
    if ((yield* findByName(name)) === undefined) return
    throw new GatewayError('already_exists', `there is already an account "${name}"`)
  }
  /** All but its balance. */
  function* update({ id, name, memberDaily, limits, closedAt }: Account): Statements<void> {
    yield* of.forget(id)
    const daily = memberDaily === null ? null : toInteger(memberDaily)
    yield* run(
      'UPDATE accounts SET name = $name, member_daily_nanos = $daily, limits = $limits, closed_at = $closedAt WHERE id = $id',
      { id, name, daily, limits: fromLimits(limits), closedAt },
    )
  }

  return {
    create: ({ id, name, createdAt, limits }, act) =>
      engine.change(function* () {
        yield* requireFree(name)
        yield* noteAct(act)
        yield* run(
          'INSERT INTO accounts (id, name, created_at, limits) VALUES ($id, $name, $createdAt, $limits)',
          { id, name, createdAt, limits: fromLimits(limits) },
        )
        yield* of.open(id)
      }),

    amend: (id, { limits, ...fields }, act) =>
      engine.change(
        function* () {
          const before = yield* requireAccount(id)
          if (before.closedAt !== null) throw accountClosed(before)
          const after = { ...before, ...fields, limits: { ...before.limits, ...limits } }
          if (after.name !== before.name) yield* requireFree(after.name)
          yield* update(after)
          yield* noteAct(act, changesBetween(accountFacts(before), accountFacts(after)))
          return { before, after }
        },
        ({ after }) => of.amended(after),
      ),

    close: (id, act) =>
      engine.change(function* () {
        const account = yield* requireAccount(id)
        if (account.closedAt !== null) return account
        if (
          yield* get('SELECT 1 FROM keys WHERE account_id = $id AND revoked_at IS NULL LIMIT 1', {
            id,
          })
        ) {
          throw new GatewayError(
            'invalid_request',
            `account ${account.name} has keys that are not revoked: close it again`,
          )
        }
        const closed = { ...account, closedAt: act.at }
        yield* update(closed)
        yield* noteAct(act)
        return closed
      }),

    find: (id) => readSettled(engine, () => findById(id)),
    findByName: (name) => readSettled(engine, () => findByName(name)),
    async list() {
      const rows = await readSettled(engine, () => all<AccountRow>(`${select} ORDER BY id`))
      return rows.map(toAccount)
    },
  }
}
