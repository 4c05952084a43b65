/** The record of a model, with prices per million tokens as in price lists. */
import { type Instant, renderInstant } from '#domain/clock.ts'
import {
  type ModelCard,
  outputsOf,
  type Prices,
  type PriceVersion,
  priceAt,
  pricingModel,
  routeOf,
} from '#domain/model-card.ts'
import type { ModelKind } from '#domain/model-kind.ts'
import {
  renderFactor,
  renderPerMillion,
  renderPerThousand,
  renderPrice,
  type UsdAttos,
} from '#domain/money.ts'
import { type HopRecord, renderHop } from './hop-record.ts'

export interface PriceRecord {
  readonly version: string
  readonly effective_from: string
  readonly pricing_model: string
  /** The first seven are per million tokens. */
  readonly in_usd: string
  readonly out_usd: string
  readonly cached_in_usd: string | null
  readonly cache_write_usd: string | null
  readonly cache_write_1h_usd: string | null
  readonly image_in_usd: string | null
  readonly image_out_usd: string | null
  readonly per_search_unit_usd: string
  readonly per_request_usd: string
  readonly per_input_image_usd: string
  readonly per_image_usd: readonly {
    readonly resolution: string
    readonly quality: string
    readonly usd: string
  }[]
  readonly tiers: readonly {
    readonly above_input_tokens: number
    readonly in_usd: string
    readonly out_usd: string
    readonly cached_in_usd: string | null
    readonly cache_write_usd: string | null
    readonly cache_write_1h_usd: string | null
  }[]
  /** Per thousand calls, by the tool's name. */
  readonly server_tools: Readonly<Record<string, string>>
  /** Factors of the whole price, by `field=value`. */
  readonly modifiers: Readonly<Record<string, string>>
}

export interface ModelRecord {
  readonly id: string
  readonly kind: ModelKind
  /** Of one that embeds: models with the same may answer for each other. */
  readonly embedding_space: string | null
  readonly provider: string
  readonly upstream: string
  /** The hops that serve it; only its own provider when no route is set. */
  readonly route: readonly HopRecord[]
  /** Whose route that is: its own id, or the mask that gives it; null: none is set. */
  readonly routed_by: string | null
  readonly name: string
  readonly created_at: string
  readonly context_length: number | null
  readonly max_completion_tokens: number | null
  /** Whether both are the catalog's; false where an operator stated them. */
  readonly is_catalogued: boolean
  /** Images that one choice of a drawing answer may bring. */
  readonly images_per_answer: number
  /** In which of OpenAI's wires it answers; null: those of its provider's type. */
  readonly wires: readonly string[] | null
  readonly input_modalities: readonly string[]
  readonly output_modalities: readonly string[]
  /** Null: requests to it are refused until it is priced. */
  readonly price: PriceRecord | null
}

const orNull = (price: UsdAttos | null): string | null =>
  price === null ? null : renderPerMillion(price)

export function renderModel(card: ModelCard, at: Instant): ModelRecord {
  const price = priceAt(card, at)
  return {
    id: card.id,
    kind: card.kind,
    embedding_space: card.embeddingSpace,
    provider: card.provider,
    upstream: card.upstreamName,
    route: routeOf(card).map(renderHop),
    routed_by: card.routedBy,
    name: card.name,
    created_at: renderInstant(card.createdAt),
    context_length: card.contextLength,
    max_completion_tokens: card.maxCompletionTokens,
    is_catalogued: card.isCatalogued,
    images_per_answer: card.imagesPerAnswer,
    wires: card.wires,
    input_modalities: card.inputModalities,
    output_modalities: outputsOf(card),
    price: price && renderVersion(price),
  }
}

export const renderVersion = ({ id, effectiveFrom, prices }: PriceVersion): PriceRecord => ({
  version: id,
  effective_from: renderInstant(effectiveFrom),
  ...renderPrices(prices),
})

const renderPrices = (prices: Prices): Omit<PriceRecord, 'version' | 'effective_from'> => ({
  pricing_model: pricingModel(prices),
  in_usd: renderPerMillion(prices.prompt),
  out_usd: renderPerMillion(prices.completion),
  cached_in_usd: orNull(prices.cacheRead),
  cache_write_usd: orNull(prices.cacheWrite),
  cache_write_1h_usd: orNull(prices.cacheWrite1h),
  image_in_usd: orNull(prices.imageInputToken),
  image_out_usd: orNull(prices.imageOutputToken),
  per_search_unit_usd: renderPrice(prices.searchUnit),
  per_request_usd: renderPrice(prices.request),
  per_input_image_usd: renderPrice(prices.inputImage),
  per_image_usd: prices.imagePrices.map(({ resolution, quality, usd }) => ({
    resolution,
    quality,
    usd: renderPrice(usd),
  })),
  tiers: prices.tiers.map((tier) => ({
    above_input_tokens: tier.aboveTokens,
    in_usd: renderPerMillion(tier.prompt),
    out_usd: renderPerMillion(tier.completion),
    cached_in_usd: orNull(tier.cacheRead),
    cache_write_usd: orNull(tier.cacheWrite),
    cache_write_1h_usd: orNull(tier.cacheWrite1h),
  })),
  server_tools: Object.fromEntries(
    prices.serverTools.map(({ tool, usd }) => [tool, renderPerThousand(usd)]),
  ),
  modifiers: Object.fromEntries(
    prices.modifiers.map(({ name, factor }) => [name, renderFactor(factor)]),
  ),
})
