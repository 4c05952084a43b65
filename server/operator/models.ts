/** Verbs for models: list, show, add, price, unprice, remove, and their aliases. */
import * as z from 'zod/mini'
import { changesBetween } from '#domain/act.ts'
import { type Catalogue, type Stale, untilCurrent } from '#domain/catalogue.ts'
import { GatewayError } from '#domain/errors.ts'
import { newPriceVersionId } from '#domain/id.ts'
import { allows } from '#domain/key.ts'
import {
  isAlias,
  isModelId,
  MAX_IMAGES_PER_ANSWER,
  type ModelAlias,
  type ModelCard,
  type Prices,
  priceAt,
  UNROUTED,
} from '#domain/model-card.ts'
import type { ModelKind } from '#domain/model-kind.ts'
import { FREE, type UsdAttos } from '#domain/money.ts'
import { DIALECTS, KIND_OF } from '#domain/work.ts'
import {
  lineField,
  modifiersField,
  orNull,
  perMillionField,
  priceField,
  serverToolsField,
  timeField,
  upstreamField,
} from '#forms/fields.ts'
import { suggest } from '#forms/nearest.ts'
import { isFromCatalog } from './catalog.ts'
import type { OperatorDeps } from './deps.ts'
import { effectiveFrom } from './effective-from.ts'
import { demandExact } from './exact-prices.ts'
import { embeddingSpaceField, kindField, priceProblem, wiresField } from './model-fields.ts'
import { type ModelRecord, renderModel, renderVersion } from './model-record.ts'
import { findProvider } from './providers.ts'
import { invalidInput, mutation, verb } from './verb.ts'

const labelField = z.string().check(z.minLength(1), z.maxLength(32))

/** Absent prices stay unchanged. */
const priceFields = {
  in_usd: z.optional(perMillionField),
  out_usd: z.optional(perMillionField),
  /** Null clears a price: those tokens then cost the general price. */
  cached_in_usd: z.optional(z.nullable(perMillionField)),
  cache_write_usd: z.optional(z.nullable(perMillionField)),
  cache_write_1h_usd: z.optional(z.nullable(perMillionField)),
  image_in_usd: z.optional(z.nullable(perMillionField)),
  image_out_usd: z.optional(z.nullable(perMillionField)),
  per_search_unit_usd: z.optional(priceField),
  /** Replaces the whole list. */
  per_image_usd: z.optional(
    z
      .array(
        z.strictObject({
          resolution: z._default(labelField, '*'),
          quality: z._default(labelField, '*'),
          usd: priceField,
        }),
      )
      .check(z.maxLength(64)),
  ),
  /** Each replaces all that there are. */
  server_tools: z.optional(serverToolsField),
  modifiers: z.optional(modifiersField),
}

const statedPrices = z.object(priceFields)
type StatedPrices = z.output<typeof statedPrices>

/** Sorted by id; a mask is `*`, `<provider>/*` or an exact id. @throws provider_not_found */
export const listModels = verb(
  z.strictObject({
    mask: orNull(z.string()),
    provider: orNull(z.string()),
    unpriced: z._default(z.boolean(), false),
    /** Only models that a surface may ask. */
    surface: orNull(z.enum(DIALECTS)),
  }),
  async (deps, { mask, provider, unpriced, surface }): Promise<readonly ListedModelRecord[]> => {
    // An empty list would mean that the provider serves nothing.
    if (provider !== null) findProvider(deps, provider)
    const at = deps.clock.now()
    const catalogue = deps.store.catalogue.current()
    return [...catalogue.models.values()]
      .filter(
        (card) =>
          (mask === null || allows([mask], card.id)) &&
          (provider === null || isOf(card, provider)) &&
          (!unpriced || priceAt(card, at) === null) &&
          (surface === null || card.kind === KIND_OF[surface]),
      )
      .map((card) => ({ ...renderModel(card, at), aliases: aliasesOf(catalogue, card.id) }))
  },
)

/** Whether the provider owns the model or is in its route. */
const isOf = (card: ModelCard, name: string): boolean =>
  card.provider === name || card.route.some(({ provider }) => provider === name)

/** A model, and its other names, in their order. */
export type ListedModelRecord = ModelRecord & { readonly aliases: readonly string[] }

const aliasesOf = ({ aliases }: Catalogue, id: string): readonly string[] =>
  [...aliases].filter(([, model]) => model === id).map(([name]) => name)

/** @throws model_not_found */
export const showModel = verb(
  z.strictObject({ model: z.string() }),
  async (deps, { model }): Promise<ListedModelRecord> => {
    const catalogue = deps.store.catalogue.current()
    const card = findModel(deps, model)
    return { ...renderModel(card, deps.clock.now()), aliases: aliasesOf(catalogue, card.id) }
  },
)

