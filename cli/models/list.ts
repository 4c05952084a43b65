/** `gatewayctl models list`: the catalogue, with prices per million tokens. */
import { DIALECTS } from '#domain/work.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { readChoice } from '../flags/read-choice.ts'
import { call } from '../gateway/operator.ts'
import { type Column, printList } from '../terminal/output.ts'

type Model = VerbRecord<'models.list'>[number]

interface Flags {
  readonly provider?: string
  readonly unpriced?: boolean
  readonly surface?: string
}

export const mount: Mount = (models) =>
  models
    .command('list')
    .description('list models with their prices in dollars per million tokens')
    .argument('[mask]', "an id, 'provider/*' or '*'")
    .option('--provider <name>', 'only models that this provider serves')
    .option('--unpriced', 'only models without a price, which are refused')
    .option('--surface <name>', `only models for ${DIALECTS.join(', ')}`)
    .action(
      action(async (context, mask: string | undefined, flags: Flags) => {
        const rows = await call(context, 'models.list', {
          mask: mask ?? null,
          provider: flags.provider ?? null,
          unpriced: flags.unpriced === true,
          surface:
            flags.surface === undefined ? null : readChoice('--surface', flags.surface, DIALECTS),
        })
        printList(context, rows, COLUMNS, ({ id }) => id)
      }),
    )

/** "0.04", or the range "0.011–0.25". */
function perImage({ price }: Model): string | null {
  const prices = (price?.per_image_usd ?? []).map(({ usd }) => usd)
  const sorted = prices.toSorted((a, b) => Number(a) - Number(b))
  const [least, most] = [sorted.at(0), sorted.at(-1)]
  if (least === undefined) return null
  return least === most ? least : `${least}–${most}`
}

const COLUMNS: readonly Column<Model>[] = [
  { title: 'model', full: ({ id }) => id },
  { title: 'aliases', dropOrder: 1, full: ({ aliases }) => aliases.join(', ') || null },
  { title: 'provider', dropOrder: 3, full: ({ provider }) => provider },
  { title: 'context', right: true, dropOrder: 2, full: ({ context_length }) => context_length },
  { title: 'output', dropOrder: 1, full: ({ output_modalities }) => output_modalities.join('+') },
  {
    title: 'in $',
    right: true,
    full: ({ price }) => price?.in_usd ?? null,
    short: ({ price }) => (price === null ? 'unpriced' : price.in_usd),
  },
  { title: 'out $', right: true, full: ({ price }) => price?.out_usd ?? null },
  { title: 'cached $', right: true, full: ({ price }) => price?.cached_in_usd ?? null },
  { title: 'image $', right: true, full: perImage },
]
