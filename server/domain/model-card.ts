/** The model card: a model's names, capabilities, route and prices (contract §6). */
import type { Act } from './act.ts'
import type { Instant } from './clock.ts'
import { type PriceVersionId, priceVersionSetAt } from './id.ts'
import type { ModelKind } from './model-kind.ts'
import type { Factor, UsdAttos } from './money.ts'
import { CONTROL } from './plain-text.ts'
import type { OpenAiWire } from './provider.ts'
import type { Route, RouteHop, RouteOrder } from './route.ts'

export type Modality = 'text' | 'image' | 'audio' | 'video' | 'file'

/** An image's price by resolution and quality; `*` matches any. */
export interface ImagePrice {
  readonly resolution: string
  readonly quality: string
  readonly usd: UsdAttos
}

/** Size and quality of an image, in the terms of the price list; undefined where not stated. */
export interface ImageChoice {
  readonly resolution: string | undefined
  readonly quality: string | undefined
}

/** The price of one call of a tool that the vendor runs. */
export interface ServerToolPrice {
  /** Without a date: `web_search`. */
  readonly tool: string
  readonly usd: UsdAttos
}

/** A field's value that changes the whole price. */
export interface Modifier {
  /** `service_tier=priority` */
  readonly name: string
  readonly factor: Factor
}

/** Neither is stated. */
export const ANY_IMAGE: ImageChoice = { resolution: undefined, quality: undefined }

/**
 * Unit prices in USD per token, per image, per search unit or per request. Null falls back: a class of the prompt to `prompt`, one of the
 * answer to `completion`.
 */
export interface Prices {
  readonly prompt: UsdAttos
  readonly completion: UsdAttos
  readonly cacheRead: UsdAttos | null
  /** For five minutes. */
  readonly cacheWrite: UsdAttos | null
  /** For an hour; null: it is not sold, and a mark for it is refused. */
  readonly cacheWrite1h: UsdAttos | null
  readonly request: UsdAttos
  /** Per search unit of a model that ranks: a query with up to a hundred documents. */
  readonly searchUnit: UsdAttos
  /** Per input image. */
  readonly inputImage: UsdAttos
  /** Per token of an image in the prompt; null prices it as `prompt`. */
  readonly imageInputToken: UsdAttos | null
  /** Per token of an image drawn; null prices it as `completion`. */
  readonly imageOutputToken: UsdAttos | null
  /** Per image drawn; empty when images are priced by token. */
  readonly imagePrices: readonly ImagePrice[]
  /** Prices that hold instead once the prompt is larger than `aboveTokens`. */
  readonly tiers: readonly PriceTier[]
  /** By name; a tool that is missing here is not sold, and refused. */
  readonly serverTools: readonly ServerToolPrice[]
  /** By name; a value that is missing here is not sold, and refused. */
  readonly modifiers: readonly Modifier[]
}

export interface PriceTier {
  readonly aboveTokens: number
  readonly prompt: UsdAttos
  readonly completion: UsdAttos
  readonly cacheRead: UsdAttos | null
  readonly cacheWrite: UsdAttos | null
  readonly cacheWrite1h: UsdAttos | null
}

/** A price change is a new version with its date; each charge names the version it used. */
export interface PriceVersion {
  readonly id: PriceVersionId
  readonly effectiveFrom: Instant
  readonly prices: Prices
}

export interface ModelCard {
  /** `<provider>/<model>` */
  readonly id: string
  readonly kind: ModelKind
  /** Of a model that embeds: vectors of models with the same space may stand beside each other. Null: only beside its own. */
  readonly embeddingSpace: string | null
  /** The provider it belongs to, which serves it unless a route says otherwise. */
  readonly provider: string
  /** The provider's name for it. */
  readonly upstreamName: string
  /** The hops that serve it, as the operator set them for it or for a mask; empty: only its own provider. */
  readonly route: readonly RouteHop[]
  /** The pattern of that route: its id, or the mask; null: it has none. */
  readonly routedBy: string | null
  readonly routeOrder: RouteOrder
  readonly name: string
  readonly description: string
  readonly createdAt: Instant
  readonly contextLength: number | null
  readonly maxCompletionTokens: number | null
  /** Whether both are those of the shipped catalogue; false where an operator stated either. */
  readonly isCatalogued: boolean
  /** Images that one choice of a drawing answer may bring, from 1 to `MAX_IMAGES_PER_ANSWER`. */
  readonly imagesPerAnswer: number
  /** In which of OpenAI's wires it answers, as the operator stated; null: those of its provider's type. */
  readonly wires: readonly OpenAiWire[] | null
  readonly inputModalities: readonly Modality[]
  readonly outputModalities: readonly Modality[]
  readonly supportedParameters: readonly string[]
  /** Newest first, those that are still to come too; a model without a price is refused, never free. */
  readonly prices: readonly PriceVersion[]
}

/** More in one answer would not fit in memory. */
export const MAX_IMAGES_PER_ANSWER = 100

/** The descriptive fields of a card: everything except id, prices and route. */
export type CardFacts = Omit<ModelCard, 'id' | 'createdAt' | 'prices' | keyof CardRoute>

type CardRoute = Pick<ModelCard, 'route' | 'routedBy' | 'routeOrder'>

export function factsOf(card: ModelCard): CardFacts {
  const { id: _id, createdAt: _createdAt, prices: _prices, ...routed } = card
  const { route: _route, routedBy: _routedBy, routeOrder: _routeOrder, ...facts } = routed
  return facts
}

/** A card that has no route: its own provider alone serves it. */
export const UNROUTED: CardRoute = { route: [], routedBy: null, routeOrder: 'weight' }

