/** `gatewayctl clients show`: one application as it is registered. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { showClient } from './show-client.ts'

export const mount: Mount = (clients) =>
  clients
    .command('show')
    .description('show one application')
    .argument('<client>', 'client_id or name')
    .action(
      action(async (context, client: string) => {
        showClient(context, await call(context, 'clients.show', { client }))
      }),
    )
