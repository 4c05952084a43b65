/** Verbs for routes: which providers serve a model, or all that a mask matches, with their health. They hold from the next request. */
import * as z from 'zod/mini'
import { untilCurrent } from '#domain/catalogue.ts'
import { GatewayError } from '#domain/errors.ts'
import { type ModelCard, routeOf } from '#domain/model-card.ts'
import { isMask, OWN, ROUTE_ORDERS, type Route, type RouteHop } from '#domain/route.ts'
import type { HopReading } from '#domain/walk/hop-health.ts'
import type { PaceReading } from '#domain/walk/hop-pace.ts'
import { upstreamField } from '#forms/fields.ts'
import { suggest } from '#forms/nearest.ts'
import { shellWord } from '#forms/shell-word.ts'
import type { OperatorDeps } from './deps.ts'
import {
  type HealthRecord,
  type HopRecord,
  inOrder,
  renderHealth,
  renderHop,
  worstOf,
} from './hop-record.ts'
import { findModel } from './models.ts'
import { findProvider } from './providers.ts'
import { type DraftAct, mutation, verb } from './verb.ts'

interface RoutedHopRecord extends HopRecord {
  readonly health: HealthRecord | null
  /** How soon it begins to answer, by a decayed median; null where the order is not by latency, or nothing is measured yet. */
  readonly first_content_ms: number | null
}

export interface RouteRecord {
  /** The model, or the mask of several: `openai/*`. */
  readonly model: string
  /** Whose route it is: the model's own, or that of a mask; null: none is set, and its own provider serves it. */
  readonly routed_by: string | null
  /** How hops of one position follow each other: drawn by `weight`, or by `latency` the fastest first. */
  readonly order: Route['order']
  /** The models that it routes. */
  readonly models: number
  /**
   * Sorted by position; `health` is null while no server runs. In the route of a mask, `*` stands for what each model has itself,
   * its provider and its upstream name, and the health of a hop is the worst that a model has there.
   */
  readonly hops: readonly RoutedHopRecord[]
}

/** A model or a mask that is routed, and how. */
interface Routed extends Route {
  readonly routedBy: string | null
  readonly cards: readonly ModelCard[]
}

function report(
  { live }: OperatorDeps,
  { routedBy, order, hops, cards, pattern }: Routed,
): RouteRecord {
  const readings = live?.hops() ?? null
  const paces = order === 'latency' ? (live?.paces() ?? []) : []
  return {
    model: pattern,
    routed_by: routedBy,
    order,
    models: cards.length,
    hops: inOrder(hops.map(renderHop)).map((hop) => ({
      ...hop,
      health: readings && renderHealth(worstOf(readings.filter(isOf(hop, cards)))),
      first_content_ms: paceOf(paces.filter(isOf(hop, cards))),
    })),
  }
}

/** Of streams, else of whole answers; of several models the slowest. */
function paceOf(paces: readonly PaceReading[]): number | null {
  const streams = paces.filter(({ stream }) => stream)
  const told = (streams.length > 0 ? streams : paces).map(({ medianMs }) => Math.round(medianMs))
  return told.length === 0 ? null : Math.max(...told)
}

/** Whether a reading is of this hop of any of the models. */
const isOf =
  ({ provider, upstream }: HopRecord, cards: readonly ModelCard[]) =>
  (reading: Pick<HopReading, 'provider' | 'upstreamName'>): boolean =>
    cards.some(
      (card) =>
        reading.provider === (provider === OWN ? card.provider : provider) &&
        reading.upstreamName === upstream.replaceAll(OWN, () => card.upstreamName),
    )

/** How a model is routed, or what a mask gives. @throws model_not_found */
const findRouted = (deps: OperatorDeps, pattern: string): Routed =>
  finderOf(deps, pattern)(deps, pattern)

/** What an older version took for a mask, and routes nothing any more, is shown and reset as one. */
function finderOf({ store }: OperatorDeps, pattern: string): typeof findRouted {
  const { routes, models } = store.catalogue.current()
  return isMask(pattern) || (routes.has(pattern) && !models.has(pattern)) ? ofMask : ofModel
}

function ofMask({ store }: OperatorDeps, pattern: string): Routed {
  const { routes, models } = store.catalogue.current()
  const route = routes.get(pattern) ?? { pattern, order: 'weight', hops: [] }
  const cards = [...models.values()].filter(({ routedBy }) => routedBy === pattern)
  return { ...route, routedBy: routes.has(pattern) ? pattern : null, cards }
}

function ofModel(deps: OperatorDeps, pattern: string): Routed {
  const card = findModel(deps, pattern)
  const { routedBy, routeOrder: order } = card
  return { pattern, order, hops: routeOf(card), routedBy, cards: [card] }
}

/** Every route that is set, in the order of patterns. */
export const listRoutes = verb(
  z.strictObject({}),
  async (deps): Promise<readonly RouteRecord[]> =>
    [...deps.store.catalogue.current().routes.keys()].map((pattern) =>
      report(deps, findRouted(deps, pattern)),
    ),
)

/** @throws model_not_found, also for a mask without a route */
export const showRoute = verb(z.strictObject({ model: z.string() }), async (deps, { model }) =>
  report(deps, requireSet(findRouted(deps, model))),
)

function requireSet(routed: Routed): Routed {
  if (routed.hops.length > 0) return routed
  throw new GatewayError('model_not_found', `no route is set for ${routed.pattern}`, {
    hint: `gatewayctl models route ${shellWord(routed.pattern)} --via PROVIDER`,
  })
}

/** Limits how long a request can take when every hop fails. */
const MAX_HOPS = 16
const MAX_RANK = 1_000

