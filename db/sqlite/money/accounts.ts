/** What SQLite has of its own of accounts: the balance is in their row, and what requests are judged by is in memory. */
import type { AccountsOf } from '../../money/accounts.ts'
import { toInteger } from '../../rows/amount.ts'
import { run } from '../../statements.ts'
import type { HotState } from '../admission/hot-state.ts'

export const accountsOf = (hotState: HotState): AccountsOf => ({
  table: 'accounts',
  *open() {},
  // Nothing else runs in the turn of a change.
  *lock() {},
  *forget() {},
  setBalance: (id, balance) =>
    run('UPDATE accounts SET balance_nanos = $balance WHERE id = $id', {
      id,
      balance: toInteger(balance),
    }),
  amended: hotState.replaceAccount,
  moved: hotState.noteMovement,
})
