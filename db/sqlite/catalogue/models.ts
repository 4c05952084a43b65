/** The catalogue in SQLite, kept in memory between changes because every request looks at it. */
import { asc, eq } from 'drizzle-orm'
import { drizzle as openDrizzle } from 'drizzle-orm/bun-sqlite'
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { priceVersionSetAt } from '#domain/id.ts'
import type { ModelCard, ModelCards, PriceVersion } from '#domain/model-card.ts'
import type { Connection } from '../engine/connection.ts'
import { models, priceVersions } from '../schema.ts'
import { fromPrices, toPrices } from './price-row.ts'
import { openRoutes } from './route-table.ts'

interface KnownModel {
  /** With the price that was in force when it was last asked for: the same object until another is. */
  card: ModelCard
  /** Newest first. */
  readonly versions: readonly PriceVersion[]
}

export function createModels({
  database,
  commit,
  clock,
}: Connection): ModelCards & { forget(): void } {
  const drizzle = openDrizzle({ client: database })
  const routes = openRoutes(database)
  let known: Map<string, KnownModel> | null = null

  const all = (): Map<string, KnownModel> => {
    known ??= load(drizzle, commit, routes)
    return known
  }

  const current = (model: KnownModel, at: Instant): ModelCard => {
    const price = inForce(model.versions, at)
    if (price !== model.card.price) model.card = { ...model.card, price }
    return model.card
  }

  const find = (id: string): ModelCard | undefined => {
    const model = all().get(id)
    return model && current(model, clock.now())
  }

  const requireModel = (id: string): ModelCard => {
    const card = find(id)
    if (card) return card
    throw unknownModel(id)
  }

  const insertVersion = (modelId: string, { prices, ...version }: PriceVersion): void => {
    drizzle
      .insert(priceVersions)
      .values({ ...version, modelId, prices: fromPrices(prices) })
      .run()
  }

  const forget = (): void => {
    known = null
  }

  return {
    forget,
    find,
    async list() {
      const at = clock.now()
      return [...all().values()].map((model) => current(model, at))
    },
    async version(id) {
      commit.flush()
      const row = drizzle.select().from(priceVersions).where(eq(priceVersions.id, id)).get()
      return row && toVersion(row)
    },
    add: ({ price, route, ...row }) =>
      commit.commitDurably(() => {
        if (isStored(drizzle, row.id))
          throw new GatewayError('already_exists', `there is already a model ${row.id}`)
        drizzle.insert(models).values(row).run()
        routes.replace(row.id, route)
        if (price) insertVersion(row.id, price)
      }, forget),
    async price(id, version) {
      await commit.commitDurably(() => {
        requireStored(drizzle, id)
        retireOvertaken(drizzle, all().get(id)?.versions ?? [], version, clock.now())
        insertVersion(id, version)
      }, forget)
      return requireModel(id)
    },
    async unprice(id) {
      await commit.commitDurably(() => {
        requireStored(drizzle, id)
        drizzle
          .update(priceVersions)
          .set({ retired: true })
          .where(eq(priceVersions.modelId, id))
          .run()
      }, forget)
      return requireModel(id)
    },
    async amend(id, facts) {
      await commit.commitDurably(() => {
        requireStored(drizzle, id)
        drizzle.update(models).set(facts).where(eq(models.id, id)).run()
      }, forget)
      return requireModel(id)
    },
    async route(id, route) {
      await commit.commitDurably(() => {
        requireStored(drizzle, id)
        routes.replace(id, route)
      }, forget)
      return requireModel(id)
    },
    remove: (id) =>
      commit.commitDurably(() => {
        requireStored(drizzle, id)
        drizzle.delete(models).where(eq(models.id, id)).run()
      }, forget),
  }
}

/** A version that has begun overtakes those that have not, but were not dated ahead: the clock was set back since. */
function retireOvertaken(
  drizzle: ReturnType<typeof openDrizzle>,
  versions: readonly PriceVersion[],
  { effectiveFrom }: PriceVersion,
  at: Instant,
): void {
  if (effectiveFrom > at) return
  for (const version of versions) {
    if (version.effectiveFrom <= at || wasAhead(version)) continue
    const isIt = eq(priceVersions.id, version.id)
    drizzle.update(priceVersions).set({ retired: true }).where(isIt).run()
  }
}

/** Of the table: after every change the models in memory would be read anew. */
const isStored = (drizzle: ReturnType<typeof openDrizzle>, id: string): boolean =>
  drizzle.select({ id: models.id }).from(models).where(eq(models.id, id)).get() !== undefined

function requireStored(drizzle: ReturnType<typeof openDrizzle>, id: string): void {
  if (!isStored(drizzle, id)) throw unknownModel(id)
}

const unknownModel = (id: string): GatewayError =>
  new GatewayError('model_not_found', `there is no model ${id}`, { hint: 'gatewayctl models list' })

/** Everything in use; the models by id. */
function load(
  drizzle: ReturnType<typeof openDrizzle>,
  commit: Connection['commit'],
  routes: ReturnType<typeof openRoutes>,
): Map<string, KnownModel> {
  commit.flush()
  const versions = new Map<string, PriceVersion[]>()
  const inUse = drizzle.select().from(priceVersions).where(eq(priceVersions.retired, false))
  for (const row of inUse.orderBy(asc(priceVersions.id)).all()) {
    const list = versions.get(row.modelId) ?? []
    list.unshift(toVersion(row))
    versions.set(row.modelId, list)
  }
  const byModel = routes.load()
  const cards = new Map<string, KnownModel>()
  for (const row of drizzle.select().from(models).orderBy(asc(models.id)).all()) {
    const card = { ...row, route: byModel.get(row.id) ?? [], price: null }
    cards.set(row.id, { card, versions: versions.get(row.id) ?? [] })
  }
  return cards
}

const toVersion = (row: typeof priceVersions.$inferSelect): PriceVersion => ({
  id: row.id,
  effectiveFrom: row.effectiveFrom,
  prices: toPrices(row.prices),
})

/**
 * The version with the latest date that has come; of one date the one added last. Under a clock that is behind all that were
 * ever in force, the oldest of these.
 */
function inForce(versions: readonly PriceVersion[], at: Instant): PriceVersion | null {
  let found: PriceVersion | null = null
  for (const version of versions) {
    if (version.effectiveFrom > at) continue
    if (!found || version.effectiveFrom > found.effectiveFrom) found = version
  }
  return found ?? oldestInForce(versions)
}

/** Whether it was dated ahead when it was set. */
const wasAhead = ({ id, effectiveFrom }: PriceVersion): boolean =>
  effectiveFrom > priceVersionSetAt(id)

/** One that was dated ahead waits for its date. */
function oldestInForce(versions: readonly PriceVersion[]): PriceVersion | null {
  let oldest: PriceVersion | null = null
  for (const version of versions) {
    if (wasAhead(version)) continue
    if (!oldest || version.effectiveFrom < oldest.effectiveFrom) oldest = version
  }
  return oldest
}
