/** The rows that the catalogue is read from. */
import type { Catalogue } from '#domain/catalogue.ts'
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { PriceVersionId } from '#domain/id.ts'
import {
  factsOf,
  type ModelAlias,
  type ModelCard,
  type Prices,
  type PriceVersion,
  UNROUTED,
} from '#domain/model-card.ts'
import { type RubPerUsd, readRubPerUsd } from '#domain/money.ts'
import type { Credential, Provider } from '#domain/provider.ts'
import {
  hopsFor,
  OWN,
  prepareFindRoute,
  type Route,
  type RouteHop,
  type RouteOrder,
} from '#domain/route.ts'
import { toPrices } from './price-row.ts'

export type ModelRow = Omit<
  ModelCard,
  JsonField | keyof typeof UNROUTED | 'isCatalogued' | 'wires' | 'prices'
> &
  Readonly<Record<JsonField, string>> & {
    readonly isCatalogued: number
    readonly wires: string | null
  }

type JsonField = 'inputModalities' | 'outputModalities' | 'supportedParameters'

export type ProviderRow = Omit<Provider, 'credentials'>

export interface PriceRow {
  readonly id: PriceVersionId
  readonly modelId: string
  readonly effectiveFrom: Instant
  readonly prices: string
}

export interface RateRow {
  readonly rubPerUsd: string
  readonly effectiveFrom: Instant
}

export interface HopRow extends Omit<RouteHop, 'provider'> {
  readonly pattern: string
  readonly order: RouteOrder
  /** Null: each model's own. */
  readonly provider: string | null
}

/** What the catalogue is read from. */
export interface CatalogueRows {
  readonly version: number
  readonly models: readonly ModelRow[]
  readonly hops: readonly HopRow[]
  readonly aliases: readonly ModelAlias[]
  readonly prices: readonly PriceRow[]
  readonly providers: readonly ProviderRow[]
  readonly credentials: readonly (Credential & { readonly provider: string })[]
  readonly rates: readonly RateRow[]
}

/** A statement for each table of it. */
export const CATALOGUE_SQL: Readonly<Record<Exclude<keyof CatalogueRows, 'version'>, string>> = {
  models: `SELECT id, kind, embedding_space AS "embeddingSpace", provider, upstream_name AS "upstreamName", name, description, created_at AS "createdAt",
       context_length AS "contextLength", max_completion_tokens AS "maxCompletionTokens", catalogued AS "isCatalogued",
       images_per_answer AS "imagesPerAnswer", wires, input_modalities AS "inputModalities",
       output_modalities AS "outputModalities", supported_parameters AS "supportedParameters"
     FROM models ORDER BY id`,
  hops: `SELECT pattern, routes.ordering AS "order", provider, upstream_name AS "upstreamName", position, weight
     FROM routes JOIN hops USING (pattern) ORDER BY pattern, position, provider NULLS FIRST`,
  aliases: 'SELECT name, model_id AS model FROM aliases ORDER BY name',
  prices: `SELECT id, model_id AS "modelId", effective_from AS "effectiveFrom", prices
     FROM price_versions WHERE retired = 0 ORDER BY id DESC`,
  providers: `SELECT name, type, base_url AS "baseUrl",
       output_bound AS "outputBound", learned_bound AS "learnedBound", created_at AS "createdAt", revision
     FROM providers ORDER BY name`,
  credentials: 'SELECT provider, name, weight FROM credentials ORDER BY provider, name',
  rates: `SELECT rub_per_usd AS "rubPerUsd", effective_from AS "effectiveFrom"
     FROM rates ORDER BY effective_from DESC`,
}

export function toCatalogue(rows: CatalogueRows): Catalogue {
  const byPattern = toRoutes(rows.hops)
  const credentialsOf = new Map<string, Credential[]>()
  for (const { provider, ...credential } of rows.credentials) {
    const known = credentialsOf.get(provider)
    if (known === undefined) credentialsOf.set(provider, [credential])
    else known.push(credential)
  }
  const routeOf = prepareFindRoute(byPattern.values())
  const pricesOf = Map.groupBy(rows.prices, ({ modelId }) => modelId)
  const toCard = (row: ModelRow): ModelCard => ({
    ...row,
    isCatalogued: row.isCatalogued === 1,
    wires: row.wires === null ? null : JSON.parse(row.wires),
    inputModalities: JSON.parse(row.inputModalities),
    outputModalities: JSON.parse(row.outputModalities),
    supportedParameters: JSON.parse(row.supportedParameters),
    ...toCardRoute(row, routeOf(row.id)),
    prices: (pricesOf.get(row.id) ?? []).map(toVersion),
  })
  return {
    version: rows.version,
    models: new Map(rows.models.map((row) => [row.id, toCard(row)])),
    aliases: new Map(rows.aliases.map(({ name, model }) => [name, model])),
    routes: byPattern,
    providers: new Map(
      rows.providers.map((row) => [
        row.name,
        { ...row, credentials: credentialsOf.get(row.name) ?? [] },
      ]),
    ),
    rates: rows.rates.map(({ rubPerUsd, effectiveFrom }) => ({
      rubPerUsd: readRubPerUsd(rubPerUsd) as RubPerUsd,
      effectiveFrom,
      setByOperator: true,
    })),
  }
}

/** In the order of patterns. */
function toRoutes(hops: readonly HopRow[]): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route & { readonly hops: RouteHop[] }>()
  for (const { pattern, order, provider, ...hop } of hops) {
    const route = routes.get(pattern) ?? { pattern, order, hops: [] }
    routes.set(pattern, route)
    route.hops.push({ provider: provider ?? OWN, ...hop })
  }
  return routes
}

const toCardRoute = (row: ModelRow, route: Route | undefined): typeof UNROUTED =>
  route === undefined
    ? UNROUTED
    : { route: hopsFor(route, row), routedBy: route.pattern, routeOrder: route.order }

/** Its prices are read when they are first asked for, so that a damaged one is no other model's, and can be taken back. */
export function toVersion({ id, effectiveFrom, prices }: Omit<PriceRow, 'modelId'>): PriceVersion {
  let read: Prices | null = null
  return {
    id,
    effectiveFrom,
    get prices() {
      read ??= toPrices(prices)
      return read
    },
  }
}

export const providerNotFound = (name: string): GatewayError =>
  new GatewayError('provider_not_found', `there is no provider "${name}"`, {
    hint: 'gatewayctl providers list',
  })

export const modelNotFound = (id: string): GatewayError =>
  new GatewayError('model_not_found', `there is no model ${id}`, {
    hint: 'gatewayctl models list',
  })

export const aliasNotFound = (name: string): GatewayError =>
  new GatewayError('model_not_found', `no model is also called "${name}"`, {
    hint: 'gatewayctl models alias',
  })

export function toRow(card: ModelCard) {
  return {
    ...factsOf(card),
    id: card.id,
    createdAt: card.createdAt,
    isCatalogued: Number(card.isCatalogued),
    inputModalities: JSON.stringify(card.inputModalities),
    outputModalities: JSON.stringify(card.outputModalities),
    wires: card.wires && JSON.stringify(card.wires),
    supportedParameters: JSON.stringify(card.supportedParameters),
  }
}
