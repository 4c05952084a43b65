/** `gatewayctl providers list`: upstream accounts, without their credentials. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { type Column, printList } from '../terminal/output.ts'

export const mount: Mount = (providers) =>
  providers
    .command('list')
    .description('list upstream accounts')
    .action(
      action(async (context) => {
        const rows = await call(context, 'providers.list', {})
        printList(context, rows, COLUMNS, ({ name }) => name)
      }),
    )

const COLUMNS: readonly Column<VerbRecord<'providers.list'>[number]>[] = [
  { title: 'name', full: ({ name }) => name },
  { title: 'type', full: ({ type }) => type },
  { title: 'key', full: ({ has_credential }) => (has_credential ? 'encrypted' : 'none') },
  { title: 'models', right: true, full: ({ models }) => models },
  { title: 'unpriced', right: true, dropOrder: 1, full: ({ unpriced_models }) => unpriced_models },
  { title: 'base url', full: ({ base_url }) => base_url },
]
