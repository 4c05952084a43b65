/** `gatewayctl models add`: a model by hand, with its price. */
import { action, type Mount } from '../action.ts'
import { readCount } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { paint, print, printJson, printNote } from '../terminal/output.ts'
import { addPriceFlags, type PriceFlags, readPriceFlags } from './price-flags.ts'

interface Flags extends PriceFlags {
  readonly provider?: string
  readonly upstream?: string
  readonly name?: string
  readonly context?: string
  readonly maxOutput?: string
  readonly images?: boolean
}

export const mount: Mount = (models) =>
  addPriceFlags(models.command('add').description('add a model and its price'))
    .argument('<model>', 'provider/model, as applications will say it')
    .option('--provider <name>', 'who serves it; default: the first half of its id')
    .option('--upstream <name>', 'what the provider calls it; default: the second half')
    .option('--name <text>', 'how people call it')
    .option('--context <n>', 'tokens of prompt and answer together')
    .option('--max-output <n>', 'tokens of answer')
    .option('--images', 'it draws pictures')
    .action(
      action(async (context, model: string, flags: Flags) => {
        const record = await call(context, 'models.add', {
          ...readPriceFlags(flags),
          model,
          ...(flags.provider === undefined ? {} : { provider: flags.provider }),
          ...(flags.upstream === undefined ? {} : { upstream: flags.upstream }),
          ...(flags.name === undefined ? {} : { name: flags.name }),
          ...(flags.context === undefined
            ? {}
            : { context_length: readCount('--context', flags.context) }),
          ...(flags.maxOutput === undefined
            ? {}
            : { max_completion_tokens: readCount('--max-output', flags.maxOutput) }),
          images: flags.images === true,
        })
        if (context.json) return printJson(record)
        if (context.quiet) return print(record.id)
        printNote(context, `${paint(context, 'green', '✓')} added model ${record.id}`)
        if (record.price === null) {
          printNote(context, '! it has no price, so requests to it are refused')
          printNote(context, `next: gatewayctl models price ${record.id} --in-usd X --out-usd Y`)
        } else if (flags.inUsd === undefined) {
          printNote(context, '! only its pictures have a price; a request for text costs nothing')
          printNote(
            context,
            `if it writes: gatewayctl models price ${record.id} --in-usd X --out-usd Y`,
          )
        }
      }),
    )
