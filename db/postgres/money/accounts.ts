/** What PostgreSQL has of its own of accounts: a row beside theirs has what requests change, and nothing is in memory. */
import type { AccountsOf } from '../../money/accounts.ts'
import { get, run } from '../../statements.ts'

export const ACCOUNTS: AccountsOf = {
  table: 'accounts JOIN account_state ON account_state.account_id = accounts.id',
  open: (id) => run('INSERT INTO account_state (account_id) VALUES ($id)', { id }),
  // By itself: what a statement reads beside the row that it locks is of before it had the lock.
  lock: (id) => get('SELECT 1 FROM account_state WHERE account_id = $id FOR UPDATE', { id }),
  setBalance: (id, balance) =>
    run('UPDATE account_state SET balance_nanos = $balance WHERE account_id = $id', {
      id,
      balance,
    }),
  forget: (id) =>
    run(
      'UPDATE account_state SET summed = false, mark_day = 0, mark_month = 0 WHERE account_id = $id',
      { id },
    ),
  amended() {},
  moved() {},
}
