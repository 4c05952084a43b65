/** `gatewayctl users access`: which applications keep access on a person's behalf; withdraws it from one. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { type Column, printDone, printList } from '../terminal/output.ts'

export const mount: Mount = (users) =>
  users
    .command('access')
    .description('list the applications that keep access on behalf of a person, or withdraw it')
    .argument('<act>', 'list, withdraw')
    .argument('<person>', 'e-mail address or id')
    .argument('[access]', 'of withdraw: as the list has it')
    .action(
      action(async (context, act: string, person: string, access: string | undefined) => {
        if (act === 'list' && access === undefined) return await list(context, person)
        if (act === 'withdraw' && access !== undefined) {
          return await withdraw(context, person, access)
        }
        throw usageError(
          `the actions are list, and withdraw with an access (got "${act}")`,
          'gatewayctl users access list EMAIL',
        )
      }),
    )

async function list(context: Context, person: string): Promise<void> {
  const rows = await call(context, 'users.access.list', { ...context.accountInput, person })
  printList(context, rows, COLUMNS, ({ id }) => id)
}

const COLUMNS: readonly Column<VerbRecord<'users.access.list'>[number]>[] = [
  { title: 'access', full: ({ id }) => id },
  { title: 'client', full: ({ client_name }) => client_name },
  { title: 'scopes', full: ({ scopes }) => scopes.join(' ') },
  { title: 'until', full: ({ expires_at }) => expires_at },
]

async function withdraw(context: Context, person: string, access: string): Promise<void> {
  const gone = await call(context, 'users.access.withdraw', {
    ...context.accountInput,
    person,
    access,
  })
  printDone(
    context,
    gone,
    gone.id,
    `${clean(gone.client_id ?? '')} has no access for ${clean(gone.person)} any more`,
  )
}
