/** `gatewayctl users passkeys`: what a person signs in with instead of a code; removes one, as of a lost device. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { type Column, printDone, printList, printNote } from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'

export const mount: Mount = (users) =>
  users
    .command('passkeys')
    .description('list the passkeys of a person, or remove one')
    .argument('<act>', 'list, remove')
    .argument('<person>', 'e-mail address or id')
    .argument('[passkey]', 'of remove: as the list has it')
    .action(
      action(async (context, act: string, person: string, passkey: string | undefined) => {
        if (act === 'list' && passkey === undefined) return await list(context, person)
        if (act === 'remove' && passkey !== undefined) return await remove(context, person, passkey)
        throw usageError(
          `the actions are list, and remove with a passkey (got "${act}")`,
          'gatewayctl users passkeys list EMAIL',
        )
      }),
    )

type Row = VerbRecord<'users.passkeys.list'>[number]

async function list(context: Context, person: string): Promise<void> {
  const rows = await call(context, 'users.passkeys.list', { ...context.accountInput, person })
  printList(context, rows, columns(context), ({ id }) => id)
}

const columns = ({ clock }: Context): readonly Column<Row>[] => [
  { title: 'passkey', full: ({ id }) => id },
  { title: 'kept by', full: ({ name }) => name },
  { title: 'synced', dropOrder: 1, full: ({ synced }) => (synced ? 'yes' : 'no') },
  {
    title: 'added',
    full: ({ created_at }) => created_at,
    short: ({ created_at }) => relativeTime(created_at, clock.now()),
  },
  {
    title: 'last used',
    full: ({ last_used_at }) => last_used_at,
    short: ({ last_used_at }) => last_used_at && relativeTime(last_used_at, clock.now()),
  },
]

async function remove(context: Context, text: string, passkey: string): Promise<void> {
  const named = { ...context.accountInput, person: text }
  const { email, sessions } = await call(context, 'users.show', named)
  await confirm(context, {
    question: `remove ${clean(passkey)} of ${clean(email)}? They can no longer sign in with it`,
    act: `remove ${clean(passkey)} of ${clean(email)}`,
  })
  const removed = await call(context, 'users.passkeys.remove', { ...named, passkey })
  printDone(context, removed, removed.id, `removed ${clean(removed.name)} of ${clean(email)}`)
  if (sessions > 0) printNote(context, `next: gatewayctl users sessions revoke ${clean(email)}`)
}
