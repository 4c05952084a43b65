/** Verbs for routes: which providers serve a model, in which order, with their health. Changes take effect with the next request. */
import * as z from 'zod/mini'
import { GatewayError } from '#domain/errors.ts'
import type { ModelCard, RouteHop } from '#domain/model-card.ts'
import { routeOf } from '#domain/model-card.ts'
import { didYouMean, nearest } from '#forms/nearest.ts'
import type { OperatorDeps } from './deps.ts'
import {
  type HealthRecord,
  type HopRecord,
  inOrder,
  renderHealth,
  renderHop,
} from './hop-record.ts'
import { changeModel, findModel } from './models.ts'
import { findProvider } from './providers.ts'
import { type DraftAct, mutation, verb } from './verb.ts'

export interface RouteRecord {
  readonly model: string
  /** Sorted by position; `health` is null while no server runs. */
  readonly hops: readonly (HopRecord & { readonly health: HealthRecord | null })[]
}

function report({ live }: OperatorDeps, card: ModelCard): RouteRecord {
  const readings = live?.hops() ?? null
  return {
    model: card.id,
    hops: routeOf(card).map((hop) => ({
      ...renderHop(hop),
      health:
        readings &&
        renderHealth(
          readings.find(
            ({ provider, upstreamName }) =>
              provider === hop.provider && upstreamName === hop.upstreamName,
          ),
        ),
    })),
  }
}

/** @throws model_not_found */
export const showRoute = verb(z.strictObject({ model: z.string() }), async (deps, { model }) =>
  report(deps, findModel(deps, model)),
)

/** Limits how long a request can take when every hop fails. */
const MAX_HOPS = 16
const MAX_RANK = 1_000

const rankField = z
  .int(`must be a whole number from 1 to ${MAX_RANK}`)
  .check(z.minimum(1), z.maximum(MAX_RANK))

/**
 * Adds a hop, or edits the existing one of that provider. The model's own provider stays the first hop.
 * @throws model_not_found, provider_not_found, invalid_request
 */
export const setHop = mutation(
  'models.route.set',
  z.strictObject({
    model: z.string(),
    provider: z.string(),
    /** Default: the upstream name at the model's own provider. */
    upstream: z.optional(z.string().check(z.minLength(1), z.maxLength(256))),
    /** Default: after the last hop. */
    position: z.optional(rankField),
    weight: z.optional(rankField),
  }),
  (deps, input, act) =>
    changeRoute(deps, input.model, act, (card) => {
      const { name } = findProvider(deps, input.provider)
      const route = routeOf(card)
      const others = route.filter(({ provider }) => provider !== name)
      const known = route.find(({ provider }) => provider === name)
      if (others.length >= MAX_HOPS) {
        throw new GatewayError(
          'invalid_request',
          `${card.id} has ${MAX_HOPS} hops, which is the most`,
        )
      }
      const last = Math.max(0, ...others.map(({ position }) => position))
      const hop: RouteHop = {
        provider: name,
        upstreamName: input.upstream ?? known?.upstreamName ?? card.upstreamName,
        position: input.position ?? known?.position ?? Math.min(last + 1, MAX_RANK),
        weight: input.weight ?? known?.weight ?? 1,
      }
      return [...others, hop]
    }),
)

/** Removes a hop. @throws model_not_found, provider_not_found, invalid_request when it is the last one */
export const dropHop = mutation(
  'models.route.drop',
  z.strictObject({ model: z.string(), provider: z.string() }),
  (deps, input, act) =>
    changeRoute(deps, input.model, act, (card) => {
      const route = routeOf(card)
      const left = route.filter(({ provider }) => provider !== input.provider)
      if (left.length === route.length) throw noHop(card, route, input.provider)
      if (left.length === 0) throw lastHop(card, input.provider)
      return left
    }),
)

/** Removes the route, so that only the model's own provider serves it. @throws model_not_found */
export const resetRoute = mutation(
  'models.route.reset',
  z.strictObject({ model: z.string() }),
  (deps, { model }, act) => changeRoute(deps, model, act, () => []),
)

const changeRoute = (
  deps: OperatorDeps,
  model: string,
  act: DraftAct,
  toRoute: (card: ModelCard) => readonly RouteHop[],
): Promise<RouteRecord> =>
  changeModel(deps, model, (card) => {
    const route = toRoute(card)
    const hops = inOrder(routeOf({ ...card, route }).map(renderHop)).map((hop) => ({ ...hop }))
    return {
      write: (expected) =>
        deps.store.models.route(card.id, route, act(card.id, { hops }), expected),
      render: (after) => report(deps, after),
    }
  })

function noHop({ id }: ModelCard, route: readonly RouteHop[], name: string): GatewayError {
  const meant = nearest(
    name,
    route.map(({ provider }) => provider),
  )
  return new GatewayError('provider_not_found', `${name} is no hop of ${id}${didYouMean(meant)}`, {
    hint: `gatewayctl models route ${id}`,
  })
}

const lastHop = ({ id, provider: own }: ModelCard, name: string): GatewayError =>
  new GatewayError('invalid_request', `${name} is the last hop of ${id}: nobody would serve it`, {
    param: 'provider',
    hint:
      name === own
        ? `gatewayctl models route ${id} --via PROVIDER, then drop ${name}`
        : `gatewayctl models route ${id} --reset goes back to ${own}`,
  })
