/** Verbs for providers: list, show, add (with its catalog models), remove. */
import * as z from 'zod/mini'
import { untilCurrent } from '#domain/catalogue.ts'
import { type Instant, renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { type ModelCard, priceAt } from '#domain/model-card.ts'
import {
  isProviderName,
  isProviderType,
  type NewProvider,
  OUTPUT_BOUNDS,
  type OutputBound,
  onlyCredential,
  outputBoundOf,
  PROVIDER_PRESETS,
  type Provider,
  type ProviderType,
} from '#domain/provider.ts'
import { suggest } from '#forms/nearest.ts'
import { catalogOf, toCard } from './catalog.ts'
import { checkCredential, credentialField } from './credential.ts'
import { type CredentialTroubleRecord, credentialTroubles } from './credential-trouble.ts'
import type { OperatorDeps } from './deps.ts'
import { addressFields, baseUrlFor } from './provider-address.ts'
import { invalidInput, mutation, verb } from './verb.ts'

export interface ProviderRecord {
  readonly name: string
  readonly type: string
  readonly base_url: string
  readonly has_credential: boolean
  /** Their names. */
  readonly credentials: readonly string[]
  /** Of several, those that rest or were refused; empty while no server runs. */
  readonly failing_credentials: readonly CredentialTroubleRecord[]
  /** How the bound of an answer is sent; null: in the one way of its API. */
  readonly output_bound: OutputBound | null
  /** `stated` by the operator, `learned` from its refusals, or the `default` of its type and address. */
  readonly output_bound_source: 'stated' | 'learned' | 'default'
  readonly created_at: string
  readonly models: number
  /** Of those, the ones without a price. */
  readonly unpriced_models: number
  /** Models of other providers with a route to this one. */
  readonly routed_models: number
}

export const report = (deps: OperatorDeps, provider: Provider): ProviderRecord =>
  prepareReport(deps)(provider)

/** Of many, the models are looked through once. */
function prepareReport({
  store,
  clock,
  live,
}: OperatorDeps): (provider: Provider) => ProviderRecord {
  const at = clock.now()
  const all = [...store.catalogue.current().models.values()]
  const cardsOf = Map.groupBy(all, ({ provider }) => provider)
  const routedTo = Map.groupBy(
    all.flatMap((card) => card.route.filter(({ provider }) => provider !== card.provider)),
    ({ provider }) => provider,
  )
  return (provider) => {
    const cards = cardsOf.get(provider.name) ?? []
    return {
      name: provider.name,
      type: provider.type,
      base_url: provider.baseUrl,
      has_credential: provider.credentials.length > 0,
      credentials: provider.credentials.map(({ name }) => name),
      failing_credentials: credentialTroubles(live, provider),
      output_bound: outputBoundOf(provider),
      output_bound_source:
        provider.outputBound !== null ? 'stated' : provider.learnedBound ? 'learned' : 'default',
      created_at: renderInstant(provider.createdAt),
      models: cards.length,
      unpriced_models: cards.filter((card) => priceAt(card, at) === null).length,
      routed_models: routedTo.get(provider.name)?.length ?? 0,
    }
  }
}

/** Sorted by name, without credentials. */
export const listProviders = verb(z.strictObject({}), async (deps) =>
  [...deps.store.catalogue.current().providers.values()].map(prepareReport(deps)),
)

/** @throws provider_not_found */
export const showProvider = verb(z.strictObject({ name: z.string() }), async (deps, { name }) =>
  report(deps, findProvider(deps, name)),
)

/** @throws provider_not_found */
export function findProvider({ store }: OperatorDeps, name: string): Provider {
  const { providers } = store.catalogue.current()
  const provider = providers.get(name)
  if (provider) return provider
  const suggestion = suggest(name, [...providers.keys()])
  throw new GatewayError('provider_not_found', `no provider is called "${name}"${suggestion}`, {
    hint: 'gatewayctl providers list',
  })
}

/** Null: by its type and address, until its refusals teach another. */
export const outputBoundField = z.optional(z.nullable(z.enum(OUTPUT_BOUNDS)))

/** @throws invalid_request for a type whose API has one name for the bound */
export function outputBoundFor(
  type: ProviderType,
  stated: OutputBound | null | undefined,
): OutputBound | null {
  if (stated === undefined || stated === null) return null
  if (PROVIDER_PRESETS[type].outputBound !== null) return stated
  throw new GatewayError(
    'invalid_request',
    `the API of type ${type} has one name for the bound of an answer: there is nothing to choose`,
    { param: 'output_bound' },
  )
}

/**
 * Adds a provider and what the catalog knows of its models. A caller that leaves out the credential learns first what else
 * is wrong. @throws invalid_request, with param `credential` where only that is missing; already_exists
 */
export const addProvider = mutation(
  'providers.add',
  z.strictObject({
    name: z.string().check(
      z.refine(isProviderName, {
        error: ({ input }) =>
          `must be lower-case letters, digits, ".", "_" or "-" (got "${String(input)}")`,
      }),
    ),
    type: z.optional(z.string()),
    ...addressFields,
    /** Null for an upstream without authentication. */
    credential: z.optional(z.nullable(credentialField)),
    output_bound: outputBoundField,
  }),
  async (deps, input, act): Promise<ProviderRecord> => {
    const at = deps.clock.now()
    const type = typeFor(input.name, input.type, input.base_url)
    const { credential } = input
    const provider: NewProvider = {
      name: input.name,
      type,
      baseUrl: baseUrlFor(type, input),
      outputBound: outputBoundFor(type, input.output_bound),
      learnedBound: null,
      createdAt: at,
    }
    if (credential === undefined) throw withoutCredential(deps, provider)
    checkCredential(provider, credential)
    const cards = await newCards(deps, provider, at)
    const { baseUrl: base_url, outputBound: output_bound } = provider
    const added = act(provider.name, {
      type,
      base_url,
      has_credential: credential !== null,
      models: cards.length,
      ...(output_bound && { output_bound }),
    })
    await deps.store.providers.add(provider, onlyCredential(credential), cards, added)
    return report(deps, findProvider(deps, provider.name))
  },
)

/** What is wrong without a credential; the store refuses a taken name only once there is one. */
function withoutCredential({ store }: OperatorDeps, { name }: NewProvider): GatewayError {
  if (store.catalogue.current().providers.has(name)) {
    return new GatewayError('already_exists', `there is already a provider "${name}"`)
  }
  return invalidInput('credential', 'must be given, or null for none')
}

/** The given type, else the one that equals the name, else `openai-compatible` when an address is given. */
export function typeFor(
  name: string,
  stated: string | undefined,
  url: string | undefined,
): ProviderType {
  const types = Object.keys(PROVIDER_PRESETS).filter((type) => type !== 'demo')
  const type = stated ?? (isProviderType(name) ? name : url && 'openai-compatible')
  if (type !== undefined && isProviderType(type) && type !== 'demo') return type
  throw new GatewayError(
    'invalid_request',
    stated === undefined
      ? `"${name}" is no known vendor, so its type must be stated`
      : `"${stated}" is no type of provider${suggest(stated, types)}`,
    { param: 'type', hint: `--type is one of ${types.join(', ')}` },
  )
}

/** What the catalog knows of its models, but those that are there. */
async function newCards(
  { store }: OperatorDeps,
  provider: Pick<Provider, 'name' | 'type'>,
  at: Instant,
): Promise<readonly ModelCard[]> {
  const cards = (await catalogOf(provider.type)).map((entry) => toCard(entry, provider, at))
  const { models } = store.catalogue.current()
  return cards.filter(({ id }) => !models.has(id))
}

/** Removes its models too; past charges stay, and its bills are nobody's trouble any more. @throws provider_not_found */
export const removeProvider = mutation(
  'providers.remove',
  z.strictObject({ name: z.string() }),
  async (deps, { name }, act) => {
    const gone = await untilCurrent(async () => {
      const { version } = deps.store.catalogue.current()
      const provider = report(deps, findProvider(deps, name))
      const { type, models } = provider
      const removed = act(name, { removed: true, type, models })
      const stale = await deps.store.providers.remove(name, removed, version)
      return stale ?? { ...provider, removed: true }
    })
    await deps.store.events.lift('gateway.bill_differs', name, deps.clock.now(), null)
    return gone
  },
)
