/** `gatewayctl models unalias`: takes a name from a model; requests by it are refused from the next one on. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { noteDone, print, printJson } from '../terminal/output.ts'

export const mount: Mount = (models) =>
  models
    .command('unalias')
    .description('take another name from a model; the model stays')
    .argument('<alias>', 'the name, as `models alias` lists it')
    .action(
      action(async (context, name: string) => {
        const removed = await call(context, 'models.alias.remove', { name })
        if (context.json) return printJson(removed)
        if (context.quiet) return print(removed.name)
        noteDone(context, `${clean(`${removed.name} is no longer ${removed.model}`)}`)
      }),
    )
