/** `gatewayctl identities edit`: changes an identity provider from the next sign-in on; fields not given stay. */
import type { VerbInput } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { collect } from '../flags/collect.ts'
import { readSecretInput, type SecretFlags } from '../flags/read-secret.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { noteDone } from '../terminal/output.ts'
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
    .description('change an identity provider; the given domains replace all previous ones')
    .argument('<name>')
    .option('--client-id <id>', 'client id of the gateway at this provider')
    .option('--label <text>', 'text of its sign-in button')
    .option(
      '--authoritative-for <domain>',
      'e-mail domain it is authoritative for; repeatable',
      collect,
    )
    .option('--no-authoritative-for', 'it is authoritative for no domain')
    .option('--new-secret', 'read a new client secret from standard input')
    .option('--key-file <file>', 'read the new client secret from a file')
    .option('--from-env <name>', 'read the new client secret from this variable')
    .action(
      action(async (context, name: string, flags: Flags) => {
        const { clientId, label, authoritativeFor, newSecret, keyFile, fromEnv } = flags
        const hasSecret = newSecret === true || keyFile !== undefined || fromEnv !== undefined
        const stated = {
          name,
          client_id: clientId,
          label,
          authoritative_for:
            authoritativeFor === false ? [] : authoritativeFor && [...authoritativeFor],
        }
        if (hasSecret) await judge(context, stated)
        const secret = hasSecret ? await readSecretInput(context, flags) : null
        const edited = await call(context, 'identities.edit', {
          ...stated,
          secret: secret ?? undefined,
        })
        noteDone(context, `changed identity provider ${clean(name)}`)
        showProvider(context, edited)
      }),
    )

/** Refuses an unknown name and invalid values before a secret is asked for. @throws provider_not_found, invalid_request */
async function judge(context: Context, stated: VerbInput<'identities.edit'>): Promise<void> {
  const { editIdentityProvider } = await import('#operator/identities.ts')
  await editIdentityProvider.read(stated)
  await call(context, 'identities.show', { name: stated.name })
}
