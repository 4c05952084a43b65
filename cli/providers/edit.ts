/** `gatewayctl providers edit`: changes key, base URL or type; models, prices and routes stay. */

import type { ProviderType } from '#domain/provider.ts'
import { definedIn } from '#domain/stated.ts'
import { shellWord } from '#forms/shell-word.ts'
import type { VerbInput, VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { OUTPUT_BOUND_HELP, readOutputBound } from '../flags/output-bound.ts'
import {
  type AddressFlags,
  PROJECT_HELP,
  REGION_HELP,
  readAddress,
} from '../flags/provider-address.ts'
import { isAbout, readSecretInput, type SecretFlags } from '../flags/read-secret.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { print, printJson, printNote } from '../terminal/output.ts'

interface Flags extends SecretFlags, AddressFlags {
  readonly type?: string
  readonly outputBound?: string
}

export const mount: Mount = (providers) =>
  providers
    .command('edit')
    .description('change the key, the address or the type of an upstream account')
    .argument('<name>')
    .option('--type <type>', 'openai, anthropic, google, …, openai-compatible')
    .option('--base-url <url>', 'base URL; another one needs the key again')
    .option('--region <region>', REGION_HELP)
    .option('--project <id>', PROJECT_HELP)
    .option('--key-file <file>', 'read the new key from a file; - is standard input')
    .option('--from-env <name>', 'read the new key from this variable')
    .option('--no-key', 'it no longer needs a key')
    .option('--output-bound <word>', OUTPUT_BOUND_HELP)
    .action(
      action(async (context, name: string, flags: Flags) => {
        const { type, outputBound, keyFile, fromEnv, key } = flags
        const isKeyStated = keyFile !== undefined || fromEnv !== undefined || key === false
        const stated = definedIn({
          type,
          ...readAddress(flags),
          output_bound: readOutputBound(outputBound),
        })
        if (!isKeyStated && Object.keys(stated).length === 0) {
          throw usageError(
            'no change given',
            `gatewayctl providers edit ${shellWord(name)} --key-file -`,
          )
        }
        if (isKeyStated) await judge(context, { name, ...stated })
        const edited = await edit(context, {
          name,
          ...stated,
          ...(isKeyStated && { credential: await readSecretInput(context, flags) }),
        })
        if (context.json) return printJson(edited)
        if (context.quiet) return print(edited.name)
        print(`${clean(edited.name)}: ${clean(describe(edited)) || 'nothing changed'}`)
        printNote(context, `next: gatewayctl providers test ${name}`)
      }),
    )

/** Refuses an unknown name and invalid values before a key is asked for. @throws provider_not_found, invalid_request */
async function judge(context: Context, input: VerbInput<'providers.edit'>): Promise<void> {
  const before = await call(context, 'providers.show', { name: input.name })
  const { settleEdit } = await import('#operator/edit-provider.ts')
  settleEdit(
    {
      name: before.name,
      type: before.type as ProviderType,
      baseUrl: before.base_url,
      outputBound: before.output_bound_source === 'stated' ? before.output_bound : null,
    },
    input,
  )
}

/** A new base URL needs the credential again; at a terminal it is prompted for. */
async function edit(
  context: Context,
  input: VerbInput<'providers.edit'>,
): Promise<VerbRecord<'providers.edit'>> {
  try {
    return await call(context, 'providers.edit', input)
  } catch (thrown) {
    if (!isAbout(thrown, 'credential') || input.credential !== undefined || !context.canPrompt())
      throw thrown
    printNote(context, clean(thrown.message))
    const credential = await readSecretInput(context, { key: true })
    return await call(context, 'providers.edit', { ...input, credential })
  }
}

/** "base url http://a → http://b, key changed" */
function describe(edited: VerbRecord<'providers.edit'>): string {
  const {
    previous,
    type,
    base_url,
    output_bound: bound,
    credential_changed,
    has_credential,
  } = edited
  return [
    type === previous.type ? '' : `type ${previous.type} → ${type}`,
    base_url === previous.base_url ? '' : `base url ${previous.base_url} → ${base_url}`,
    bound === previous.output_bound
      ? ''
      : `output bound ${previous.output_bound ?? '–'} → ${bound ?? '–'}`,
    credential_changed ? `key ${has_credential ? 'changed' : 'removed'}` : '',
  ]
    .filter((change) => change !== '')
    .join(', ')
}
