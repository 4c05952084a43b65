/** `gatewayctl clients rotate-secret`: a new secret; the old one stops working at once. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { showIssued } from './show-issued.ts'

export const mount: Mount = (clients) =>
  clients
    .command('rotate-secret')
    .description('replace the secret of an application; the old one stops working at once')
    .argument('<client>', 'client_id or name')
    .action(
      action(async (context, text: string) => {
        const { name, client_id: client } = await call(context, 'clients.show', { client: text })
        await confirm(context, {
          question: `replace the secret of ${clean(name)}? Sign-in fails until the application has the new one`,
          act: `rotate the secret of ${clean(name)}`,
        })
        showIssued(
          context,
          await call(context, 'clients.rotate-secret', { client }),
          'new secret of',
        )
      }),
    )
