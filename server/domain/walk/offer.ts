/** Offers: the hops that may answer, with price and exchange rate; what a request costs at most at each; and the claim made of them. */
import type { Claim } from '../admission.ts'
import type { Catalogue } from '../catalogue.ts'
import type { Clock, Instant } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import { checkExtras, type Extra, isPriced, sends, unpricedExtra } from '../extras.ts'
import { type Hop, isNative, toHop } from '../hop.ts'
import type { GenerationId } from '../id.ts'
import type { Repeat } from '../idempotency.ts'
import { type ApiKey, allows, type Caller, mayCall, outputBoundOf } from '../key.ts'
import { type ModelCard, type Prices, type PriceVersion, priceAt, routeOf } from '../model-card.ts'
import type { ModelKind } from '../model-kind.ts'
import { FREE } from '../money.ts'
import { namedModel, nearModels } from '../named-model.ts'
import { checkContext, checkThinking, type OfferCost, offerCost } from '../offer-cost.ts'
import { familyOf, PROVIDER_PRESETS, type Provider } from '../provider.ts'
import { type Rate, rateAt } from '../rate.ts'
import { drawByWeight, drawOrder, type RouteHop } from '../route.ts'
import type { Settings } from '../settings.ts'
import type { Store } from '../store.ts'
import {
  type Dialect,
  type Generate,
  KIND_OF,
  type OnlyNative,
  type Routing,
  type Work,
} from '../work.ts'
import type { HopHealth } from './hop-health.ts'
import type { HopPace } from './hop-pace.ts'
import type { SessionRoutes } from './session-routes.ts'

export interface Offer {
  readonly hop: Hop
  readonly version: PriceVersion
  readonly rate: Rate
}

/** In the order they are tried; never empty. */
export type Offers = readonly [Offer, ...Offer[]]

/** What a request is offered depends on these, and on the draw among hops of one position. */
interface Asked {
  readonly catalogue: Catalogue
  readonly key: ApiKey
  readonly sessions: Pick<SessionRoutes, 'lastOf'>
  /** Absent where the order does not matter. */
  readonly pace?: HopPace
  /** Picks price and rate. */
  readonly at: Instant
}

/**
 * The hops of the requested model, then those of the models in `models`; every model passes the same checks. The requested
 * model must pass them; a fallback model that fails them is skipped. `provider.only` and `provider.ignore` filter the rest,
 * `provider.order` sorts it.
 * @throws model_not_allowed, model_not_found, image_streaming_not_supported, unsupported_modality, no_route_available,
 * unpriced_model, unsupported_parameter, the first of them in the order of contract §2
 */
export function findOffers(asked: Asked, request: Work): Offers {
  const { model, routing } = request
  const card = findCard(asked.catalogue, asked.key, request.dialect, model)
  const own = findOffersOf(asked, request, card)
  const chosen = routing
    ? choose([...own, ...fallbacks(asked, request, routing, card)], routing)
    : own
  if (chosen.length === 0) {
    throw noRoute(`no provider that the request allows serves ${model}`)
  }
  return chosen as Offers
}

/** Resting hops come last. Without fallbacks there is one offer, of the model that was chosen first. */
export function arrangeOffers(health: HopHealth, request: Work, offers: Offers): Offers {
  if (request.allowFallbacks) return health.arrange(offers) as Offers
  const [first] = offers
  const ofOneModel = offers.filter(({ hop }) => hop.card.id === first.hop.card.id)
  return [health.arrange(ofOneModel)[0] ?? first]
}

function fallbacks(
  asked: Asked,
  request: Work,
  { models }: Routing,
  own: ModelCard,
): readonly Offer[] {
  const named = new Set([own])
  return models.flatMap((model) => {
    try {
      const card = findCard(asked.catalogue, asked.key, request.dialect, model)
      if (named.has(card) || !mayReplace(request, own, card)) return []
      named.add(card)
      return findOffersOf(asked, request, card)
    } catch (thrown) {
      // A fallback model that may not be used is skipped; an unexpected error is not.
      if (thrown instanceof GatewayError) return []
      throw thrown
    }
  })
}

