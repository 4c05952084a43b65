/** `gatewayctl providers add`: an upstream account, its credential, and its models from the catalogue. */
import { shellWord } from '#forms/shell-word.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { OUTPUT_BOUND_HELP, readOutputBound } from '../flags/output-bound.ts'
import {
  type AddressFlags,
  PROJECT_HELP,
  REGION_HELP,
  readAddress,
} from '../flags/provider-address.ts'
import { type SecretFlags, withSecretLast } from '../flags/read-secret.ts'
import { call } from '../gateway/operator.ts'
import { count } from '../terminal/count.ts'
import { noteDone, print, printJson, printNote } from '../terminal/output.ts'
import { checkProvider, printChecked } from './check.ts'

interface Flags extends SecretFlags, AddressFlags {
  readonly type?: string
  readonly outputBound?: string
  readonly check: boolean
}

export const mount: Mount = (providers) =>
  providers
    .command('add')
    .description(
      'add an upstream account; its key is read from standard input, a file or a variable',
    )
    .argument('<name>', "its name, the first part of its models' ids")
    .option('--type <type>', 'openai, anthropic, google, …, openai-compatible; default: the name')
    .option('--base-url <url>', 'base URL, when its type has none')
    .option('--region <region>', REGION_HELP)
    .option('--project <id>', PROJECT_HELP)
    .option('--key-file <file>', 'read the key from a file; - is standard input')
    .option('--from-env <name>', 'read the key from this variable')
    .option('--no-key', 'it needs no key; on bedrock and vertex: use the role of this machine')
    .option('--output-bound <word>', OUTPUT_BOUND_HELP)
    .option('--no-check', 'skip the check, which lists its models and costs nothing')
    .action(
      action(async (context, name: string, flags: Flags) => {
        const stated = {
          name,
          type: flags.type,
          ...readAddress(flags),
          output_bound: readOutputBound(flags.outputBound),
        }
        const record = await withSecretLast(context, flags, 'credential', (credential) =>
          call(context, 'providers.add', { ...stated, credential }),
        )
        if (context.quiet) return print(record.name)
        const checked = flags.check ? await checkProvider(context, name) : null
        if (context.json) return printJson({ ...record, check: checked })
        noteDone(context, `added provider ${name} (${record.type})`)
        const { models, unpriced_models: unpriced } = record
        if (flags.check) printChecked(context, record, checked)
        else printNote(context, `  to check it: gatewayctl providers test ${name}`)
        if (models > 0)
          printNote(context, `  ${models - unpriced} priced models from the catalogue`)
        if (unpriced > 0) {
          await printUnpriced(context, name)
        }
        if (models === 0) {
          printNote(context, `next: gatewayctl models add ${name}/MODEL --in-usd X --out-usd Y`)
        }
      }),
    )

/** Says why the catalogue has no price for them, and how to set one. */
async function printUnpriced(context: Context, provider: string): Promise<void> {
  const models = await call(context, 'models.list', { provider, unpriced: true })
  const draw = models.filter((model) => model.output_modalities.includes('image'))
  const [example = models[0]] = draw
  if (example === undefined) return
  printNote(
    context,
    `! ${count(models.length, 'model')} without a price: refused until you set one`,
  )
  if (draw.length > 0) {
    printNote(
      context,
      `  ${draw.length} of them draw; the catalogue has no price for their images, the vendor's page has`,
    )
  }
  const image = draw.length > 0 ? ' --image-out-usd X' : ''
  const price = `models price ${shellWord(example.id)} --in-usd X --out-usd X${image}`
  printNote(context, `  to set one: gatewayctl ${price}`)
  printNote(context, `next: gatewayctl models list --unpriced --provider ${provider}`)
}
