/** `gatewayctl clients edit`: changes an application from its next request on; what is not named stays. */
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { paint, tell } from '../terminal/output.ts'
import { collect } from './collect.ts'
import { showClient } from './show-client.ts'

interface Flags {
  readonly name?: string
  readonly redirectUri?: readonly string[]
  readonly logoutUri?: readonly string[]
  readonly pkce?: string
}

export const mount: Mount = (clients) =>
  clients
    .command('edit')
    .description('change an application; the addresses that are named replace all it had')
    .argument('<client>', 'client_id or name')
    .option('--name <name>', 'what people see')
    .option('--redirect-uri <uri>', 'where people come back to; may be repeated', collect)
    .option('--logout-uri <uri>', 'where a sign-out may end; may be repeated', collect)
    .option('--pkce <rule>', 'required or optional')
    .action(
      action(async (context, client: string, flags: Flags) => {
        const { name, redirectUri, logoutUri, pkce } = flags
        const stated = {
          ...(name !== undefined && { name }),
          ...(redirectUri !== undefined && { redirect_uris: [...redirectUri] }),
          ...(logoutUri !== undefined && { logout_uris: [...logoutUri] }),
          ...(pkce !== undefined && { require_pkce: readRule(pkce) }),
        }
        if (Object.keys(stated).length === 0) {
          throw usageError(
            'nothing to change is stated',
            `gatewayctl clients edit ${client} --name NEW`,
          )
        }
        if (redirectUri !== undefined) await confirmLoss(context, client, redirectUri)
        const edited = await call(context, 'clients.edit', { client, ...stated })
        tell(context, `${paint(context, 'green', '✓')} changed client ${clean(edited.name)}`)
        showClient(context, edited)
      }),
    )

/** An address that is taken away ends every sign-in that comes back there. */
async function confirmLoss(
  context: Context,
  text: string,
  redirects: readonly string[],
): Promise<void> {
  const { name, redirect_uris } = await call(context, 'clients.show', { client: text })
  const lost = redirect_uris.filter((uri) => !redirects.includes(uri))
  if (lost.length === 0) return
  const flags = redirects.map((uri) => ` --redirect-uri ${uri}`).join('')
  await confirm(context, {
    question: `take ${clean(lost.join(' '))} away from ${clean(name)}? Nobody comes back there any more`,
    act: `take ${clean(lost.join(' '))} away from ${clean(name)}`,
    command: `gatewayctl clients edit ${text}${flags} --yes`,
  })
}

function readRule(text: string): boolean {
  if (text === 'required' || text === 'optional') return text === 'required'
  throw usageError(`--pkce must be required or optional (got "${text}")`)
}
