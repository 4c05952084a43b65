/** Changes of models, with their routes, prices and other names. */
import type { Act } from '#domain/act.ts'
import type { Catalogue } from '#domain/catalogue.ts'
import { GatewayError } from '#domain/errors.ts'
import {
  type ModelCard,
  type ModelCards,
  ownRoute,
  type PriceVersion,
  wasAhead,
} from '#domain/model-card.ts'
import { modelNotFound, type PriceRow, toRow, toVersion } from '../rows/catalogue-rows.ts'
import { fromPrices } from '../rows/price-row.ts'
import { type Engine, get, run, type Statements } from '../statements.ts'
import { createAliases } from './aliases.ts'
import type { Changing, HeldCatalogue } from './held.ts'
import { writeRoute } from './routes.ts'

export function createModels(engine: Engine, catalogue: HeldCatalogue): ModelCards {
  /** Changes a model that is there, and answers it as it is then. */
  const change = async (
    id: string,
    act: Act,
    expected: number | undefined,
    write: (card: ModelCard) => Statements<unknown>,
  ): Promise<ModelCard | 'stale'> => {
    const written = await catalogue.change(act, expected, function* ({ before }) {
      yield* write(requireModel(before, id))
    })
    return written === 'stale' ? 'stale' : requireModel(catalogue.current(), id)
  }

  return {
    async version(id) {
      const row = await engine.read(() =>
        get<PriceRow>(
          'SELECT id, effective_from AS "effectiveFrom", prices FROM price_versions WHERE id = $id',
          { id },
        ),
      )
      return row === null ? undefined : toVersion(row)
    },
    async add(card, act) {
      await catalogue.change(act, undefined, (changing) => insertModel(changing, card))
    },
    ...createAliases(catalogue),
    price: (id, one, act, expected) =>
      change(id, act, expected, (card) => writePrice(card, one, act)),
    refresh: ({ added, priced }, act, expected) =>
      catalogue.change(act, expected, function* (changing) {
        for (const card of added) yield* insertModel(changing, card)
        for (const { id, version } of priced) {
          yield* writePrice(requireModel(changing.before, id), version, act)
        }
        return undefined
      }),
    unprice: (id, act, expected) =>
      change(id, act, expected, function* ({ prices }) {
        for (const one of prices) yield* retire(one)
      }),
    async amend(id, facts, act) {
      const amended = await change(id, act, undefined, (card) =>
        run(UPDATE, toRow({ ...card, ...facts })),
      )
      return amended as ModelCard
    },
    async markCatalogued(ids, expected) {
      if (ids.length === 0) return undefined
      return await catalogue.change(null, expected, function* () {
        for (const id of ids) yield* run('UPDATE models SET catalogued = 1 WHERE id = $id', { id })
        return undefined
      })
    },
    route: (route, act, expected) =>
      catalogue.change(act, expected, function* (changing) {
        yield* writeRoute(changing, route)
        return undefined
      }),
    remove: (id, act, expected) =>
      catalogue.change(act, expected, function* ({ before }) {
        const card = requireModel(before, id)
        yield* run('DELETE FROM models WHERE id = $id', { id })
        return card
      }),
  }
}

function requireModel({ models }: Catalogue, id: string): ModelCard {
  const card = models.get(id)
  if (card) return card
  throw modelNotFound(id)
}

const INSERT = `INSERT INTO models (id, kind, embedding_space, provider, upstream_name, name, description, created_at, context_length,
    max_completion_tokens, catalogued, images_per_answer, wires, input_modalities, output_modalities, supported_parameters)
  VALUES ($id, $kind, $embeddingSpace, $provider, $upstreamName, $name, $description, $createdAt, $contextLength,
    $maxCompletionTokens, $isCatalogued, $imagesPerAnswer, $wires, $inputModalities, $outputModalities, $supportedParameters)
  ON CONFLICT (id) DO NOTHING`

const UPDATE = `UPDATE models SET kind = $kind, embedding_space = $embeddingSpace, provider = $provider, upstream_name = $upstreamName, name = $name,
    description = $description, created_at = $createdAt, context_length = $contextLength, max_completion_tokens = $maxCompletionTokens,
    catalogued = $isCatalogued, images_per_answer = $imagesPerAnswer, wires = $wires, input_modalities = $inputModalities,
    output_modalities = $outputModalities, supported_parameters = $supportedParameters
  WHERE id = $id`

/** @throws already_exists */
export function* insertModel(changing: Changing, card: ModelCard): Statements<void> {
  const { id } = card
  if ((yield* run(INSERT, toRow(card))) === 0) {
    throw new GatewayError('already_exists', `there is already a model ${id}`)
  }
  if (changing.before.aliases.has(id)) {
    throw new GatewayError('already_exists', `${id} is an alias of another model`, {
      hint: `gatewayctl models unalias ${id}`,
    })
  }
  const route = ownRoute(card)
  if (route !== null) yield* writeRoute(changing, route)
  for (const one of card.prices) yield* writeVersion(id, one)
}

const writeVersion = (
  modelId: string,
  { id, effectiveFrom, prices }: PriceVersion,
): Statements<number> =>
  run(
    `INSERT INTO price_versions (id, model_id, effective_from, prices)
     VALUES ($id, $modelId, $effectiveFrom, $prices)`,
    { id, modelId, effectiveFrom, prices: fromPrices(prices) },
  )

const retire = ({ id }: PriceVersion): Statements<number> =>
  run('UPDATE price_versions SET retired = 1 WHERE id = $id', { id })

function* writePrice({ id, prices }: ModelCard, one: PriceVersion, { at }: Act): Statements<void> {
  const overtakes = (other: PriceVersion): boolean =>
    one.effectiveFrom <= at && other.effectiveFrom > at && !wasAhead(other)
  for (const other of prices) if (overtakes(other)) yield* retire(other)
  yield* writeVersion(id, one)
}