/** Vectors of different spaces must not stand beside each other. */
const mayReplace = ({ kind }: Work, { embeddingSpace }: ModelCard, other: ModelCard): boolean =>
  kind !== 'embed' || (embeddingSpace !== null && other.embeddingSpace === embeddingSpace)

function choose(offers: readonly Offer[], { order, only, ignore }: Routing): readonly Offer[] {
  const place = ({ hop }: Offer): number => {
    const at = order.indexOf(hop.provider.name)
    return at < 0 ? order.length : at
  }
  return offers
    .filter(({ hop }) => only.length === 0 || only.includes(hop.provider.name))
    .filter(({ hop }) => !ignore.includes(hop.provider.name))
    .toSorted((a, b) => place(a) - place(b))
}

/** Checks modality, context, route and price, also of what the request asks for beside it. */
function findOffersOf(asked: Asked, request: Work, card: ModelCard): readonly Offer[] {
  checkKind(request, card)
  checkModality(request, card)
  checkContext(request, card)
  const { stream } = request
  const preferred = lastProviderOf(asked, request, card)
  const offers = offersOf(asked, card, { preferred, stream })
  const spoken = understood(offers, request, card)
  return request.extras === undefined ? spoken : withExtras(spoken, request, card)
}

const wireOf = ({ card, provider }: Hop) => familyOf(provider.type, card)

/** The provider that last served the request's session. */
function lastProviderOf({ key, sessions }: Asked, { session }: Work, card: ModelCard) {
  if (session === undefined) return undefined
  return sessions.lastOf({ keyId: key.id, model: card.id, name: session })
}

/** The offers that have a price for every extra, and send it. @throws unsupported_parameter */
function withExtras(offers: readonly Offer[], request: Work, { id }: ModelCard): readonly Offer[] {
  const able: Offer[] = []
  let refusal: unknown = null
  for (const offer of offers) {
    try {
      const { extras = [] } = toSent(request, offer)
      checkSent(extras, offer.hop, request.dialect)
      checkExtras(extras, id, offer.version.prices)
      able.push(offer)
    } catch (thrown) {
      refusal ??= thrown
    }
  }
  if (able.length === 0) throw refusal
  return able
}

/**
 * The request as this hop is sent it. A conversation keeps the mark for caching, but only Anthropic's wire passes on for how long:
 * any other vendor keeps the prompt for as long as it always does, which changes no answer and is neither refused nor charged.
 */
function toSent(request: Work, { hop, version }: Offer): Work {
  const { dialect, extras } = request
  if (request.kind === 'generate' && request.cutTools !== undefined && isNative(hop, dialect)) {
    return withPricedTools(request, request.cutTools, version.prices)
  }
  if (extras === undefined || forwards(dialect) || isNative(hop, dialect)) return request
  return wireOf(hop) === 'anthropic' ? request : { ...request, extras: extras.filter(isNoMark) }
}

const isNoMark = ({ need }: Extra): boolean => need.kind !== 'cache-write-1h'

/** Of the tools that are cut, those that have a price are sent. */
function withPricedTools(
  request: Generate,
  cutTools: NonNullable<Generate['cutTools']>,
  prices: Prices,
): Generate {
  const priced = [...cutTools].filter(([, { extra }]) => isPriced(extra.need, prices))
  if (priced.length === 0) return request
  const cut = new Map(cutTools)
  for (const [place] of priced) cut.delete(place)
  const tools = request.source?.exact['tools']
  return {
    ...request,
    body: {
      ...request.body,
      tools: Array.isArray(tools) ? tools.filter((_, place) => !cut.has(place)) : tools,
    },
    cutTools: cut,
    extras: [...(request.extras ?? []), ...priced.map(([, { extra }]) => extra)],
    isUnbounded: true,
  }
}

/** Whether the fields of a request that the gateway does not read go to providers of other dialects too. */
const forwards = (dialect: Dialect): boolean =>
  dialect === 'chat' || KIND_OF[dialect] !== 'generate'