/** The route that a card has of its own; null where it has none, or that of a mask. */
export const ownRoute = ({ id, route, routedBy, routeOrder }: ModelCard): Route | null =>
  routedBy === id ? { pattern: id, order: routeOrder, hops: route } : null

/**
 * The version with the latest date that has come; of one date the one added last. Under a clock that is behind all that were
 * ever in force, the oldest of these. Null: the model has no price yet.
 */
export function priceAt({ prices }: Pick<ModelCard, 'prices'>, at: Instant): PriceVersion | null {
  let found: PriceVersion | null = null
  for (const version of prices) {
    if (version.effectiveFrom > at) continue
    if (!found || version.effectiveFrom > found.effectiveFrom) found = version
  }
  return found ?? oldestInForce(prices)
}

/** One that was dated ahead waits for its date. */
function oldestInForce(prices: readonly PriceVersion[]): PriceVersion | null {
  let oldest: PriceVersion | null = null
  for (const version of prices) {
    if (wasAhead(version)) continue
    if (!oldest || version.effectiveFrom < oldest.effectiveFrom) oldest = version
  }
  return oldest
}

/** Whether it was dated ahead when it was set. */
export const wasAhead = ({ id, effectiveFrom }: PriceVersion): boolean =>
  effectiveFrom > priceVersionSetAt(id)

/** What it answers with, as a list of models says it. */
export const outputsOf = ({ kind, outputModalities }: ModelCard): readonly Output[] =>
  kind === 'embed' ? ['embeddings'] : kind === 'rerank' ? ['rerank'] : outputModalities

export type Output = Modality | 'embeddings' | 'rerank'

export type PricingModel = 'per_token' | 'per_image' | 'mixed'

/** How images are priced: by image, by token, or text by token and images by image (contract §6). */
export function pricingModel(prices: Prices): PricingModel {
  if (prices.imagePrices.length === 0) return 'per_token'
  return prices.prompt === 0n && prices.completion === 0n ? 'per_image' : 'mixed'
}

const MODEL_ID = new RegExp(
  `^[a-z0-9][a-z0-9._-]{0,63}/[^\\s/*${CONTROL}][^\\s*${CONTROL}]{0,190}$`,
)

/** Whether `id` has the shape `<provider>/<model>`. */
export const isModelId = (id: string): boolean => MODEL_ID.test(id)

const ALIAS = new RegExp(`^[^\\s*${CONTROL}]{1,256}$`)

/** Whether `name` can be another name of a model. */
export const isAlias = (name: string): boolean => ALIAS.test(name)

/** Another name of a model, for requests: everything else names the model by its id. */
export interface ModelAlias {
  readonly name: string
  /** The id of the model. */
  readonly model: string
}

/**
 * Port: changes of models; what they are is in the catalogue. They hold from the next request and are durable before they resolve.
 * A change that was made of what stood in a version of the catalogue states that one as `expected`: in any other it is `stale`,
 * and changes nothing.
 */
export interface ModelCards {
  /** A price version, even if its model was removed. */
  version(id: PriceVersionId): Promise<PriceVersion | undefined>
  /** @throws already_exists, also where its id is an alias */
  add(card: ModelCard, act: Act): Promise<void>
  /**
   * Gives a model another name, which it has until the model is removed; an alias that there is names this model from then on.
   * The act gains the model that it named before. @throws model_not_found, already_exists where the name is a model's id
   */
  alias(alias: ModelAlias, act: Act): Promise<void>
  /** Answers it as it was. @throws model_not_found where there is no such alias */
  unalias(name: string, act: Act): Promise<ModelAlias>
  /**
   * Adds a price version, effective from its date. One that has begun at the act overtakes those that have not, but were not dated
   * ahead: they were set by a clock that has been set back since. @throws model_not_found
   */
  price(
    id: string,
    version: PriceVersion,
    act: Act,
    expected?: number,
  ): Promise<ModelCard | 'stale'>
  /** Adds models and price versions of others, all or none, in one act. @throws model_not_found, already_exists */
  refresh(change: CatalogueRefresh, act: Act, expected?: number): Promise<'stale' | undefined>
  /** Retires every version, future ones included; the model is refused until it is priced again. @throws model_not_found */
  unprice(id: string, act: Act, expected?: number): Promise<ModelCard | 'stale'>
  /** Changes the stated fields; route and prices, future ones included, stay. @throws model_not_found */
  amend(id: string, facts: Partial<CardFacts>, act: Act): Promise<ModelCard>
  /** Notes that their bounds are the shipped catalogue's; nobody's word, so without an act. Unknown ones are left out. */
  markCatalogued(ids: readonly string[], expected?: number): Promise<'stale' | undefined>
  /**
   * Sets the route of a model, or of a mask; one without hops takes it away.
   * @throws model_not_found for the id of no model, provider_not_found
   */
  route(route: Route, act: Act, expected?: number): Promise<'stale' | undefined>
  /** Answers it as it was; past charges keep their versions. @throws model_not_found */
  remove(id: string, act: Act, expected?: number): Promise<ModelCard | 'stale'>
}

/** What a file of prices changes. */
export interface CatalogueRefresh {
  readonly added: readonly ModelCard[]
  readonly priced: readonly { readonly id: string; readonly version: PriceVersion }[]
}

/** The operator's route, or the model's own provider alone where none was set; never empty. */
export const routeOf = ({ route, provider, upstreamName }: ModelCard): readonly RouteHop[] =>
  route.length > 0 ? route : [{ provider, upstreamName, position: 1, weight: 1 }]
