/** Changes of models in SQLite, with their routes and prices. */
import type { Database } from 'bun:sqlite'
import type { Act } from '#domain/act.ts'
import { GatewayError } from '#domain/errors.ts'
import type { PriceVersionId } from '#domain/id.ts'
import {
  type ModelCard,
  type ModelCards,
  ownRoute,
  type PriceVersion,
  wasAhead,
} from '#domain/model-card.ts'
import { modelNotFound, toRow, toVersion } from '../../rows/catalogue-rows.ts'
import { fromPrices } from '../../rows/price-row.ts'
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'
import { createAliases, prepareNamed } from './aliases.ts'
import type { HeldCatalogue } from './catalogue.ts'
import { openRouteTable } from './routes.ts'

/** The rows of models, written in the transaction that is open. */
export interface ModelTable {
  /** @throws already_exists */
  insert(card: ModelCard): void
  update(card: ModelCard): void
  mark(id: string): void
  remove(id: string): void
  writeVersion(id: string, version: PriceVersion): void
  retire(id: PriceVersionId): void
}

export function openModelTable(database: Database, catalogue: HeldCatalogue): ModelTable {
  const insert = statement<unknown, [Named]>(
    database,
    `INSERT INTO models (id, kind, embedding_space, provider, upstream_name, name, description, created_at, context_length, max_completion_tokens,
       catalogued, images_per_answer, wires, input_modalities, output_modalities, supported_parameters)
     VALUES ($id, $kind, $embeddingSpace, $provider, $upstreamName, $name, $description, $createdAt, $contextLength, $maxCompletionTokens,
       $isCatalogued, $imagesPerAnswer, $wires, $inputModalities, $outputModalities, $supportedParameters)
     ON CONFLICT (id) DO NOTHING`,
  )
  const update = statement<unknown, [Named]>(
    database,
    `UPDATE models SET kind = $kind, embedding_space = $embeddingSpace, provider = $provider, upstream_name = $upstreamName, name = $name, description = $description,
       created_at = $createdAt, context_length = $contextLength, max_completion_tokens = $maxCompletionTokens,
       catalogued = $isCatalogued, images_per_answer = $imagesPerAnswer, wires = $wires, input_modalities = $inputModalities,
       output_modalities = $outputModalities, supported_parameters = $supportedParameters
     WHERE id = $id`,
  )
  const remove = statement<unknown, [string]>(database, 'DELETE FROM models WHERE id = ?')
  const mark = statement<unknown, [string]>(
    database,
    'UPDATE models SET catalogued = 1 WHERE id = ?',
  )
  const insertVersion = statement<unknown, [PriceVersionId, string, number, string]>(
    database,
    'INSERT INTO price_versions (id, model_id, effective_from, prices) VALUES (?, ?, ?, ?)',
  )
  const retire = statement<unknown, [PriceVersionId]>(
    database,
    'UPDATE price_versions SET retired = 1 WHERE id = ?',
  )
  const named = prepareNamed(database)
  const routes = openRouteTable(database, catalogue)

  const writeVersion = (modelId: string, { id, effectiveFrom, prices }: PriceVersion): void => {
    insertVersion().run(id, modelId, effectiveFrom, fromPrices(prices))
  }

  return {
    insert(card) {
      const { id } = card
      if (insert().run(toRow(card)).changes === 0) {
        throw new GatewayError('already_exists', `there is already a model ${id}`)
      }
      if (named().get(id) !== null) {
        throw new GatewayError('already_exists', `${id} is an alias of another model`, {
          hint: `gatewayctl models unalias ${id}`,
        })
      }
      const route = ownRoute(card)
      if (route !== null) routes.write(route)
      for (const one of card.prices) writeVersion(id, one)
    },
    update: (card) => void update().run(toRow(card)),
    mark: (id) => void mark().run(id),
    remove: (id) => void remove().run(id),
    writeVersion,
    retire: (id) => void retire().run(id),
  }
}

export function createModels({ database }: Connection, catalogue: HeldCatalogue): ModelCards {
  const table = openModelTable(database, catalogue)
  const routes = openRouteTable(database, catalogue)
  const version = statement<Parameters<typeof toVersion>[0], [PriceVersionId]>(
    database,
    'SELECT id, effective_from AS effectiveFrom, prices FROM price_versions WHERE id = ?',
  )
  const requireModel = (id: string): ModelCard => {
    const card = catalogue.current().models.get(id)
    if (card) return card
    throw modelNotFound(id)
  }

  /** Changes a model that is there, and answers it as it is then. */
  const change = async (
    id: string,
    act: Act,
    expected: number | undefined,
    write: (card: ModelCard) => void,
  ): Promise<ModelCard | 'stale'> => {
    if (catalogue.isStale(expected)) return 'stale'
    await catalogue.change(act, () => write(requireModel(id)))
    return requireModel(id)
  }

  const writePrice = ({ id, prices }: ModelCard, one: PriceVersion, { at }: Act): void => {
    const overtakes = (other: PriceVersion): boolean =>
      one.effectiveFrom <= at && other.effectiveFrom > at && !wasAhead(other)
    for (const other of prices) if (overtakes(other)) table.retire(other.id)
    table.writeVersion(id, one)
  }

  return {
    async version(id) {
      const row = version().get(id)
      return row === null ? undefined : toVersion(row)
    },
    add: (card, act) => catalogue.change(act, () => table.insert(card)),
    ...createAliases(database, catalogue),
    price: (id, one, act, expected) =>
      change(id, act, expected, (card) => writePrice(card, one, act)),
    async refresh({ added, priced }, act, expected) {
      if (catalogue.isStale(expected)) return 'stale'
      await catalogue.change(act, () => {
        for (const card of added) table.insert(card)
        for (const { id, version: one } of priced) writePrice(requireModel(id), one, act)
      })
      return undefined
    },
    unprice: (id, act, expected) =>
      change(id, act, expected, ({ prices }) => {
        for (const one of prices) table.retire(one.id)
      }),
    async amend(id, facts, act) {
      await catalogue.change(act, () => table.update({ ...requireModel(id), ...facts }))
      return requireModel(id)
    },
    async markCatalogued(ids, expected) {
      if (catalogue.isStale(expected)) return 'stale'
      if (ids.length === 0) return undefined
      await catalogue.change(null, () => {
        for (const id of ids) table.mark(id)
      })
      return undefined
    },
    async route(route, act, expected) {
      if (catalogue.isStale(expected)) return 'stale'
      await catalogue.change(act, () => routes.write(route))
      return undefined
    },
    async remove(id, act, expected) {
      if (catalogue.isStale(expected)) return 'stale'
      return await catalogue.change(act, () => {
        const card = requireModel(id)
        table.remove(id)
        return card
      })
    },
  }
}