/** @throws unsupported_parameter for what would be paid and not sent */
function checkSent(extras: readonly Extra[], hop: Hop, dialect: Dialect): void {
  if (isNative(hop, dialect) || (forwards(dialect) && sends(wireOf(hop), extras))) return
  // Of what is translated, a mark that is still asked for is sent.
  const [first] = forwards(dialect) ? extras : extras.filter(isNoMark)
  if (first === undefined) return
  const { id } = hop.card
  const { need, param } = first
  throw need.kind === 'server-tool'
    ? new GatewayError(
        'unsupported_parameter',
        `${param}: ${id} has no such tool as ${need.tool}, which a vendor runs for its own models; leave it out`,
        { param },
      )
    : unpricedExtra(first, `no provider of ${id} is sent it`)
}

/** The offers whose hops can be told all of it. @throws unsupported_parameter where there is none */
function understood(offers: readonly Offer[], request: Work, { id }: ModelCard): readonly Offer[] {
  const { onlyNative } = request.kind === 'generate' ? request : NOTHING_NATIVE
  if (onlyNative === undefined) return offers
  const able = offers.filter(({ hop }) => isNative(hop, request.dialect))
  if (able.length > 0) return able
  const { param, why } = onlyNative
  throw new GatewayError(
    'unsupported_parameter',
    `${param}: no provider of ${id} speaks this API itself, and ${why}; leave it out`,
    { param },
  )
}

const NOTHING_NATIVE: { readonly onlyNative?: OnlyNative } = {}

/**
 * The card of a model that the key may call, by its id, else by another name of it (`namedModel`).
 * @throws model_not_allowed, model_not_found
 */
