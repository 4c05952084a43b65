/** `gatewayctl models price`: a new price version; past charges keep theirs. */
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readUntil } from '../flags/read-value.ts'
import { recentRequests } from '../gateway/impact.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { paint, print, printJson, tell } from '../terminal/output.ts'
import { addPriceFlags, type PriceFlags, readPriceFlags } from './price-flags.ts'

interface Flags extends PriceFlags {
  readonly from?: string
  readonly clear?: boolean
}

export const mount: Mount = (models) =>
  addPriceFlags(models.command('price').description('change prices; what is not stated stays'))
    .argument('<model>', 'provider/model')
    .option('--from <time>', 'when it begins to hold; default: now')
    .option('--clear', 'take the price away: requests are refused until it has one')
    .action(
      action(async (context, model: string, flags: Flags) => {
        if (flags.clear) return await clear(context, model, flags)
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

async function clear(context: Context, text: string, flags: Flags): Promise<void> {
  if (Object.keys(readPriceFlags(flags)).length > 0 || flags.from !== undefined) {
    throw usageError('--clear takes every price away, now: state no other')
  }
  const { id: model } = await call(context, 'models.show', { model: text })
  await confirm(context, {
    question: `take the price of ${clean(model)} away? ${await recentRequests(context, { model })}; the next one is refused`,
    act: `take the price of ${clean(model)} away`,
  })
  const record = await call(context, 'models.unprice', { model })
  if (context.json) return printJson(record)
  if (context.quiet) return print(record.id)
  tell(context, `${paint(context, 'green', '✓')} ${clean(model)} has no price and is refused`)
}
