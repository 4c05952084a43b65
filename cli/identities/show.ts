/** `gatewayctl identities show`: one identity provider, without its secret. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { showProvider } from './show-provider.ts'

export const mount: Mount = (identities) =>
  identities
    .command('show')
    .description('show one identity provider, with the redirect URI to register there')
    .argument('<name>')
    .action(
      action(async (context, name: string) => {
        showProvider(context, await call(context, 'identities.show', { name }))
      }),
    )
