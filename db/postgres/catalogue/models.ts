/** Changes of models in PostgreSQL, with their routes, prices and other names. */
import type { Act } from '#domain/act.ts'
import type { Catalogue } from '#domain/catalogue.ts'
import { GatewayError } from '#domain/errors.ts'
import {
  type ModelAlias,
  type ModelCard,
  type ModelCards,
  ownRoute,
  type PriceVersion,
  wasAhead,
} from '#domain/model-card.ts'
import { isMask, OWN, type Route } from '#domain/route.ts'
import {
  aliasNotFound,
  modelNotFound,
  providerNotFound,
  toRow,
  toVersion,
} from '../../rows/catalogue-rows.ts'
import { fromPrices } from '../../rows/price-row.ts'
import type { Database, Sql } from '../engine/database.ts'
import type { Changing, HeldCatalogue } from './catalogue.ts'

export function createModels(database: Database, catalogue: HeldCatalogue): ModelCards {
  /** Changes a model that is there, and answers it as it is then. */
  const change = async (
    id: string,
    act: Act,
    expected: number | undefined,
    write: (tx: Sql, card: ModelCard) => Promise<void>,
  ): Promise<ModelCard | 'stale'> => {
    const written = await catalogue.change(act, expected, ({ tx, before }) =>
      write(tx, requireModel(before, id)),
    )
    return written === 'stale' ? 'stale' : requireModel(catalogue.current(), id)
  }

  return {
    async version(id) {
      const row = await database.get<Parameters<typeof toVersion>[0]>(
        'SELECT id, effective_from AS "effectiveFrom", prices FROM price_versions WHERE id = ?',
        id,
      )
      return row === null ? undefined : toVersion(row)
    },
    async add(card, act) {
      await catalogue.change(act, undefined, (changing) => insertModel(changing, card))
    },
    ...changeAliases(catalogue),
    price: (id, one, act, expected) =>
      change(id, act, expected, (tx, card) => writePrice(tx, card, one, act)),
    async refresh({ added, priced }, act, expected) {
      const written = await catalogue.change(act, expected, async (changing) => {
        for (const card of added) await insertModel(changing, card)
        for (const { id, version } of priced) {
          await writePrice(changing.tx, requireModel(changing.before, id), version, act)
        }
      })
      return written === 'stale' ? 'stale' : undefined
    },
    unprice: (id, act, expected) =>
      change(id, act, expected, async (tx, { prices }) => {
        for (const one of prices) await retire(tx, one)
      }),
    async amend(id, facts, act) {
      const amended = await change(id, act, undefined, async (tx, card) => {
        await tx.run(UPDATE, toRow({ ...card, ...facts }) as never)
      })
      return amended as ModelCard
    },
    async markCatalogued(ids, expected) {
      if (ids.length === 0) return undefined
      const written = await catalogue.change(null, expected, async ({ tx }) => {
        await tx.run('UPDATE models SET catalogued = 1 WHERE id = ANY (?::text[])', ids)
      })
      return written === 'stale' ? 'stale' : undefined
    },
    async route(route, act, expected) {
      const written = await catalogue.change(act, expected, (changing) =>
        writeRoute(changing, route),
      )
      return written === 'stale' ? 'stale' : undefined
    },
    remove: (id, act, expected) =>
      catalogue.change(act, expected, async ({ tx, before }) => {
        const card = requireModel(before, id)
        await tx.run('DELETE FROM models WHERE id = ?', id)
        return card
      }),
  }
}

const changeAliases = (catalogue: HeldCatalogue): Pick<ModelCards, 'alias' | 'unalias'> => ({
  async alias({ name, model }, act) {
    await catalogue.change(
      act,
      undefined,
      async ({ tx, before: { models, aliases } }) => {
        if (!models.has(model)) throw modelNotFound(model)
        if (models.has(name)) {
          throw new GatewayError('already_exists', `${name} is the id of a model`)
        }
        await tx.run(
          `INSERT INTO aliases (name, model_id) VALUES (?, ?)
           ON CONFLICT (name) DO UPDATE SET model_id = excluded.model_id`,
          name,
          model,
        )
        return aliases.get(name) ?? null
      },
      (before) => ({ model: { from: before, to: model } }),
    )
  },
  unalias: (name, act) =>
    catalogue.change(
      act,
      undefined,
      async ({ tx, before: { aliases } }): Promise<ModelAlias> => {
        const model = aliases.get(name)
        if (model === undefined) throw aliasNotFound(name)
        await tx.run('DELETE FROM aliases WHERE name = ?', name)
        return { name, model }
      },
      ({ model }) => ({ model: { from: model, to: null } }),
    ) as Promise<ModelAlias>,
})

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
export async function insertModel(changing: Changing, card: ModelCard): Promise<void> {
  const { tx, before } = changing
  const { id } = card
  if ((await tx.run(INSERT, toRow(card) as never)) === 0) {
    throw new GatewayError('already_exists', `there is already a model ${id}`)
  }
  if (before.aliases.has(id)) {
    throw new GatewayError('already_exists', `${id} is an alias of another model`, {
      hint: `gatewayctl models unalias ${id}`,
    })
  }
  const route = ownRoute(card)
  if (route !== null) await writeRoute(changing, route)
  for (const one of card.prices) await writeVersion(tx, id, one)
}

async function writeVersion(
  tx: Sql,
  modelId: string,
  { id, effectiveFrom, prices }: PriceVersion,
): Promise<void> {
  await tx.run(
    'INSERT INTO price_versions (id, model_id, effective_from, prices) VALUES (?, ?, ?, ?)',
    id,
    modelId,
    effectiveFrom,
    fromPrices(prices),
  )
}

const retire = (tx: Sql, { id }: PriceVersion) =>
  tx.run('UPDATE price_versions SET retired = 1 WHERE id = ?', id)

async function writePrice(
  tx: Sql,
  { id, prices }: ModelCard,
  one: PriceVersion,
  { at }: Act,
): Promise<void> {
  const overtakes = (other: PriceVersion): boolean =>
    one.effectiveFrom <= at && other.effectiveFrom > at && !wasAhead(other)
  for (const other of prices) if (overtakes(other)) await retire(tx, other)
  await writeVersion(tx, id, one)
}

/** Replaces the route of its pattern; one without hops takes it away. @throws model_not_found, provider_not_found */
async function writeRoute(
  { tx, before: { providers } }: Changing,
  { pattern, order, hops }: Route,
): Promise<void> {
  const isOfMask = isMask(pattern)
  if (!isOfMask && (await tx.get('SELECT 1 FROM models WHERE id = ?', pattern)) === null) {
    throw modelNotFound(pattern)
  }
  await tx.run('DELETE FROM routes WHERE pattern = ?', pattern)
  if (hops.length === 0) return
  await tx.run(
    'INSERT INTO routes (pattern, model_id, ordering) VALUES (?, ?, ?)',
    pattern,
    isOfMask ? null : pattern,
    order,
  )
  for (const { provider, upstreamName, position, weight } of hops) {
    const isOwn = isOfMask && provider === OWN
    if (!isOwn && !providers.has(provider)) throw providerNotFound(provider)
    await tx.run(
      'INSERT INTO hops (pattern, provider, upstream_name, position, weight) VALUES (?, ?, ?, ?, ?)',
      pattern,
      isOwn ? null : provider,
      upstreamName,
      position,
      weight,
    )
  }
}

/** Takes those routes away that have lost their last hop. */
export const dropEmptyRoutes = (tx: Sql) =>
  tx.run('DELETE FROM routes WHERE pattern NOT IN (SELECT pattern FROM hops)')
