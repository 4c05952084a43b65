/** `gatewayctl clients create`: registers an application that people sign in to. */
import { action, type Mount } from '../action.ts'
import { collect } from '../flags/collect.ts'
import { call } from '../gateway/operator.ts'
import { ALLOW_HELP, readAllow } from './allow-flag.ts'
import { BACKCHANNEL_HELP } from './backchannel-flag.ts'
import { DEVICE_HELP } from './device-flag.ts'
import { showIssued } from './show-issued.ts'

interface Flags {
  readonly redirectUri?: readonly string[]
  readonly logoutUri?: readonly string[]
  readonly requirePkce: boolean
  readonly public?: boolean
  readonly device?: boolean
  readonly backchannelLogoutUri?: string
  readonly idTokenClaims: boolean
  readonly allow?: readonly string[]
}

export const mount: Mount = (clients) =>
  clients
    .command('create')
    .description('register an application and show its secret once')
    .argument('<name>', 'name shown to people when they sign in')
    .option('--redirect-uri <uri>', 'exact redirect URI after sign-in; repeatable', collect)
    .option('--redirect <uri>', 'alias of --redirect-uri', collect)
    .option('--logout-uri <uri>', 'allowed redirect URI after sign-out; repeatable', collect)
    .option('--no-require-pkce', 'for an application without PKCE support')
    .option(
      '--public',
      'without a secret: a page’s script, an app, a command line; always with PKCE',
    )
    .option('--device', DEVICE_HELP)
    .option('--backchannel-logout-uri <uri>', BACKCHANNEL_HELP)
    .option(
      '--no-id-token-claims',
      'who the person is, only by userinfo; the ID token has no e-mail',
    )
    .option('--allow <who>', ALLOW_HELP, collect)
    .action(
      action(
        async (context, name: string, flags: Flags & { readonly redirect?: readonly string[] }) => {
          const issued = await call(context, 'clients.create', {
            name,
            redirect_uris: [...(flags.redirectUri ?? []), ...(flags.redirect ?? [])],
            logout_uris: [...(flags.logoutUri ?? [])],
            require_pkce: flags.requirePkce,
            public: flags.public === true,
            device: flags.device === true,
            backchannel_logout_uri: flags.backchannelLogoutUri ?? null,
            id_token_claims: flags.idTokenClaims,
            allowed: readAllow(flags.allow) ?? null,
          })
          showIssued(context, issued, 'created client')
        },
      ),
    )
