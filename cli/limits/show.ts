/** `gatewayctl limits show`: the limits of one key, or of all. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { type Column, printJson, printList } from '../terminal/output.ts'
import { noteScope } from '../terminal/scope.ts'
import { LIMIT_COLUMNS } from './columns.ts'

type Limits = VerbRecord<'limits.show'>[number]

export const mount: Mount = (limits) =>
  limits
    .command('show')
    .description('show the limits of one key, or of all')
    .argument('[key]', 'id, name or shown prefix')
    .action(
      action(async (context, key: string | undefined) => {
        const rows = await call(context, 'limits.show', {
          ...context.accountInput,
          key: key ?? null,
        })
        if (context.json && key !== undefined) return printJson(rows[0])
        if (key === undefined) await noteScope(context, 'default account')
        printList(context, rows, COLUMNS, ({ id }) => id)
      }),
    )

const COLUMNS: readonly Column<Limits>[] = [
  { title: 'name', full: ({ name }) => name },
  { title: 'id', isId: true, dropOrder: 1, full: ({ id }) => id },
  ...LIMIT_COLUMNS,
]
