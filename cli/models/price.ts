/** `gatewayctl models price`: a new price version; past charges keep theirs. */
import { action, type Mount } from '../action.ts'
import { call } from '../operator.ts'
import { paint, print, printJson, tell } from '../output.ts'
import { readUntil } from '../read-value.ts'
import { addPriceFlags, type PriceFlags, readPriceFlags } from './price-flags.ts'

interface Flags extends PriceFlags {
  readonly from?: string
}

export const mount: Mount = (models) =>
  addPriceFlags(models.command('price').description('change prices; what is not stated stays'))
    .argument('<model>', 'provider/model')
    .option('--from <time>', 'when it begins to hold; default: now')
    .action(
      action(async (context, model: string, flags: Flags) => {
        const record = await call(context, 'models.price', {
          ...readPriceFlags(flags),
          model,
          ...(flags.from === undefined
            ? {}
            : { from: readUntil('--from', flags.from, context.clock.now()) }),
        })
        if (context.json) return printJson(record)
        const version = record.price?.version ?? ''
        if (context.quiet) return print(version)
        tell(context, `${paint(context, 'green', '✓')} priced ${record.id} (${version})`)
        const { previous, price } = record
        print(
          `in $${previous?.in_usd ?? '–'} → $${price?.in_usd ?? '–'}, out $${previous?.out_usd ?? '–'} → $${price?.out_usd ?? '–'} per million tokens`,
        )
      }),
    )
