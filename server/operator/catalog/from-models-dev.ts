/** The catalog that models.dev publishes (`api.json`), as entries of ours: vendors by their ids, models by theirs. */

import { DocumentFault, type DocumentPath, type Fields, fieldsAt } from '#domain/document-fault.ts'
import { decimalOf, isObject } from '#domain/json.ts'

/** Not checked yet, and where it is in its file. */
export interface FileEntry {
  readonly path: DocumentPath
  readonly entry: unknown
}

export const isModelsDev = (document: unknown): document is Fields =>
  isObject(document) &&
  Object.keys(document).length > 0 &&
  Object.values(document).every((vendor) => isObject(vendor) && isObject(vendor['models']))

/** Their ids of vendors that have another name here. */
const VENDORS: Readonly<Record<string, string>> = {
  'amazon-bedrock': 'bedrock',
  'fireworks-ai': 'fireworks',
  'google-vertex': 'vertex',
  'google-vertex-anthropic': 'vertex',
  togetherai: 'together',
}

/** @throws DocumentFault */
export function* fromModelsDev(document: Fields): Generator<FileEntry, void> {
  for (const [id, vendor] of Object.entries(document)) {
    const models = fieldsAt(vendor, [id])['models']
    for (const [model, fields] of Object.entries(fieldsAt(models, [id, 'models']))) {
      yield toEntry(VENDORS[id] ?? id, model, fieldsAt(fields, [id, 'models', model]), [
        id,
        'models',
        model,
      ])
    }
  }
}

function toEntry(vendor: string, model: string, fields: Fields, path: DocumentPath): FileEntry {
  const { name, release_date: released, tool_call: tools, structured_output, reasoning } = fields
  const cost = fields['cost'] === undefined ? null : fieldsAt(fields['cost'], [...path, 'cost'])
  const { context, output } = fieldsAt(fields['limit'] ?? {}, [...path, 'limit'])
  const modalities = fieldsAt(fields['modalities'] ?? {}, [...path, 'modalities'])
  return {
    path,
    entry: {
      served_by: vendor,
      model,
      name: typeof name === 'string' ? name : model,
      ...(/embed/i.test(model) && { kind: 'embed' }),
      ...(typeof released === 'string' && { released }),
      ...positive('context_length', context),
      ...positive('max_output_tokens', output),
      input: modalitiesOf(modalities['input']),
      output: modalitiesOf(modalities['output']),
      features: [
        ...(tools === true ? ['tools'] : []),
        ...(structured_output === true ? ['structured_output'] : []),
        ...(reasoning === true ? ['reasoning'] : []),
      ],
      ...(cost !== null && toPrices(cost, [...path, 'cost'])),
    },
  }
}

/** Zero: it is not known. */
function positive(field: string, value: unknown): Fields {
  const count = Number(decimalOf(value) ?? 0)
  return Number.isSafeInteger(count) && count > 0 ? { [field]: count } : {}
}

const MODALITIES: Readonly<Record<string, string>> = {
  text: 'text',
  image: 'image',
  audio: 'audio',
  video: 'video',
  pdf: 'file',
}

const modalitiesOf = (value: unknown): readonly string[] => {
  const named = Array.isArray(value) ? value.map(String) : ['text']
  return named.flatMap((one) => MODALITIES[one] ?? [])
}

const TOKEN_PRICES = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const
/** Of audio, which has no class of its own here: it is charged as text (docs/catalog.md). */
const AUDIO = new Set(['input_audio', 'output_audio'])
const TIERS = new Set(['tiers', 'context_over_200k'])

/** What its prices are, or why they cannot be said here. @throws DocumentFault for a price that is no decimal */
function toPrices(cost: Fields, path: DocumentPath): Fields {
  const unknown = Object.keys(cost).find((name) => !isKnown(name) && !TIERS.has(name))
  if (unknown !== undefined) return { refused: `its price has a part "${unknown}"` }
  const { reasoning, ...prices } = pricesOf(cost, path)
  const tiers = toTiers(cost, path)
  if (typeof tiers === 'string') return { refused: tiers }
  return {
    usd_per_million: {
      ...prices,
      ...(reasoning !== undefined && reasoning !== prices['output'] && { reasoning }),
    },
    ...(tiers.length > 0 && { tiers }),
  }
}

const isKnown = (name: string): boolean =>
  AUDIO.has(name) || TOKEN_PRICES.some((known) => known === name)

function pricesOf(cost: Fields, path: DocumentPath): Readonly<Record<string, string>> {
  const stated = TOKEN_PRICES.filter((name) => cost[name] !== undefined && cost[name] !== null)
  const prices = Object.fromEntries(
    stated.map((name) => {
      const text = decimalOf(cost[name])
      if (text !== undefined && !text.startsWith('-')) return [name, text]
      throw new DocumentFault([...path, name], 'must be a price in dollars per million tokens')
    }),
  )
  const { cache_read, ...others } = prices
  // Zero stands for a model without a cache, whose prompts are not free.
  return isFree(cache_read) && !isFree(prices['input']) ? others : prices
}

const isFree = (price: string | undefined): boolean => Number(price) === 0

const OVER_200K = 200_000

/** `tiers` says it more exactly than `context_over_200k`, which may stand beside it for older readers. */
function toTiers(cost: Fields, path: DocumentPath): readonly Fields[] | string {
  const { tiers, context_over_200k: over } = cost
  if (tiers === undefined) {
    if (over === undefined || over === null) return []
    return withPrices(OVER_200K, fieldsAt(over, [...path, 'context_over_200k']), [
      ...path,
      'context_over_200k',
    ])
  }
  if (!Array.isArray(tiers)) throw new DocumentFault([...path, 'tiers'], 'must be a list')
  const read: Fields[] = []
  for (const [index, tier] of tiers.entries()) {
    const place = [...path, 'tiers', index]
    const { tier: bound, ...rest } = fieldsAt(tier, place)
    const { type, size } = fieldsAt(bound, [...place, 'tier'])
    const above = Number(decimalOf(size))
    if (type !== 'context' || !Number.isSafeInteger(above)) {
      return `its price has a tier by ${JSON.stringify(type)}, not by the size of the prompt`
    }
    const prices = withPrices(above, rest, place)
    if (typeof prices === 'string') return prices
    read.push(...prices)
  }
  return read
}

function withPrices(above: number, cost: Fields, path: DocumentPath): readonly Fields[] | string {
  const unknown = Object.keys(cost).find((name) => !isKnown(name))
  if (unknown !== undefined) return `a tier of its price has a part "${unknown}"`
  const { reasoning, ...prices } = pricesOf(cost, path)
  return reasoning === undefined || reasoning === prices['output']
    ? [{ above_input_tokens: above, ...prices }]
    : 'a tier of its price has another price for reasoning than for the answer'
}
