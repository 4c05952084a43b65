/** `gatewayctl identities edit`: changes a third party from the next sign-in on; what is not named stays. */
import { action, type Mount } from '../action.ts'
import { collect } from '../clients/collect.ts'
import { readSecretInput, type SecretFlags } from '../flags/read-secret.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { paint, printNote } from '../terminal/output.ts'
import { showProvider } from './show-provider.ts'

interface Flags extends SecretFlags {
  readonly clientId?: string
  readonly label?: string
  /** False after `--no-authoritative-for`. */
  readonly authoritativeFor?: readonly string[] | false
  readonly newSecret?: boolean
}

export const mount: Mount = (identities) =>
  identities
    .command('edit')
    .description('change a third party; the domains that are named replace all it had')
    .argument('<name>')
    .option('--client-id <id>', 'as what the gateway is registered there')
    .option('--label <text>', 'what people see on its button')
    .option('--authoritative-for <domain>', 'domains it has the last word on', collect)
    .option('--no-authoritative-for', 'it has the last word on none')
    .option('--new-secret', 'read a new client secret from standard input')
    .option('--key-file <file>', 'read the new one from a file')
    .option('--from-env <name>', 'read the new one from this variable')
    .action(
      action(async (context, name: string, flags: Flags) => {
        const { clientId, label, authoritativeFor, newSecret, keyFile, fromEnv } = flags
        const hasSecret = newSecret === true || keyFile !== undefined || fromEnv !== undefined
        const secret = hasSecret ? await readSecretInput(context, flags) : null
        const edited = await call(context, 'identities.edit', {
          name,
          ...(clientId === undefined ? {} : { client_id: clientId }),
          ...(label === undefined ? {} : { label }),
          ...(authoritativeFor === undefined
            ? {}
            : { authoritative_for: authoritativeFor === false ? [] : [...authoritativeFor] }),
          ...(secret === null ? {} : { secret }),
        })
        printNote(
          context,
          `${paint(context, 'green', '✓')} changed identity provider ${clean(name)}`,
        )
        showProvider(context, edited)
      }),
    )
