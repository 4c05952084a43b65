/** Prints one model for people. */
import type { ModelRecord } from '#operator/model-record.ts'
import type { ListedModelRecord } from '#operator/models.ts'
import type { Context } from '../context.ts'
import { printRecord } from '../terminal/output.ts'

/** Prints its facts and its prices; `--json` prints the record as it came. */
export function printModel(context: Context, model: ListedModelRecord): void {
  const { price } = model
  const draws = model.output_modalities.includes('image')
  const images = price?.per_image_usd.map(
    ({ resolution, quality, usd }) => `${resolution}/${quality}=${usd}`,
  )
  printRecord(context, model, model.id, [
    ['model', model.id],
    ['aliases', model.aliases.join(', ') || null],
    ['provider', model.provider],
    ['upstream name', model.upstream],
    ['served by', model.route.map(({ provider }) => provider).join(', ')],
    ['route of', model.routed_by],
    ['name', model.name],
    ['kind', model.kind],
    ['embedding space', model.embedding_space],
    ['context', model.context_length],
    ['max output', model.max_completion_tokens],
    ['bounds', boundsOf(model)],
    ['input', model.input_modalities.join(' ')],
    ['output', model.output_modalities.join(' ')],
    ['images per answer', draws ? model.images_per_answer : null],
    ['wires', model.wires?.join(' ') ?? null],
    ['price version', price?.version ?? 'unpriced: requests to it are refused'],
    ['in $ per million', price?.in_usd ?? null],
    ['out $ per million', price?.out_usd ?? null],
    ['cached in $', price?.cached_in_usd ?? null],
    ['cache write $', price?.cache_write_usd ?? null],
    ['cache write 1h $', price?.cache_write_1h_usd ?? null],
    ['image in $', price?.image_in_usd ?? null],
    ['image out $', price?.image_out_usd ?? null],
    ['per search unit $', unitPrice(model)],
    ['per image $', images?.join(' ') || null],
    ['per 1000 calls $', named(price?.server_tools)],
    ['factors', named(price?.modifiers)],
    ...(price?.tiers ?? []).map(
      (tier) =>
        [`above ${tier.above_input_tokens}`, `in $${tier.in_usd} out $${tier.out_usd}`] as const,
    ),
  ])
}

const unitPrice = ({ kind, price }: ModelRecord): string | null =>
  kind === 'rerank' && price ? price.per_search_unit_usd : null

const named = (record: Readonly<Record<string, string>> = {}): string | null =>
  Object.entries(record)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ') || null

/** Where context and maximum come from; null where there are none. */
function boundsOf({ is_catalogued, context_length, max_completion_tokens }: ModelRecord) {
  if (is_catalogued) return "the catalog's"
  return context_length === null && max_completion_tokens === null ? null : 'typed'
}
