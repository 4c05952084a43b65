/** `gatewayctl clients list`: the applications that people sign in to. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { type Column, printList } from '../terminal/output.ts'

export const mount: Mount = (clients) =>
  clients
    .command('list')
    .description('list applications that people sign in to')
    .action(
      action(async (context) => {
        const rows = await call(context, 'clients.list', {})
        printList(context, rows, COLUMNS, ({ client_id }) => client_id)
      }),
    )

const COLUMNS: readonly Column<VerbRecord<'clients.list'>[number]>[] = [
  { title: 'name', full: ({ name }) => name },
  { title: 'client_id', full: ({ client_id }) => client_id },
  { title: 'pkce', full: ({ require_pkce }) => (require_pkce ? 'required' : 'optional') },
  { title: 'redirects', full: ({ redirect_uris }) => redirect_uris.join(' ') },
]
