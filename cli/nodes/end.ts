/** `gatewayctl nodes end`: frees at once what a node holds that is gone. */
import { action, type Mount } from '../action.ts'
import { CommandError, EXIT } from '../exit.ts'
import { operatorName } from '../gateway/operator-name.ts'
import { requireShared } from '../store/require-shared.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { print, printJson } from '../terminal/output.ts'

export const mount: Mount = (nodes) =>
  nodes
    .command('end')
    .description('free at once what a node holds; one that lives goes on with new requests')
    .argument('<name>', 'as nodes list shows it')
    .action(
      action(async (context, name: string) => {
        const { address } = requireShared(context)
        await confirm(context, {
          question: `end the node ${clean(name)}? Its requests in progress are charged only if it still ends them.`,
          act: `end the node ${clean(name)}`,
        })
        const { endNode } = await import('#db/postgres/operate.ts')
        const ended = await endNode(address, context.clock, name, operatorName(context.env))
        if (ended === null) {
          throw new CommandError(
            'node_not_found',
            EXIT.notFound,
            `there is no node "${name}"`,
            'gatewayctl nodes list',
          )
        }
        if (context.json) return printJson(ended)
        if (context.quiet) return print(ended.name)
        print(`ended ${clean(ended.name)}; what it held is free`)
      }),
    )
