/** The verb that tests providers: whether they answer, accept the credential, and know a model. */
import * as z from 'zod/mini'
import { GatewayError, toGatewayError } from '#domain/errors.ts'
import { type ModelCard, priceAt, routeOf } from '#domain/model-card.ts'
import type { ProbeAnswer } from '#domain/probe.ts'
import { outputBoundOf, type Provider } from '#domain/provider.ts'
import type { RouteHop } from '#domain/route.ts'
import { orNull } from '#forms/fields.ts'
import type { OperatorDeps } from './deps.ts'
import { findModel } from './models.ts'
import { findProvider } from './providers.ts'
import { verb } from './verb.ts'

export interface ProviderTestRecord {
  readonly provider: string
  /** By name, where the provider has several: each is tested. */
  readonly credential: string | null
  readonly ok: boolean
  readonly status: number | null
  readonly ms: number
  /** The number of models that it lists; null without a list. */
  readonly models: number | null
  /** Of those, the ones with a price here; null without a list. */
  readonly priced_models: number | null
  /** The tested model, and the provider's name for it. */
  readonly model: string | null
  readonly upstream: string | null
  /** Usage of the completion; null without one. */
  readonly prompt_tokens: number | null
  readonly completion_tokens: number | null
  /** The provider's clock minus ours; null without a Date header. */
  readonly clock_skew_ms: number | null
  readonly message: string | null
}

/**
 * Tests all providers, one, or those that serve a model. Without `spend` it only lists models; with it, it pays for a completion
 * of one token, where the provider takes a bound.
 * @throws provider_not_found, model_not_found, invalid_request
 */
export const testProviders = verb(
  z.strictObject({
    name: orNull(z.string()),
    model: orNull(z.string()),
    spend: z._default(z.boolean(), false),
    /** The time-out of a models list; a completion has the usual time-outs. */
    within_ms: z.optional(z.int().check(z.minimum(1), z.maximum(60_000))),
  }),
  async (
    deps,
    { name, model, spend, within_ms: withinMs },
  ): Promise<readonly ProviderTestRecord[]> => {
    if (spend && model === null) {
      throw new GatewayError('invalid_request', 'what is bought must be said: which model', {
        param: 'model',
        hint: `gatewayctl providers test ${name ?? ''} --spend --model M`.replace('  ', ' '),
      })
    }
    const card = model === null ? null : findModel(deps, model)
    const providers = chooseProviders(deps, name, card)
    if (spend) requireBounded(providers)
    return await Promise.all(
      providers.flatMap((provider) =>
        namesOf(provider).map((credential) =>
          test(deps, { provider, credential }, card, { spend, withinMs }),
        ),
      ),
    )
  },
)

function chooseProviders(
  deps: OperatorDeps,
  name: string | null,
  card: ModelCard | null,
): readonly Provider[] {
  if (name !== null) return [findProvider(deps, name)]
  const all = [...deps.store.catalogue.current().providers.values()]
  if (card === null) return all
  const hops = routeOf(card).map(({ provider }) => provider)
  return all.filter((provider) => hops.includes(provider.name))
}

/** A completion is bought as one token; a provider that takes no bound could sell any number. @throws invalid_request */
function requireBounded(providers: readonly Provider[]): void {
  const unbounded = providers.find((provider) => outputBoundOf(provider) === 'none')
  if (unbounded === undefined) return
  const { name } = unbounded
  throw new GatewayError(
    'invalid_request',
    `${name} takes no bound of an answer (output bound none): a test could buy more than one token`,
    { param: 'spend', hint: `gatewayctl providers test ${name}   (without --spend buys nothing)` },
  )
}

interface TestOptions {
  readonly spend: boolean
  readonly withinMs: number | undefined
}

/** Null for its only one, or none. */
const namesOf = ({ credentials }: Provider): readonly (string | null)[] =>
  credentials.length < 2 ? [null] : credentials.map(({ name }) => name)

interface Tested {
  readonly provider: Provider
  readonly credential: string | null
}

async function test(
  deps: OperatorDeps,
  tested: Tested,
  card: ModelCard | null,
  options: TestOptions,
): Promise<ProviderTestRecord> {
  const { provider, credential } = tested
  const hop = card && hopOf(card, provider)
  const upstream = hop?.upstreamName ?? null
  const answer = await ask(deps, tested, card && { ...card, upstreamName: upstream ?? '' }, options)
  const { models } = answer
  const isMissing = answer.ok && upstream !== null && models !== null && !models.includes(upstream)
  return {
    provider: provider.name,
    credential,
    ok: answer.ok && !isMissing,
    status: answer.status,
    ms: answer.ms,
    models: models?.length ?? null,
    priced_models: models && countPriced(deps, provider, models),
    model: card?.id ?? null,
    upstream,
    prompt_tokens: answer.tokens?.input ?? null,
    completion_tokens: answer.tokens?.output ?? null,
    clock_skew_ms: answer.skewMs,
    message: isMissing ? `it does not list ${upstream}` : answer.message,
  }
}

/** How many of the listed names are upstream names of models with a price (also a price of zero). */
function countPriced(
  { store, clock }: OperatorDeps,
  { name }: Provider,
  listed: readonly string[],
): number {
  const at = clock.now()
  const cards = [...store.catalogue.current().models.values()].filter(
    (card) => priceAt(card, at) !== null,
  )
  const own = cards.flatMap(routeOf).filter(({ provider }) => provider === name)
  const priced = new Set(own.map(({ upstreamName }) => upstreamName))
  return new Set(listed).intersection(priced).size
}

/** The route's hop for the provider; a provider outside the route is tested with the model's own upstream name. */
const hopOf = (card: ModelCard, { name }: Provider): RouteHop | ModelCard =>
  routeOf(card).find(({ provider }) => provider === name) ?? card

async function ask(
  { store, probe }: OperatorDeps,
  { provider, credential: name }: Tested,
  card: ModelCard | null,
  { spend, withinMs }: TestOptions,
): Promise<ProbeAnswer> {
  let credential: string | null
  try {
    credential = await store.providers.credential(provider.name, name)
  } catch (thrown) {
    return unreadable(thrown)
  }
  return spend && card !== null
    ? await probe.askModel(provider, credential, card)
    : await probe.listModels(provider, credential, withinMs)
}

const unreadable = (thrown: unknown): ProbeAnswer => ({
  ok: false,
  status: null,
  ms: 0,
  models: null,
  message: toGatewayError(thrown).message,
  skewMs: null,
  tokens: null,
})
