/** `gatewayctl clients rotate-secret`: a new secret; the old one ends at once. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { showIssued } from './show-issued.ts'

export const mount: Mount = (clients) =>
  clients
    .command('rotate-secret')
    .description('give an application a new secret; the old one ends at once')
    .argument('<client>', 'client_id or name')
    .action(
      action(async (context, text: string) => {
        const { name, client_id: client } = await call(context, 'clients.show', { client: text })
        await confirm(context, {
          question: `give ${clean(name)} a new secret? Nobody signs in to it until it has that`,
          act: `rotate the secret of ${clean(name)}`,
        })
        showIssued(
          context,
          await call(context, 'clients.rotate-secret', { client }),
          'new secret of',
        )
      }),
    )
