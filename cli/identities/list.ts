/** `gatewayctl identities list`: external identity providers, without their secrets. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { type Column, printList } from '../terminal/output.ts'
import { withRedirect } from './show-provider.ts'

export const mount: Mount = (identities) =>
  identities
    .command('list')
    .description('list external identity providers')
    .action(
      action(async (context) => {
        const rows = await call(context, 'identities.list', {})
        printList(
          context,
          rows.map((row) => withRedirect(context, row)),
          COLUMNS,
          ({ name }) => name,
        )
      }),
    )

const COLUMNS: readonly Column<VerbRecord<'identities.list'>[number]>[] = [
  { title: 'name', full: ({ name }) => name },
  { title: 'label', full: ({ label }) => label },
  { title: 'type', full: ({ type }) => type },
  { title: 'people', right: true, full: ({ people }) => people },
  { title: 'authoritative for', full: (row) => row.authoritative_for.join(' ') || null },
  { title: 'issuer', full: ({ issuer }) => issuer },
]
