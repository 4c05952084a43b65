/** The built-in catalog: models of well-known providers from public sources, as model cards (docs/catalog.md). */
import { untilCurrent } from '#domain/catalogue.ts'
import { type Instant, readInstant } from '#domain/clock.ts'
import { newPriceVersionId } from '#domain/id.ts'
import { type ModelCard, type Prices, UNROUTED } from '#domain/model-card.ts'
import {
  type Factor,
  FREE,
  perMillion,
  perThousand,
  readFactor,
  readPrice,
  type UsdAttos,
} from '#domain/money.ts'
import { isProviderType, PROVIDER_PRESETS, type Provider } from '#domain/provider.ts'
import type { CatalogEntry } from './catalog/entry.ts'
import type { OperatorDeps } from './deps.ts'

/** The day of which its list prices are (docs/catalog.md): of a later day it confirms none. */
export const SHIPPED_PRICES_AT = readInstant('2026-07-02T00:00:00Z') as Instant

/** The supported entries of the shipped catalog; the file is loaded on first use. */
export async function shippedCatalog(): Promise<readonly CatalogEntry[]> {
  const { default: entries } = await import('./catalog/models.json', { with: { type: 'json' } })
  return (entries as readonly CatalogEntry[]).filter(isSupported)
}

/** Those of one vendor, a type of providers. */
export const catalogOf = async (vendor: string): Promise<readonly CatalogEntry[]> =>
  (await shippedCatalog()).filter((entry) => entry.served_by === vendor)

/** What a vendor's API is not asked for here would be listed, and always refused. */
export function isSupported({
  served_by: vendor,
  model,
  kind = 'generate',
}: CatalogEntry): boolean {
  if (UNSUPPORTED.test(`${vendor}/${model}`)) return false
  return !isProviderType(vendor) || PROVIDER_PRESETS[vendor].kinds.includes(kind)
}

/** Google's Imagen models need another operation (`:predict`), which is not implemented. */
const UNSUPPORTED = /^google\/imagen-/

/** Whether a model's context and maximum are those that the catalog states for it. */
export async function isFromCatalog(
  vendor: string,
  { upstreamName, contextLength, maxCompletionTokens }: Bounds,
): Promise<boolean> {
  return (await catalogOf(vendor)).some(
    (entry) =>
      entry.model === upstreamName &&
      (entry.context_length ?? null) === contextLength &&
      (entry.max_output_tokens ?? null) === maxCompletionTokens,
  )
}

type Bounds = Pick<ModelCard, 'upstreamName' | 'contextLength' | 'maxCompletionTokens'>

/**
 * Marks the models whose bounds are the catalog's, of one provider or of all: those that a program before schema 17 added, which
 * did not note where bounds came from, and those of a provider that got another type.
 */
export async function markCatalogued(
  { store }: Pick<OperatorDeps, 'store'>,
  provider?: string,
): Promise<void> {
  await untilCurrent(async () => {
    const { models, providers, version } = store.catalogue.current()
    const ids: string[] = []
    for (const card of models.values()) {
      const type = providers.get(card.provider)?.type
      if (provider !== undefined && card.provider !== provider) continue
      if (card.isCatalogued || type === undefined || type === 'openai-compatible') continue
      if (await isFromCatalog(type, card)) ids.push(card.id)
    }
    return await store.models.markCatalogued(ids, version)
  })
}

const PARAMETERS = {
  tools: ['tools', 'tool_choice'],
  structured_output: ['response_format', 'structured_outputs'],
  reasoning: ['reasoning_effort'],
} as const

/** The model card of an entry, with the id `<provider>/<model>`. */
export function toCard(
  entry: CatalogEntry,
  provider: Pick<Provider, 'name'>,
  at: Instant,
): ModelCard {
  const prices = toPrices(entry)
  const { kind = 'generate' } = entry
  return {
    id: `${provider.name}/${entry.model}`,
    kind,
    embeddingSpace: entry.embedding_space ?? null,
    provider: provider.name,
    upstreamName: entry.model,
    ...UNROUTED,
    name: entry.name,
    description: '',
    createdAt: releaseOf(entry) ?? at,
    contextLength: entry.context_length ?? null,
    maxCompletionTokens: entry.max_output_tokens ?? null,
    isCatalogued: true,
    imagesPerAnswer: 1,
    wires: entry.wires ?? null,
    inputModalities: entry.input,
    outputModalities: entry.output,
    supportedParameters: [
      ...(kind === 'generate' ? ['max_tokens'] : []),
      ...(entry.output.includes('image') ? ['modalities'] : []),
      ...entry.features.flatMap((feature) => PARAMETERS[feature]),
    ],
    prices: prices === null ? [] : [{ id: newPriceVersionId(at), effectiveFrom: at, prices }],
  }
}

