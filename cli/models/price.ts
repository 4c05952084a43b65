/** `gatewayctl models price`: a new price version; past charges keep theirs. */
import type { PriceRecord } from '#operator/model-record.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readStart } from '../flags/read-value.ts'
import { recentRequests } from '../gateway/impact.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { noteDone, print, printDone, printJson } from '../terminal/output.ts'
import { addPriceFlags, type PriceFlags, readPriceFlags } from './price-flags.ts'

interface Flags extends PriceFlags {
  readonly from?: string
  readonly clear?: boolean
}

export const mount: Mount = (models) =>
  addPriceFlags(models.command('price').description('change prices; those not given stay'))
    .argument('<model>', 'provider/model')
    .option('--from <time>', 'when it takes effect; default: now')
    .option('--clear', 'remove the price: requests are refused until it has one')
    .action(
      action(async (context, model: string, flags: Flags) => {
        if (flags.clear) return await clear(context, model, flags)
        const record = await call(context, 'models.price', {
          ...readPriceFlags(flags),
          model,
          from: readStart('--from', flags.from, context.clock.now()),
        })
        if (context.json) return printJson(record)
        // Prints the added price, which may take effect later, and not the current one.
        const { id, added, previous } = record
        if (context.quiet) return print(added.version)
        noteDone(context, `priced ${clean(id)} (${added.version})`)
        const from = flags.from === undefined ? '' : `, from ${added.effective_from}`
        print(clean(`${priceChanges(previous, added)}${from}`))
      }),
    )

const PER_MILLION = [
  ['in', 'in_usd'],
  ['out', 'out_usd'],
  ['cached in', 'cached_in_usd'],
  ['cache write', 'cache_write_usd'],
  ['cache write 1h', 'cache_write_1h_usd'],
  ['image in', 'image_in_usd'],
  ['image out', 'image_out_usd'],
] as const satisfies readonly (readonly [string, keyof PriceRecord])[]

/** "in $2.5 → $3 per million tokens, per image $0.04 → 512x512 $0.02": changes to the current price. */
function priceChanges(before: PriceRecord | null, after: PriceRecord): string {
  const tokens = PER_MILLION.filter(([, field]) => (before?.[field] ?? null) !== after[field]).map(
    ([name, field]) => `${name} ${orNone(before?.[field])} → ${orNone(after[field])}`,
  )
  const [units, unit] = [before?.per_search_unit_usd ?? '0', after.per_search_unit_usd]
  const [images, drawn] = [imagesOf(before), imagesOf(after)]
  const moves = [
    ...(tokens.length === 0 ? [] : [`${tokens.join(', ')} per million tokens`]),
    ...(units === unit ? [] : [`per search unit $${units} → $${unit}`]),
    ...(images === drawn ? [] : [`per image ${images} → ${drawn}`]),
    ...moved(
      'per 1000 calls',
      namedOf(before?.server_tools, '$'),
      namedOf(after.server_tools, '$'),
    ),
    ...moved('factors', namedOf(before?.modifiers), namedOf(after.modifiers)),
  ]
  return moves.join(', ') || 'as before'
}

const moved = (what: string, from: string, to: string): readonly string[] =>
  from === to ? [] : [`${what} ${from} → ${to}`]

const namedOf = (record: Readonly<Record<string, string>> = {}, unit = ''): string =>
  Object.entries(record)
    .map(([name, value]) => `${name} ${unit}${value}`)
    .join(', ') || 'none'

const orNone = (price: string | null | undefined): string => (price ? `$${price}` : 'none')

const imagesOf = (price: PriceRecord | null): string =>
  price?.per_image_usd
    .map(({ resolution, quality, usd }) => {
      const which = quality === '*' ? resolution : `${resolution}/${quality}`
      return which === '*' ? `$${usd}` : `${which} $${usd}`
    })
    .join(', ') || 'none'

async function clear(context: Context, text: string, flags: Flags): Promise<void> {
  if (Object.keys(readPriceFlags(flags)).length > 0 || flags.from !== undefined) {
    throw usageError(
      '--clear removes every price now: it cannot be combined with a price or --from',
    )
  }
  const { id: model } = await call(context, 'models.show', { model: text })
  await confirm(context, {
    question: `remove the price of ${clean(model)}? ${await recentRequests(context, { model })}; further requests are refused`,
    act: `remove the price of ${clean(model)}`,
  })
  const record = await call(context, 'models.unprice', { model })
  printDone(context, record, record.id, `${clean(model)} has no price and is refused`)
}
