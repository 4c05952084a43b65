/** `gatewayctl users list`: people who sign in, newest first, a page at a time. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { readCount } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { type Column, printList, printNote } from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'

interface Flags {
  readonly matching?: string
  readonly disabled?: boolean
  readonly enabled?: boolean
  readonly before?: string
  readonly limit: string
}

export const mount: Mount = (users) =>
  users
    .command('list')
    .description('list people who sign in, newest first; --account: only those of one account')
    .option('--matching <text>', 'only e-mail addresses that contain this')
    .option('--disabled', 'only disabled people')
    .option('--enabled', 'only enabled people')
    .option('--before <person>', 'start after this person: the last of the previous page')
    .option('--limit <n>', 'maximum number of rows', '50')
    .action(
      action(async (context, flags: Flags) => {
        const limit = readCount('--limit', flags.limit)
        const rows = await call(context, 'users.list', {
          ...context.accountInput,
          matching: flags.matching ?? null,
          disabled: stateOf(flags),
          before: flags.before ?? null,
          limit,
        })
        const now = context.clock.now()
        const lastSeen: Column<Row> = {
          title: 'last sign-in',
          full: ({ last_sign_in_at }) => last_sign_in_at,
          short: ({ last_sign_in_at }) => last_sign_in_at && relativeTime(last_sign_in_at, now),
        }
        printList(context, rows, [...COLUMNS, lastSeen], ({ id }) => id)
        const last = rows.at(-1)
        if (last !== undefined && rows.length === limit) {
          printNote(context, `there may be more: gatewayctl users list --before ${last.id}`)
        }
      }),
    )

/** Both flags, or neither, mean everybody. */
const stateOf = ({ disabled = false, enabled = false }: Flags): boolean | null =>
  disabled === enabled ? null : disabled

type Row = VerbRecord<'users.list'>[number]

const COLUMNS: readonly Column<Row>[] = [
  { title: 'email', full: ({ email }) => email },
  { title: 'id', isId: true, dropOrder: 1, full: ({ id }) => id },
  { title: 'account', full: ({ account }) => account },
  { title: 'state', full: ({ disabled }) => (disabled ? 'disabled' : 'enabled') },
]
