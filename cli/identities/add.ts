/** `gatewayctl identities add`: an external identity provider that people may sign in with. */
import { IDENTITY_PROVIDER_TYPES } from '#signin/register/identity-provider.ts'
import { action, type Mount } from '../action.ts'
import { collect } from '../flags/collect.ts'
import { readChoice } from '../flags/read-choice.ts'
import { type SecretFlags, withSecretLast } from '../flags/read-secret.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { noteDone, printNote } from '../terminal/output.ts'
import { showProvider } from './show-provider.ts'

interface Flags extends SecretFlags {
  readonly clientId: string
  readonly issuer?: string
  readonly type?: string
  readonly label?: string
  readonly authoritativeFor?: readonly string[]
}

export const mount: Mount = (identities) =>
  identities
    .command('add')
    .description('add an external identity provider; its secret is read from standard input')
    .argument('<name>', 'google, github, or a name of your choice')
    .requiredOption('--client-id <id>', 'client id of the gateway at this provider')
    .option('--issuer <url>', 'issuer URL, exactly as in its tokens; google and github have one')
    .option('--type <type>', 'oidc or github; default: by the name, else oidc')
    .option('--label <text>', 'text of its sign-in button')
    .option(
      '--authoritative-for <domain>',
      'e-mail domain it is authoritative for; repeatable',
      collect,
    )
    .option('--key-file <file>', 'read the client secret from a file; - is standard input')
    .option('--from-env <name>', 'read the client secret from this variable')
    .action(
      action(async (context, name: string, flags: Flags) => {
        const { clientId, issuer, type, label, authoritativeFor } = flags
        const stated = {
          name,
          client_id: clientId,
          issuer,
          type:
            type === undefined ? undefined : readChoice('--type', type, IDENTITY_PROVIDER_TYPES),
          label,
          authoritative_for: authoritativeFor && [...authoritativeFor],
        }
        const added = await withSecretLast(context, flags, 'secret', (secret) =>
          call(context, 'identities.add', { ...stated, secret: secret ?? undefined }),
        )
        noteDone(context, `added identity provider ${clean(name)}`)
        showProvider(context, added)
        printNote(context, 'register this redirect URI at the provider, exactly as printed')
      }),
    )