/** @throws model_not_found */
export function findModel({ store }: OperatorDeps, id: string): ModelCard {
  const { models } = store.catalogue.current()
  const card = models.get(id)
  if (card) return card
  const suggestion = suggest(id, [...models.keys()])
  throw new GatewayError('model_not_found', `no model is called "${id}"${suggestion}`, {
    hint: 'gatewayctl models list',
  })
}

/** A change of one model: how it is written, if the catalogue still has that version, and what is answered of what it wrote. */
interface ModelChange<Answer> {
  write(expected: number): Promise<ModelCard | Stale>
  render(written: ModelCard): Answer
}

/** Drafts a change of the model as it stands, anew where another change comes between. @throws model_not_found */
export const changeModel = <Answer>(
  deps: OperatorDeps,
  id: string,
  draft: (card: ModelCard) => ModelChange<Answer>,
): Promise<Answer> =>
  untilCurrent(async () => {
    const { version } = deps.store.catalogue.current()
    const { write, render } = draft(findModel(deps, id))
    const written = await write(version)
    return written === 'stale' ? written : render(written)
  })

/** Adds a model by hand. @throws invalid_request, provider_not_found, already_exists */
export const addModel = mutation(
  'models.add',
  z.strictObject({
    ...priceFields,
    model: z.string().check(
      z.refine(isModelId, {
        error: ({ input }) => `must look like provider/model (got "${String(input)}")`,
      }),
    ),
    kind: z._default(kindField, 'generate'),
    embedding_space: orNull(embeddingSpaceField),
    provider: z.optional(z.string()),
    upstream: z.optional(upstreamField),
    name: z.optional(lineField(256).check(z.minLength(1))),
    context_length: orNull(z.int().check(z.minimum(1))),
    max_completion_tokens: orNull(z.int().check(z.minimum(1))),
    images: z._default(z.boolean(), false),
    wires: orNull(wiresField),
    images_per_answer: z._default(z.int().check(z.minimum(1), z.maximum(MAX_IMAGES_PER_ANSWER)), 1),
  }),
  async (deps, input, act): Promise<ModelRecord> => {
    const slash = input.model.indexOf('/')
    const own = input.model.slice(slash + 1)
    const provider = findProvider(deps, input.provider ?? input.model.slice(0, slash))
    const { kind } = input
    requireEmbedding(kind, input.embedding_space)
    const prices = pricesFrom(input, null, kind)
    const at = deps.clock.now()
    const draws = input.images || (prices?.imagePrices.length ?? 0) > 0
    const bounds = {
      upstreamName: input.upstream ?? own,
      contextLength: input.context_length,
      maxCompletionTokens: input.max_completion_tokens,
    }
    const card: ModelCard = {
      id: input.model,
      kind,
      embeddingSpace: input.embedding_space,
      provider: provider.name,
      ...bounds,
      ...UNROUTED,
      name: input.name ?? own,
      description: '',
      createdAt: at,
      isCatalogued: await isFromCatalog(provider.type, bounds),
      imagesPerAnswer: input.images_per_answer,
      wires: input.wires,
      // Unknown models may accept images; those that do not refuse them themselves.
      inputModalities: kind === 'generate' ? ['text', 'image'] : ['text'],
      outputModalities: draws ? ['text', 'image'] : ['text'],
      supportedParameters: kind === 'generate' ? parametersOf(draws) : [],
      prices: prices === null ? [] : [{ id: newPriceVersionId(at), effectiveFrom: at, prices }],
    }
    const record = renderModel(card, at)
    const { upstream, price } = record
    const added = { provider: card.provider, upstream, price: price && { ...price } }
    await deps.store.models.add(card, act(card.id, added))
    return record
  },
)

const parametersOf = (draws: boolean): readonly string[] =>
  draws ? ['max_tokens', 'modalities'] : ['max_tokens']

/** @throws invalid_request for the space of what is no vector */
export function requireEmbedding(kind: ModelKind, space: string | null, param = 'embedding_space') {
  if (space === null || kind === 'embed') return
  throw invalidInput(param, 'is of models of kind embed, whose vectors it compares')
}

/** Adds a price version; absent prices stay unchanged. @throws model_not_found, invalid_request */
export const priceModel = mutation(
  'models.price',
  z.strictObject({
    ...priceFields,
    model: z.string(),
    from: orNull(timeField),
  }),
  (deps, input, act) =>
    changeModel(deps, input.model, (card) => {
      const at = deps.clock.now()
      const previous = priceAt(card, at)
      const prices = pricesFrom(input, previous?.prices ?? null, card.kind)
      if (prices === null || stated(input).length === 0) {
        throw new GatewayError('invalid_request', 'no price is stated', {
          hint: priceHint(card),
        })
      }
      const version = {
        id: newPriceVersionId(at),
        effectiveFrom: effectiveFrom(input.from, {
          now: at,
          since: previous?.effectiveFrom ?? null,
        }),
        prices,
      }
      const added = renderVersion(version)
      const before = previous && renderVersion(previous)
      const priced = act(card.id, changesBetween({ ...before }, { ...added }))
      return {
        write: (expected) => deps.store.models.price(card.id, version, priced, expected),
        render: (after) => ({ ...renderModel(after, at), added, previous: before }),
      }
    }),
)

