/** `gatewayctl identities add`: a third party that people may sign in by. */
import { action, type Mount } from '../action.ts'
import { collect } from '../clients/collect.ts'
import { usageError } from '../exit.ts'
import { readSecretInput, type SecretFlags } from '../flags/read-secret.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { paint, printNote } from '../terminal/output.ts'
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
    .description('let people sign in by a third party; its secret comes by standard input')
    .argument('<name>', 'google, github, or a name for one of your own')
    .requiredOption('--client-id <id>', 'as what the gateway is registered there')
    .option('--issuer <url>', 'who it is, when the name does not say: exactly as in its tokens')
    .option('--type <type>', 'oidc or github; default: what the name says, else oidc')
    .option('--label <text>', 'what people see on its button')
    .option(
      '--authoritative-for <domain>',
      'it has the last word on addresses there; may be repeated',
      collect,
    )
    .option('--key-file <file>', 'read the client secret from a file; - is standard input')
    .option('--from-env <name>', 'read the client secret from this variable')
    .action(
      action(async (context, name: string, flags: Flags) => {
        const { clientId, issuer, label, authoritativeFor } = flags
        const added = await call(context, 'identities.add', {
          name,
          client_id: clientId,
          ...(issuer === undefined ? {} : { issuer }),
          ...(flags.type === undefined ? {} : { type: readType(flags.type) }),
          ...(label === undefined ? {} : { label }),
          ...(authoritativeFor === undefined ? {} : { authoritative_for: [...authoritativeFor] }),
          secret: (await readSecretInput(context, flags)) ?? '',
        })
        printNote(context, `${paint(context, 'green', '✓')} added identity provider ${clean(name)}`)
        showProvider(context, added)
        printNote(context, 'register its redirect address there, exactly as it is written')
      }),
    )

function readType(text: string): 'oidc' | 'github' {
  if (text === 'oidc' || text === 'github') return text
  throw usageError(`--type must be oidc or github (got "${text}")`)
}
