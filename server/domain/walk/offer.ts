/** An offer: a hop with its price and exchange rate; and how the offers for a request are found. */
import { allows } from '../allow-list.ts'
import type { ChatRequest, Routing } from '../chat.ts'
import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { ApiKey } from '../key.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import type { ModelCard, ModelCards, PriceVersion, RouteHop } from '../model-card.ts'
import { FREE } from '../money.ts'
import { nearModels } from '../near-models.ts'
import { checkContext } from '../output-bound.ts'
import type { Rate } from '../rate.ts'
import { drawOrder, type Hop, routeOf, toHop } from '../route.ts'
import type { Store } from '../store.ts'
import type { HopHealth } from './hop-health.ts'

export interface Offer {
  readonly hop: Hop
  readonly version: PriceVersion
  readonly rate: Rate
}

/** In the order they are tried; never empty. */
export type Offers = readonly [Offer, ...Offer[]]

interface OfferDeps {
  readonly clock: Clock
  readonly health: HopHealth
  readonly store: Pick<Store, 'models' | 'providers' | 'rates'>
}

/**
 * The hops of the requested model, then those of the models in `models`; every model passes the same checks. The requested
 * model must pass them; a fallback model that fails them is skipped. `provider.only` and `provider.ignore` filter the rest,
 * `provider.order` sorts it, and resting hops come last. Without fallbacks there is one offer.
 * @throws model_not_allowed, model_not_found, image_streaming_not_supported, unsupported_modality, no_route_available,
 * unpriced_model, the first of them in the order of contract §2
 */
export function findOffers(
  deps: OfferDeps,
  key: ApiKey,
  request: ChatRequest,
): MaybePromise<Offers> {
  const asked = findOffersOf(deps, key, request, request.model)
  if (asked instanceof Promise || request.routing) return findLater(deps, key, request, asked)
  return rank(deps, request, asked)
}

async function findLater(
  deps: OfferDeps,
  key: ApiKey,
  request: ChatRequest,
  asking: MaybePromise<readonly Offer[]>,
): Promise<Offers> {
  const { routing } = request
  const asked = await asking
  return rank(deps, request, routing ? await reroute(deps, key, request, routing, asked) : asked)
}

/** Puts the offers in the order in which they are tried. */
function rank(deps: OfferDeps, request: ChatRequest, chosen: readonly Offer[]): Offers {
  const [first] = chosen
  if (!first) throw noRoute(`no provider that the request allows serves ${request.model}`)
  if (request.allowFallbacks) return deps.health.arrange(chosen) as Offers
  return [bestOfOneModel(deps, chosen, first)]
}

function bestOfOneModel(deps: OfferDeps, chosen: readonly Offer[], first: Offer): Offer {
  const ofOneModel = chosen.filter(({ hop }) => hop.card.id === first.hop.card.id)
  return deps.health.arrange(ofOneModel)[0] ?? first
}

/** Applies the routing fields of the request. */
async function reroute(
  deps: OfferDeps,
  key: ApiKey,
  request: ChatRequest,
  routing: Routing,
  asked: readonly Offer[],
): Promise<readonly Offer[]> {
  const others = await Promise.all(
    [...new Set(routing.models)]
      .filter((model) => model !== request.model)
      .map(async (model) => await findOffersOf(deps, key, request, model))
      .map((offers) => offers.catch(leaveOut)),
  )
  return choose([...asked, ...others.flat()], routing)
}

/** A fallback model that may not be used is skipped; an unexpected error is not. */
function leaveOut(thrown: unknown): readonly Offer[] {
  if (thrown instanceof GatewayError) return []
  throw thrown
}

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

/** Checks allow-list, card, modality, route and price. The price is the model's, whichever hop serves. */
function findOffersOf(
  deps: OfferDeps,
  key: ApiKey,
  request: ChatRequest,
  model: string,
): MaybePromise<readonly Offer[]> {
  const card = findCard(deps, key, model)
  return card instanceof Promise
    ? offersForLater(deps, request, card)
    : offersFor(deps, request, card)
}

const offersForLater = async (
  deps: OfferDeps,
  request: ChatRequest,
  card: Promise<ModelCard>,
): Promise<readonly Offer[]> => offersFor(deps, request, await card)

function offersFor(
  deps: OfferDeps,
  request: ChatRequest,
  card: ModelCard,
): MaybePromise<readonly Offer[]> {
  checkModality(request, card)
  checkContext(request, card)
  return offersOf(deps, card)
}

