/** `gatewayctl models alias`: lists the other names of models, or gives a model one; it holds from the next request. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { usageError } from '../exit.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { type Column, noteDone, print, printJson, printList } from '../terminal/output.ts'

type Alias = VerbRecord<'models.alias.list'>[number]

export const mount: Mount = (models) =>
  models
    .command('alias')
    .description('list the other names of models, or give a model one')
    .argument('[name]', 'the name that applications request')
    .argument('[model]', 'provider/model, which serves and is charged')
    .action(
      action(async (context, name: string | undefined, model: string | undefined) => {
        if (name === undefined) {
          const aliases = await call(context, 'models.alias.list', {})
          return printList(context, aliases, COLUMNS, (alias) => alias.name)
        }
        if (model === undefined) {
          throw usageError('an alias needs its model', `gatewayctl models alias ${name} MODEL`)
        }
        const alias = await call(context, 'models.alias.set', { name, model })
        if (context.json) return printJson(alias)
        if (context.quiet) return print(alias.name)
        noteDone(context, `${clean(`${alias.name} is ${alias.model}`)}, from the next request`)
      }),
    )

const COLUMNS: readonly Column<Alias>[] = [
  { title: 'alias', full: ({ name }) => name },
  { title: 'model', full: ({ model }) => model },
]
