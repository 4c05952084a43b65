/** Changes of routes in SQLite: those of models, which go with them, and those of masks. */
import type { Database } from 'bun:sqlite'
import { isMask, OWN, type Route, type RouteOrder } from '#domain/route.ts'
import { modelNotFound, providerNotFound } from '../../rows/catalogue-rows.ts'
import { statement } from '../engine/statement.ts'
import type { HeldCatalogue } from './catalogue.ts'

/** The rows of routes, written in the transaction that is open. */
export interface RouteTable {
  /** Replaces the route of its pattern; one without hops takes it away. @throws model_not_found, provider_not_found */
  write(route: Route): void
  /** Takes those away that have lost their last hop. */
  dropEmpty(): void
}

export function openRouteTable(database: Database, catalogue: HeldCatalogue): RouteTable {
  const drop = statement<unknown, [string]>(database, 'DELETE FROM routes WHERE pattern = ?')
  const dropEmpty = statement(
    database,
    'DELETE FROM routes WHERE pattern NOT IN (SELECT pattern FROM hops)',
  )
  const model = statement<{ readonly id: string }, [string]>(
    database,
    'SELECT id FROM models WHERE id = ?',
  )
  const insert = statement<unknown, [string, string | null, RouteOrder]>(
    database,
    'INSERT INTO routes (pattern, model_id, ordering) VALUES (?, ?, ?)',
  )
  const insertHop = statement<unknown, [string, string | null, string, number, number]>(
    database,
    'INSERT INTO hops (pattern, provider, upstream_name, position, weight) VALUES (?, ?, ?, ?, ?)',
  )
  return {
    write({ pattern, order, hops }) {
      const isOfMask = isMask(pattern)
      if (!isOfMask && model().get(pattern) === null) throw modelNotFound(pattern)
      drop().run(pattern)
      if (hops.length === 0) return
      insert().run(pattern, isOfMask ? null : pattern, order)
      const { providers } = catalogue.current()
      for (const { provider, upstreamName, position, weight } of hops) {
        const isOwn = isOfMask && provider === OWN
        if (!isOwn && !providers.has(provider)) throw providerNotFound(provider)
        insertHop().run(pattern, isOwn ? null : provider, upstreamName, position, weight)
      }
    },
    dropEmpty: () => void dropEmpty().run(),
  }
}