/** The card of a model that the key may call. @throws model_not_allowed, model_not_found */
export function findCard(
  { store }: Pick<OfferDeps, 'store'>,
  key: ApiKey,
  model: string,
): MaybePromise<ModelCard> {
  const { allowedModels } = key.limits
  if (allowedModels !== null && !allows(allowedModels, model)) {
    return refuseModel(store.models, key, model, modelNotAllowed)
  }
  const card = store.models.find(model)
  if (card instanceof Promise) return requireCardLater(store.models, key, model, card)
  return card ?? refuseModel(store.models, key, model, modelNotFound)
}

const requireCardLater = async (
  models: ModelCards,
  key: ApiKey,
  model: string,
  card: Promise<ModelCard | undefined>,
): Promise<ModelCard> => (await card) ?? (await refuseModel(models, key, model, modelNotFound))

/** @throws what `toError` makes of it */
async function refuseModel(
  models: ModelCards,
  key: ApiKey,
  model: string,
  toError: (key: ApiKey, model: string, advice: string) => GatewayError,
): Promise<never> {
  const near = await nearModels(models, key, model)
  const form = model.includes('/') ? '' : '; the id of a model is <provider>/<model>'
  const meant = near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`
  throw toError(key, model, form + meant)
}

/** Every hop of a model at its price. @throws no_route_available, unpriced_model */
export function offersOf(
  { store, clock }: Pick<OfferDeps, 'store' | 'clock'>,
  card: ModelCard,
): MaybePromise<readonly Offer[]> {
  const rate = store.rates.at(clock.now())
  const single = singleOffers.get(card)
  if (single && isCurrent(single[0], store, rate)) return single
  const hops = findHops(store, card, drawOrder(routeOf(card), Math.random))
  return hops instanceof Promise || rate instanceof Promise
    ? offersLater(card, hops, rate)
    : toOffers(card, hops, rate)
}

/** Caches the offer of a model with a single hop, which is the same for every request. */
const singleOffers = new WeakMap<ModelCard, readonly [Offer]>()

/** Compares by identity: the store returns a new object once anything has changed. */
const isCurrent = (
  { hop, rate }: Offer,
  { providers }: OfferDeps['store'],
  now: MaybePromise<Rate>,
): boolean => rate === now && providers.find(hop.provider.name) === hop.provider

const offersLater = async (
  card: ModelCard,
  hops: MaybePromise<readonly Hop[]>,
  rate: MaybePromise<Rate>,
): Promise<readonly Offer[]> => toOffers(card, await hops, await rate)

function toOffers(card: ModelCard, hops: readonly Hop[], rate: Rate): readonly Offer[] {
  if (hops.length === 0) throw noRoute(`no provider serves ${card.id} at the moment`)
  const { price: version } = card
  if (version === null) throw unpriced(card)
  const offers: Offer[] = []
  for (const hop of hops) if (isBounded(hop, version)) offers.push({ hop, version, rate })
  if (offers.length === 0) throw unbounded(card)
  const [first] = offers
  if (first && card.route.length < 2) singleOffers.set(card, [first])
  return offers
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

/** The hops of the route whose provider still exists. */
function findHops(
  { providers }: OfferDeps['store'],
  card: ModelCard,
  route: readonly RouteHop[],
): MaybePromise<readonly Hop[]> {
  const hops: Hop[] = []
  for (const wanted of route) {
    const provider = providers.find(wanted.provider)
    if (provider instanceof Promise) return findHopsLater(providers, card, route)
    if (provider) hops.push(toHop(card, wanted, provider))
  }
  return hops
}

async function findHopsLater(
  providers: OfferDeps['store']['providers'],
  card: ModelCard,
  route: readonly RouteHop[],
): Promise<readonly Hop[]> {
  const hops: Hop[] = []
  for (const wanted of route) {
    const provider = await providers.find(wanted.provider)
    if (provider) hops.push(toHop(card, wanted, provider))
  }
  return hops
}

const noRoute = (message: string): GatewayError => new GatewayError('no_route_available', message)

function modelNotAllowed(key: ApiKey, model: string, advice: string): GatewayError {
  const allowed = (key.limits.allowedModels ?? []).join(', ')
  return new GatewayError(
    'model_not_allowed',
    `key ${key.name} may not call ${model}; it is allowed: ${allowed || 'no model'}${advice}`,
    {
      param: 'model',
      metadata: { limit: 'allowed_models', limit_value: allowed, used: model, resets_at: null },
    },
  )
}

const modelNotFound = (_: ApiKey, model: string, advice: string): GatewayError =>
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

/** Streaming an image and images from a model that draws none are refused (contract §7). */
function checkModality(request: ChatRequest, card: ModelCard): void {
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
