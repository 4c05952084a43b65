/** `gatewayctl clients edit`: changes an application from its next request on; fields not given stay. */

import { definedIn } from '#domain/stated.ts'
import { shellWord } from '#forms/shell-word.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { collect } from '../flags/collect.ts'
import { readChoice } from '../flags/read-choice.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { noteDone } from '../terminal/output.ts'
import { ALLOW_HELP, readAllow } from './allow-flag.ts'
import { BACKCHANNEL_HELP } from './backchannel-flag.ts'
import { DEVICE_HELP } from './device-flag.ts'
import { showClient } from './show-client.ts'

interface Flags {
  readonly name?: string
  readonly redirectUri?: readonly string[]
  readonly redirect?: readonly string[]
  readonly logoutUri?: readonly string[]
  readonly pkce?: string
  /** False after `--no-require-pkce`. */
  readonly requirePkce?: boolean
  /** False after `--no-device`. */
  readonly device?: boolean
  /** False after `--no-backchannel-logout-uri`. */
  readonly backchannelLogoutUri?: string | false
  readonly idTokenClaims?: boolean
  readonly allow?: readonly string[]
}

export const mount: Mount = (clients) =>
  clients
    .command('edit')
    .description('change an application; the given URIs replace all previous ones')
    .argument('<client>', 'client_id or name')
    .option('--name <name>', 'name shown to people')
    .option('--redirect-uri <uri>', 'exact redirect URI after sign-in; repeatable', collect)
    .option('--redirect <uri>', 'alias of --redirect-uri', collect)
    .option('--logout-uri <uri>', 'allowed redirect URI after sign-out; repeatable', collect)
    .option('--pkce <rule>', 'required or optional')
    .option('--require-pkce', 'the same as --pkce required')
    .option('--no-require-pkce', 'the same as --pkce optional')
    .option('--device', DEVICE_HELP)
    .option('--no-device', 'not on another screen any more')
    .option('--backchannel-logout-uri <uri>', BACKCHANNEL_HELP)
    .option('--no-backchannel-logout-uri', 'it is told of no sign-out any more')
    .option('--id-token-claims', 'e-mail, name and groups in the ID token too, by the scopes')
    .option('--no-id-token-claims', 'only by userinfo')
    .option('--allow <who>', ALLOW_HELP, collect)
    .action(
      action(async (context, client: string, flags: Flags) => {
        const { name, logoutUri, device, backchannelLogoutUri: backchannel } = flags
        const redirects = [...(flags.redirectUri ?? []), ...(flags.redirect ?? [])]
        const stated = definedIn({
          name,
          redirect_uris: redirects.length > 0 ? redirects : undefined,
          logout_uris: logoutUri && [...logoutUri],
          require_pkce: readPkce(flags),
          device,
          id_token_claims: flags.idTokenClaims,
          backchannel_logout_uri: backchannel === undefined ? undefined : backchannel || null,
          allowed: readAllow(flags.allow),
        })
        if (Object.keys(stated).length === 0) {
          throw usageError(
            'no change given',
            `gatewayctl clients edit ${shellWord(client)} --name NEW`,
          )
        }
        if (redirects.length > 0) await confirmLoss(context, client, redirects)
        const edited = await call(context, 'clients.edit', { client, ...stated })
        noteDone(context, `changed client ${clean(edited.name)}`)
        showClient(context, edited)
      }),
    )

/** Asks before a redirect URI is removed: sign-ins that return there would fail. */
async function confirmLoss(
  context: Context,
  text: string,
  redirects: readonly string[],
): Promise<void> {
  const { name, redirect_uris } = await call(context, 'clients.show', { client: text })
  const lost = redirect_uris.filter((uri) => !redirects.includes(uri))
  if (lost.length === 0) return
  await confirm(context, {
    question: `remove ${clean(lost.join(' '))} from ${clean(name)}? Sign-ins that return there will fail`,
    act: `remove ${clean(lost.join(' '))} from ${clean(name)}`,
  })
}

function readPkce({ pkce, requirePkce }: Flags): boolean | undefined {
  if (pkce === undefined) return requirePkce
  if (requirePkce !== undefined) {
    throw usageError(`--pkce and --${requirePkce ? '' : 'no-'}require-pkce cannot be combined`)
  }
  return readChoice('--pkce', pkce, ['required', 'optional']) === 'required'
}
