/** `gatewayctl models add`: a model by hand, with its price. */
import { MODEL_KINDS, type ModelKind } from '#domain/model-kind.ts'
import { OPENAI_WIRES } from '#domain/provider.ts'
import { action, type Mount } from '../action.ts'
import { readChoice } from '../flags/read-choice.ts'
import { readCount } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { noteDone, print, printJson, printNote } from '../terminal/output.ts'
import { addPriceFlags, type PriceFlags, readPriceFlags } from './price-flags.ts'

interface Flags extends PriceFlags {
  readonly provider?: string
  readonly upstream?: string
  readonly name?: string
  readonly context?: string
  readonly maxOutput?: string
  readonly images?: boolean
  readonly imagesPerAnswer?: string
  readonly wires?: string
  readonly kind?: string
  readonly embeddingSpace?: string
}

export const mount: Mount = (models) =>
  addPriceFlags(models.command('add').description('add a model and its price'))
    .argument('<model>', 'provider/model, as applications request it')
    .option('--provider <name>', 'provider that serves it; default: the first part of its id')
    .option(
      '--upstream <name>',
      'name of the model at the provider; default: the second part of its id',
    )
    .option('--name <text>', 'display name')
    .option('--kind <kind>', `what it does: ${MODEL_KINDS.join(', ')} (generate)`)
    .option(
      '--embedding-space <name>',
      'of kind embed: models with the same may replace each other',
    )
    .option('--context <n>', 'context length in tokens')
    .option('--max-output <n>', 'maximum output tokens')
    .option('--images', 'it generates images')
    .option('--images-per-answer <n>', 'images that one answer may bring; each is held (1)')
    .option(
      '--wires <list>',
      "of OpenAI's wires: chat,responses; default: those of its provider's type",
    )
    .action(
      action(async (context, model: string, flags: Flags) => {
        const record = await call(context, 'models.add', {
          ...readPriceFlags(flags),
          model,
          ...factsOf(flags),
        })
        if (context.json) return printJson(record)
        if (context.quiet) return print(record.id)
        noteDone(context, `added model ${record.id}`)
        if (record.price === null) {
          printNote(context, '! it has no price, so requests to it are refused')
          printNote(context, `next: gatewayctl models price ${record.id} ${PRICES[record.kind]}`)
        } else if (flags.inUsd === undefined && record.kind === 'generate') {
          printNote(context, '! only its images have a price: text requests cost nothing')
          printNote(
            context,
            `next, if it answers with text: gatewayctl models price ${record.id} --in-usd X --out-usd Y`,
          )
        }
      }),
    )

/** The flags of its price. */
const PRICES: Readonly<Record<ModelKind, string>> = {
  generate: '--in-usd X --out-usd Y',
  embed: '--in-usd X',
  rerank: '--per-search-unit-usd X',
}

/** The given facts by their API names; others are undefined. @throws CommandError 2 */
function factsOf(flags: Flags) {
  const { provider, upstream, name, context, maxOutput, images, imagesPerAnswer, wires } = flags
  const count = (flag: string, text: string | undefined) =>
    text === undefined ? undefined : readCount(flag, text)
  return {
    ...{ provider, upstream, name, embedding_space: flags.embeddingSpace },
    kind: flags.kind === undefined ? undefined : readChoice('--kind', flags.kind, MODEL_KINDS),
    context_length: count('--context', context),
    max_completion_tokens: count('--max-output', maxOutput),
    images: images === true || imagesPerAnswer !== undefined,
    images_per_answer: count('--images-per-answer', imagesPerAnswer),
    wires: wires?.split(',').map((wire) => readChoice('--wires', wire.trim(), OPENAI_WIRES)),
  }
}
