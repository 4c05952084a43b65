/** `gatewayctl clients remove`: removes an application and ends its tokens. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { printDone } from '../terminal/output.ts'

export const mount: Mount = (clients) =>
  clients
    .command('remove')
    .description('remove an application; its codes and tokens stop working at once')
    .argument('<client>', 'client_id or name')
    .action(
      action(async (context, text: string) => {
        const { name, client_id: client } = await call(context, 'clients.show', { client: text })
        await confirm(context, {
          question: `remove client ${clean(name)} (${client})? Its tokens stop working`,
          act: `remove client ${clean(name)}`,
        })
        const removed = await call(context, 'clients.remove', { client })
        printDone(context, removed, removed.client_id, `removed client ${clean(name)}`)
      }),
    )
