/** `gatewayctl users list`: people who sign in, newest first, a page at a time. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { LIMIT_HELP, type ListingFlags, printListing } from '../terminal/listing.ts'
import { type Column, printNote } from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'

interface Flags extends ListingFlags {
  readonly matching?: string
  readonly disabled?: boolean
  readonly enabled?: boolean
  readonly before?: string
}

export const mount: Mount = (users) =>
  users
    .command('list')
    .description('list people who sign in, newest first; --account: only those of one account')
    .option('--matching <text>', 'only e-mail addresses that contain this')
    .option('--disabled', 'only disabled people')
    .option('--enabled', 'only enabled people')
    .option('--before <person>', 'start after this person: the last of the previous page')
    .option('--limit <n>', LIMIT_HELP)
    .action(
      action(async (context, flags: Flags) => {
        const query = {
          ...context.accountInput,
          matching: flags.matching ?? null,
          disabled: stateOf(flags),
        }
        const now = context.clock.now()
        const lastSeen: Column<Row> = {
          title: 'last sign-in',
          full: ({ last_sign_in_at }) => last_sign_in_at,
          short: ({ last_sign_in_at }) => last_sign_in_at && relativeTime(last_sign_in_at, now),
        }
        const { last, isWhole } = await printListing<Row>(context, flags, {
          page: (person, limit) =>
            call(context, 'users.list', {
              ...query,
              before: person?.id ?? flags.before ?? null,
              limit,
            }),
          columns: [...COLUMNS, lastSeen],
          idOf: ({ id }) => id,
        })
        if (last !== undefined && !isWhole) {
          printNote(context, `next: gatewayctl users list --before ${last.id}`)
        }
      }),
    )

/** Both flags, or neither, mean everybody. */
const stateOf = ({ disabled = false, enabled = false }: Flags): boolean | null =>
  disabled === enabled ? null : disabled

type Row = VerbRecord<'users.list'>[number]

const describeRole = ({ account, role }: Row['accounts'][number]): string => `${account} (${role})`

const COLUMNS: readonly Column<Row>[] = [
  { title: 'email', full: ({ email }) => email },
  { title: 'id', isId: true, dropOrder: 1, full: ({ id }) => id },
  { title: 'accounts', full: ({ accounts }) => accounts.map(describeRole).join(', ') || null },
  { title: 'state', full: ({ disabled }) => (disabled ? 'disabled' : 'enabled') },
]