const stated = (input: StatedPrices): readonly unknown[] =>
  Object.keys(priceFields)
    .map((field) => input[field as keyof StatedPrices])
    .filter((value) => value !== undefined)

const PRICE_FLAGS: Readonly<Record<ModelKind, string>> = {
  generate: '--in-usd 2.50 --out-usd 10',
  embed: '--in-usd 0.02',
  rerank: '--per-search-unit-usd 0.002',
}

const priceHint = ({ id, kind }: ModelCard): string =>
  `gatewayctl models price ${id} ${PRICE_FLAGS[kind]}`

/** The given prices merged into the known ones; null when there are neither. @throws invalid_request */
function pricesFrom(input: StatedPrices, known: Prices | null, kind: ModelKind): Prices | null {
  if (stated(input).length === 0) return known
  const imagePrices = input.per_image_usd ?? known?.imagePrices ?? []
  const prompt = input.in_usd ?? known?.prompt
  const completion = input.out_usd ?? known?.completion
  const searchUnit = input.per_search_unit_usd ?? known?.searchUnit ?? FREE
  const isPerImage = imagePrices.length > 0
  const problem = priceProblem(kind, { prompt, completion, searchUnit, isPerImage })
  if (problem !== null) throw new GatewayError('invalid_request', problem)
  return demandExact({
    prompt: prompt ?? FREE,
    completion: completion ?? FREE,
    cacheRead: changed(input.cached_in_usd, known?.cacheRead),
    cacheWrite: changed(input.cache_write_usd, known?.cacheWrite),
    cacheWrite1h: changed(input.cache_write_1h_usd, known?.cacheWrite1h),
    request: known?.request ?? FREE,
    searchUnit,
    inputImage: known?.inputImage ?? FREE,
    imageInputToken: changed(input.image_in_usd, known?.imageInputToken),
    imageOutputToken: changed(input.image_out_usd, known?.imageOutputToken),
    imagePrices,
    tiers: known?.tiers ?? [],
    serverTools: input.server_tools ?? known?.serverTools ?? [],
    modifiers: input.modifiers ?? known?.modifiers ?? [],
  })
}

/** The given price, null included; else the known one. */
const changed = (
  stated: UsdAttos | null | undefined,
  known: UsdAttos | null | undefined,
): UsdAttos | null => (stated === undefined ? (known ?? null) : stated)

/** Removes all prices, future ones too: requests are refused until a new price is set. @throws model_not_found */
export const unpriceModel = mutation(
  'models.unprice',
  z.strictObject({ model: z.string() }),
  (deps, { model }, act) =>
    changeModel(deps, model, (card) => {
      const at = deps.clock.now()
      const previous = renderModel(card, at).price
      const changed = { price: { from: previous?.version ?? null, to: null } }
      const unpriced = act(card.id, card.prices.length === 0 ? {} : changed)
      return {
        write: (expected) => deps.store.models.unprice(card.id, unpriced, expected),
        render: (after) => ({ ...renderModel(after, at), previous }),
      }
    }),
)

/** Removes its route and prices too; past charges stay. @throws model_not_found */
export const removeModel = mutation(
  'models.remove',
  z.strictObject({ model: z.string() }),
  (deps, { model }, act) =>
    changeModel(deps, model, ({ id, provider, upstreamName: upstream }) => {
      const removed = act(id, { removed: true, provider, upstream })
      return {
        write: (expected) => deps.store.models.remove(id, removed, expected),
        render: (before) => ({ ...renderModel(before, deps.clock.now()), removed: true }),
      }
    }),
)

/** Every alias, in the order of names. */
export const listAliases = verb(
  z.strictObject({}),
  async ({ store }): Promise<readonly ModelAlias[]> =>
    [...store.catalogue.current().aliases].map(([name, model]) => ({ name, model })),
)

export const aliasField = z
  .string()
  .check(
    z.refine(isAlias, 'must be 1 to 256 characters without a space, "*" or a control character'),
  )

/** Gives a model another name for requests, or an alias another model. @throws model_not_found, already_exists */
export const aliasModel = mutation(
  'models.alias.set',
  z.strictObject({ name: aliasField, model: z.string() }),
  async (deps, { name, model }, act): Promise<ModelAlias> => {
    const alias = { name, model: findModel(deps, model).id }
    await deps.store.models.alias(alias, act(name))
    return alias
  },
)

/** Requests by that name are refused from the next one on. @throws model_not_found */
export const unaliasModel = mutation(
  'models.alias.remove',
  z.strictObject({ name: z.string() }),
  async (deps, { name }, act) => ({
    ...(await deps.store.models.unalias(name, act(name))),
    removed: true,
  }),
)
