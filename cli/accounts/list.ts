/** `gatewayctl accounts list`: who owns keys and a balance. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { call } from '../gateway/operator.ts'
import { ACCOUNT_COLUMNS } from '../limits/columns.ts'
import { type Column, printList } from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'

export const mount: Mount = (accounts) =>
  accounts
    .command('list')
    .description('list accounts and their balances')
    .action(
      action(async (context) => {
        const rows = await call(context, 'accounts.list', {})
        printList(context, rows, columns(context), ({ id }) => id)
      }),
    )

const columns = (context: Context): readonly Column<VerbRecord<'accounts.list'>[number]>[] => [
  { title: 'name', full: ({ name }) => name },
  { title: 'id', isId: true, dropOrder: 2, full: ({ id }) => id },
  { title: 'balance $', right: true, full: ({ balance_usd }) => balance_usd },
  ...ACCOUNT_COLUMNS,
  { title: 'closed', isSparse: true, full: ({ closed_at }) => closed_at },
  {
    title: 'created',
    dropOrder: 1,
    full: ({ created_at }) => created_at,
    short: ({ created_at }) => relativeTime(created_at, context.clock.now()),
  },
]
