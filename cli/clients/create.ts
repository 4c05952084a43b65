/** `gatewayctl clients create`: registers an application that people sign in to. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { collect } from './collect.ts'
import { showIssued } from './show-issued.ts'

interface Flags {
  readonly redirectUri?: readonly string[]
  readonly logoutUri?: readonly string[]
  readonly requirePkce: boolean
}

export const mount: Mount = (clients) =>
  clients
    .command('create')
    .description('register an application and show its secret once')
    .argument('<name>', 'what people see when they sign in to it')
    .option('--redirect-uri <uri>', 'where people come back to, exactly; may be repeated', collect)
    .option('--redirect <uri>', 'the same', collect)
    .option('--logout-uri <uri>', 'where a sign-out may end; may be repeated', collect)
    .option('--no-require-pkce', 'for an application that cannot do PKCE')
    .action(
      action(
        async (context, name: string, flags: Flags & { readonly redirect?: readonly string[] }) => {
          const issued = await call(context, 'clients.create', {
            name,
            redirect_uris: [...(flags.redirectUri ?? []), ...(flags.redirect ?? [])],
            logout_uris: [...(flags.logoutUri ?? [])],
            require_pkce: flags.requirePkce,
          })
          showIssued(context, issued, 'created client')
        },
      ),
    )