const rankField = z
  .int(`must be a whole number from 1 to ${MAX_RANK}`)
  .check(z.minimum(1), z.maximum(MAX_RANK))

/**
 * Adds a hop, or edits the existing one of that provider. Each model's own provider stays the first hop.
 * @throws model_not_found, provider_not_found, invalid_request
 */
export const setHop = mutation(
  'models.route.set',
  z.strictObject({
    /** Or a mask. */
    model: z.string(),
    /** In the route of a mask also `*`: each model's own. */
    provider: z.string(),
    /** Default: the upstream name at the model's own provider. */
    upstream: z.optional(upstreamField),
    /** Default: after the last hop; beside the first where the fastest is asked first. */
    position: z.optional(rankField),
    weight: z.optional(rankField),
  }),
  (deps, input, act) =>
    changeRoute(deps, input.model, act, ({ pattern, order, hops: set, cards }) => {
      const isOfMask = isMask(pattern)
      const name =
        isOfMask && input.provider === OWN ? OWN : findProvider(deps, input.provider).name
      const hops = set.length === 0 && name !== OWN ? [{ ...OWN_HOP }] : set
      const others = hops.filter(({ provider }) => provider !== name)
      const known = hops.find(({ provider }) => provider === name)
      if (others.length >= MAX_HOPS) {
        throw new GatewayError(
          'invalid_request',
          `${pattern} has ${MAX_HOPS} hops, which is the most`,
        )
      }
      const positions = others.map(({ position }) => position)
      const next =
        order === 'latency'
          ? Math.min(MAX_RANK, ...positions)
          : Math.min(Math.max(0, ...positions) + 1, MAX_RANK)
      const hop: RouteHop = {
        provider: name,
        upstreamName:
          input.upstream ??
          known?.upstreamName ??
          (isOfMask ? OWN : (cards[0]?.upstreamName ?? OWN)),
        position: input.position ?? known?.position ?? next,
        weight: input.weight ?? known?.weight ?? 1,
      }
      return { order, hops: [...others, hop] }
    }),
)

/** With which the route of a mask begins. */
const OWN_HOP: RouteHop = { provider: OWN, upstreamName: OWN, position: 1, weight: 1 }

/**
 * How hops of one position follow each other. By latency all hops become one position; one that is set behind them
 * afterwards is a reserve. @throws model_not_found
 */
export const orderRoute = mutation(
  'models.route.order',
  z.strictObject({ model: z.string(), order: z.enum(ROUTE_ORDERS) }),
  (deps, { model, order }, act) =>
    changeRoute(deps, model, act, (routed) => {
      const { hops } = requireSet(routed)
      const isNew = order === 'latency' && routed.order !== order
      return { order, hops: isNew ? hops.map((hop) => ({ ...hop, position: 1 })) : hops }
    }),
)

/** Removes a hop. @throws model_not_found, provider_not_found, invalid_request when it is the last one */
export const dropHop = mutation(
  'models.route.drop',
  z.strictObject({ model: z.string(), provider: z.string() }),
  (deps, input, act) =>
    changeRoute(deps, input.model, act, (routed) => {
      const { order, hops } = requireSet(routed)
      const left = hops.filter(({ provider }) => provider !== input.provider)
      if (left.length === hops.length) throw noHop(routed, input.provider)
      if (left.length === 0) throw lastHop(routed, input.provider)
      return { order, hops: left }
    }),
)

/**
 * Removes the route of a model, which a mask or its own provider serves then, or that of a mask.
 * @throws model_not_found, also for a mask without a route
 */
export const resetRoute = mutation(
  'models.route.reset',
  z.strictObject({ model: z.string() }),
  (deps, { model }, act) =>
    changeRoute(deps, model, act, (routed) => {
      if (isMask(model)) requireSet(routed)
      return { order: 'weight', hops: [] }
    }),
)

/** A model that a mask has routed until now keeps those hops with the first change of its own. */
const changeRoute = (
  deps: OperatorDeps,
  pattern: string,
  act: DraftAct,
  change: (routed: Routed) => Omit<Route, 'pattern'>,
): Promise<RouteRecord> =>
  untilCurrent(async () => {
    const { version } = deps.store.catalogue.current()
    const find = finderOf(deps, pattern)
    const { order, hops } = change(find(deps, pattern))
    const told = {
      hops: inOrder(hops.map(renderHop)).map((hop) => ({ ...hop })),
      ...(order !== 'weight' && { order }),
    }
    const route = { pattern, order, hops }
    const stale = await deps.store.models.route(route, act(pattern, told), version)
    return stale ?? report(deps, find(deps, pattern))
  })

function noHop({ pattern, hops }: Routed, name: string): GatewayError {
  const providers = hops.map(({ provider }) => provider)
  return new GatewayError(
    'provider_not_found',
    `${name} is no hop of ${pattern}${suggest(name, providers)}`,
    {
      hint: `gatewayctl models route ${shellWord(pattern)}`,
    },
  )
}

const lastHop = ({ pattern, cards }: Routed, name: string): GatewayError => {
  const own = isMask(pattern) ? OWN : cards[0]?.provider
  const route = `gatewayctl models route ${shellWord(pattern)}`
  return new GatewayError(
    'invalid_request',
    `${name} is the last hop of ${pattern}: nobody would serve it`,
    {
      param: 'provider',
      hint:
        name === own
          ? `${route} --via PROVIDER, then drop ${name}`
          : `${route} --reset ${whatResetDoes(own)}`,
    },
  )
}

/** `own` is absent for what an older version took for a mask: it routes nothing, and takes no other hop. */
function whatResetDoes(own: string | undefined): string {
  if (own === undefined) return 'removes it'
  return `goes back to ${own === OWN ? 'their own providers' : own}`
}