function releaseOf({ released }: CatalogEntry): Instant | undefined {
  if (released === undefined) return undefined
  return readInstant(`${released.length === 7 ? `${released}-01` : released}T00:00:00Z`)
}

const perToken = (text: string | undefined): UsdAttos | null => {
  const price = text === undefined ? undefined : readPrice(text)
  return price === undefined ? null : (perMillion(price) ?? null)
}

/** Of the shipped file, which a test reads. @throws RangeError */
function perCall(text: string): UsdAttos {
  const price = readPrice(text)
  const exact = price === undefined ? undefined : perThousand(price)
  if (exact === undefined) throw new RangeError(`not a price per thousand calls: ${text}`)
  return exact
}

function toFactor(text: string): Factor {
  const factor = readFactor(text)
  if (factor === undefined) throw new RangeError(`not a factor: ${text}`)
  return factor
}

/**
 * Prices per image, when images are billed by piece. A vendor with a price for image output tokens bills those; its price per
 * image is then only a typical cost.
 */
const byPiece = ({ usd_per_million, usd_per_image }: CatalogEntry) =>
  usd_per_million?.output_image === undefined ? (usd_per_image ?? []) : []

/** Image output tokens cost many times more than text, but for OpenRouter the sources only have text prices. */
const drawsAtUnknownPrice = ({ output, usd_per_million, usd_per_image }: CatalogEntry): boolean =>
  output.includes('image') && !usd_per_image && usd_per_million?.output_image === undefined

/** Why an entry gives its model no price; null where it does (docs/catalog.md). */
export function whyUnpriced(entry: CatalogEntry): string | null {
  const { kind = 'generate', usd_per_million: tokens = {}, usd_per_search_unit } = entry
  const searchUnit = readPrice(usd_per_search_unit ?? '') ?? FREE
  const hasPrompt = tokens.input !== undefined || searchUnit !== FREE
  const isByToken = hasPrompt && (kind !== 'generate' || tokens.output !== undefined)
  if (!isByToken && byPiece(entry).length === 0) return 'it states no price'
  if (tokens.reasoning !== undefined) return 'reasoning has another price than the answer'
  return drawsAtUnknownPrice(entry) ? 'it states no price of the images that it draws' : null
}

/** Null without a price in the sources, and when the price is incomplete. */
export function toPrices(entry: CatalogEntry): Prices | null {
  if (whyUnpriced(entry) !== null) return null
  const tokens = entry.usd_per_million ?? {}
  const searchUnit = readPrice(entry.usd_per_search_unit ?? '') ?? FREE
  const isBilledByOutput = (entry.kind ?? 'generate') === 'generate'
  const prompt = perToken(tokens.input) ?? (searchUnit === FREE ? null : FREE)
  const completion = isBilledByOutput ? perToken(tokens.output) : FREE
  const imagePrices = byPiece(entry).map(({ resolution, quality, usd }) => ({
    resolution,
    quality,
    usd: readPrice(usd) ?? FREE,
  }))
  return {
    prompt: prompt ?? FREE,
    completion: completion ?? FREE,
    cacheRead: perToken(tokens.cache_read),
    cacheWrite: perToken(tokens.cache_write),
    cacheWrite1h: perToken(tokens.cache_write_1h),
    request: FREE,
    searchUnit,
    inputImage: FREE,
    imageInputToken: perToken(tokens.input_image),
    imageOutputToken: perToken(tokens.output_image),
    imagePrices,
    tiers: (entry.tiers ?? []).map((tier) => ({
      aboveTokens: tier.above_input_tokens,
      prompt: perToken(tier.input) ?? prompt ?? FREE,
      completion: perToken(tier.output) ?? completion ?? FREE,
      cacheRead: perToken(tier.cache_read),
      cacheWrite: perToken(tier.cache_write),
      cacheWrite1h: perToken(tier.cache_write_1h),
    })),
    serverTools: Object.entries(entry.usd_per_thousand_calls ?? {}).map(([tool, usd]) => ({
      tool,
      usd: perCall(usd),
    })),
    modifiers: Object.entries(entry.modifiers ?? {}).map(([name, factor]) => ({
      name,
      factor: toFactor(factor),
    })),
  }
}