export function findCard(
  catalogue: Catalogue,
  key: ApiKey,
  dialect: Dialect,
  model: string,
): ModelCard {
  const isAllowed = mayCall(key, model)
  const card =
    (isAllowed ? catalogue.models.get(model) : undefined) ??
    namedModel({ catalogue, key, dialect }, model)
  if (card !== undefined) return card
  const near = nearModels(catalogue, key, model)
  const form = model.includes('/') ? '' : '; the id of a model is <provider>/<model>'
  const meant = near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`
  throw isAllowed ? modelNotFound(model, form + meant) : modelNotAllowed(key, model, form + meant)
}

/**
 * Every hop of a model at its price, which is the model's, whichever hop serves. @throws no_route_available, unpriced_model
 */
export function offersOf(
  { catalogue, at, pace }: Pick<Asked, 'catalogue' | 'at' | 'pace'>,
  card: ModelCard,
  { preferred, stream = false }: Draw = {},
): readonly Offer[] {
  let offered = offeredOf.get(card)
  if (offered?.catalogue !== catalogue || at < offered.from || at >= offered.until) {
    offered = readOffered(catalogue, card, at)
    offeredOf.set(card, offered)
  }
  const { offers, byHop, route } = offered
  if (offers.length < 2) return offers
  const [provider, credential] = preferred?.split(' ') ?? []
  const arrange =
    card.routeOrder === 'latency' && pace !== undefined
      ? (drawn: readonly RouteHop[]) => pace.fastestFirst(drawn, stream, Math.random)
      : undefined
  return drawOrder(route, Math.random, provider, arrange).flatMap((hop) =>
    drawCredential(byHop.get(hop) ?? [], credential),
  )
}

/** By weight, but the one that is preferred is first. */
function drawCredential(
  beside: readonly WeighedOffer[],
  preferred: string | undefined,
): readonly Offer[] {
  if (beside.length < 2) return beside
  const drawn = drawByWeight(beside, Math.random)
  return preferred === undefined
    ? drawn
    : drawn.toSorted((a, b) => Number(isOf(b, preferred)) - Number(isOf(a, preferred)))
}

const isOf = ({ hop }: Offer, credential: string): boolean => hop.credential === credential

/** What the order of hops within a position depends on. */
interface Draw {
  /** Who comes first, as `placeOf` names it. */
  readonly preferred?: string | undefined
  readonly stream?: boolean
}

/** What a catalogue offers of a model while its price and the rate stay: worked out once, and the same for every request. */
interface Offered {
  readonly catalogue: Catalogue
  readonly from: number
  /** When the next price or rate begins. */
  readonly until: number
  readonly offers: readonly Offer[]
  readonly route: readonly RouteHop[]
  /** By the hops of the route: one for each credential of the provider. */
  readonly byHop: ReadonlyMap<RouteHop, readonly WeighedOffer[]>
}

interface WeighedOffer extends Offer {
  /** The share of its credential. */
  readonly weight: number
}

/** One for each credential. */
function offersAt(
  card: ModelCard,
  wanted: RouteHop,
  provider: Provider,
  priced: Pick<Offer, 'version' | 'rate'>,
): readonly WeighedOffer[] {
  const { credentials } = provider
  if (credentials.length < 2) return [{ hop: toHop(card, wanted, provider), ...priced, weight: 1 }]
  return credentials.map(({ name, weight }) => ({
    hop: toHop(card, wanted, provider, name),
    ...priced,
    weight,
  }))
}

const offeredOf = new WeakMap<ModelCard, Offered>()

function readOffered(catalogue: Catalogue, card: ModelCard, at: Instant): Offered {
  const priced = priceAt(card, at)
  // Its prices are read here, once, and not by every request again.
  const version = priced && { ...priced }
  const rate = rateAt(catalogue, at)
  const byHop = new Map<RouteHop, readonly WeighedOffer[]>()
  const route = routeOf(card)
  let hops = 0
  let able = 0
  for (const wanted of route) {
    const provider = catalogue.providers.get(wanted.provider)
    if (!provider) continue
    hops++
    if (!PROVIDER_PRESETS[provider.type].kinds.includes(card.kind)) continue
    able++
    const hop = toHop(card, wanted, provider)
    if (version !== null && isBounded(hop, version)) {
      byHop.set(wanted, offersAt(card, wanted, provider, { version, rate }))
    }
  }
  if (hops === 0) throw noRoute(`no provider serves ${card.id} at the moment`)
  if (able === 0) {
    throw unsupported(
      `no provider of ${card.id} has an API for what it is said to do: ${card.kind}`,
    )
  }
  if (version === null) throw unpriced(card)
  if (byHop.size === 0) throw unbounded(card)
  const dates = [...card.prices, ...catalogue.rates].map(({ effectiveFrom }) => effectiveFrom)
  return {
    catalogue,
    from: dates.reduce((last, date) => (date <= at && date > last ? date : last), -Infinity),
    until: dates.reduce((next, date) => (date > at && date < next ? date : next), Infinity),
    offers: [...byHop.values()].flat(),
    route,
    byHop,
  }
}

/** Where the provider takes no bound, only the model's own maximum limits what an answer costs. */
const isBounded = ({ card, provider }: Hop, { prices }: PriceVersion): boolean =>
  provider.outputBound !== 'none' || card.maxCompletionTokens !== null || prices.completion === FREE

const unbounded = (card: ModelCard): GatewayError =>
  new GatewayError(
    'no_route_available',
    `${card.id} has no maximum output, and no provider of it takes a bound: what an answer costs would be unlimited`,
    { param: 'model', hint: `gatewayctl models add ${card.id} --max-output N` },
  )

const noRoute = (message: string): GatewayError => new GatewayError('no_route_available', message)

function modelNotAllowed(key: ApiKey, model: string, advice: string): GatewayError {
  const isOfAccount = allows(key.limits.allowedModels, model)
  const { allowedModels } = isOfAccount ? key.accountLimits : key.limits
  const allowed = (allowedModels ?? []).join(', ')
  return new GatewayError(
    'model_not_allowed',
    `${isOfAccount ? 'the account of ' : ''}key ${key.name} may not call ${model}; it is allowed: ${allowed || 'no model'}${advice}`,
    {
      param: 'model',
      metadata: {
        limit: 'allowed_models',
        ...(isOfAccount && { limit_of: 'account' }),
        limit_value: allowed,
        used: model,
        resets_at: null,
      },
    },
  )
}

const modelNotFound = (model: string, advice: string): GatewayError =>
  new GatewayError(
    'model_not_found',
    `there is no model ${model} here; GET /v1/models lists them${advice}`,
    { param: 'model' },
  )

const unpriced = (card: ModelCard): GatewayError =>
  new GatewayError(
    'unpriced_model',
    `${card.id} has no price yet, and nothing is served for free by accident`,
    {
      param: 'model',
      hint: `gatewayctl models price ${card.id} --in-usd X --out-usd X`,
    },
  )

const SURFACES: Readonly<Record<ModelKind, string>> = {
  generate: 'makes answers: ask it by POST /v1/chat/completions',
  embed: 'makes vectors: ask it by POST /v1/embeddings',
  rerank: 'ranks documents: ask it by POST /v1/rerank',
}

/** @throws unsupported_operation for a model that does something else */
function checkKind({ kind }: Work, card: ModelCard): void {
  if (card.kind === kind) return
  throw unsupported(`${card.id} ${SURFACES[card.kind]}`)
}

const unsupported = (message: string): GatewayError =>
  new GatewayError('unsupported_operation', message, { param: 'model' })

/** Streaming an image and images from a model that draws none are refused (contract §7). */
function checkModality(request: Work, card: ModelCard): void {
  if (request.kind !== 'generate') return
  if (request.wantsImages && request.stream) {
    throw new GatewayError(
      'image_streaming_not_supported',
      'an image arrives whole: leave out "stream", or take "image" out of "modalities"',
      { param: 'stream' },
    )
  }
  if (request.wantsImages && !card.outputModalities.includes('image')) {
    throw new GatewayError('unsupported_modality', `${card.id} does not draw images`, {
      param: 'modalities',
    })
  }
  if (!request.wantsImages && !card.outputModalities.includes('text')) {
    throw new GatewayError(
      'unsupported_modality',
      `${card.id} only draws: ask it with "modalities": ["image"]`,
      {
        param: 'modalities',
      },
    )
  }
  if (
    request.inputImages > (request.earlierImages ?? 0) &&
    !card.inputModalities.includes('image')
  ) {
    throw new GatewayError('unsupported_modality', `${card.id} does not take images`, {
      param: 'messages',
    })
  }
}

/** Whose request it is, and which. */
interface Claimed {
  readonly caller: Caller
  readonly request: Work
  readonly generationId: GenerationId
  readonly repeat: Repeat | null
}

export interface ClaimDeps {
  readonly clock: Clock
  readonly settings: Settings
  readonly health: HopHealth
  readonly sessions: SessionRoutes
  readonly store: Pick<Store, 'catalogue' | 'owner'>
}

/** An offer, the request as it is sent there, and what that costs at most. */
export interface CostedOffer extends Offer {
  readonly sent: Work
  readonly cost: OfferCost
}

/** In the order they are tried; never empty. */
export type CostedOffers = readonly [CostedOffer, ...CostedOffer[]]

/** A claim covers what every one of its offers may cost, so that one verdict covers them all. */
export interface OffersClaimed {
  readonly offers: CostedOffers
  readonly claim: Claim
}

/**
 * What the catalogue offers at this instant, and the claim of it.
 * @throws what `findOffers` throws; invalid_request for a thinking budget that the key's limit has no room for
 */
export function makeClaim(
  { clock, settings, health, sessions, store }: ClaimDeps,
  { caller: { key, requestId }, request, generationId, repeat }: Claimed,
): OffersClaimed {
  const at = clock.now()
  const catalogue = store.catalogue.current()
  const found = findOffers({ catalogue, key, sessions, at, pace: health.pace }, request)
  const arranged = arrangeOffers(health, request, found)
  const [{ hop: first }] = arranged
  checkThinking(request, first, key)
  const offers = arranged.map((offer) => {
    const { hop, version, rate } = offer
    const sent = toSent(request, offer)
    const cost = offerCost(sent, hop, version.prices, outputBoundOf(key), settings)
    return { hop, version, rate, sent, cost }
  })
  return {
    offers: offers as unknown as CostedOffers,
    claim: {
      generationId,
      requestId,
      owner: store.owner,
      keyId: key.id,
      accountId: key.accountId,
      at,
      model: first.card.id,
      endUser: request.endUser,
      surface: request.dialect,
      session: request.session ?? null,
      repeat,
      offers: offers.map(({ cost }) => cost),
      catalogue: catalogue.version,
    },
  }
}
