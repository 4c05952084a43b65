/** `gatewayctl groups list`: the groups of people. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { type Column, printList } from '../terminal/output.ts'

export const mount: Mount = (groups) =>
  groups
    .command('list')
    .description('list groups, and how many people belong to each')
    .action(
      action(async (context) => {
        const rows = await call(context, 'groups.list', {})
        printList(context, rows, COLUMNS, ({ name }) => name)
      }),
    )

const COLUMNS: readonly Column<VerbRecord<'groups.list'>[number]>[] = [
  { title: 'group', full: ({ name }) => name },
  { title: 'people', right: true, full: ({ people }) => people },
]
