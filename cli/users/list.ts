/** `gatewayctl users list`: people who sign in. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { call } from '../operator.ts'
import { type Column, printList } from '../output.ts'
import { relativeTime } from '../relative-time.ts'

export const mount: Mount = (users) =>
  users
    .command('list')
    .description('list people who sign in')
    .action(
      action(async (context) => {
        const rows = await call(context, 'users.list', {})
        const now = context.clock.now()
        const lastSeen: Column<Row> = {
          title: 'last sign-in',
          full: ({ last_sign_in_at }) => last_sign_in_at,
          short: ({ last_sign_in_at }) => last_sign_in_at && relativeTime(last_sign_in_at, now),
        }
        printList(context, rows, [...COLUMNS, lastSeen], ({ id }) => id)
      }),
    )

type Row = VerbRecord<'users.list'>[number]

const COLUMNS: readonly Column<Row>[] = [
  { title: 'email', full: ({ email }) => email },
  { title: 'id', full: ({ id }) => id },
  { title: 'account', full: ({ account }) => account },
  { title: 'state', full: ({ disabled }) => (disabled ? 'disabled' : 'enabled') },
]
