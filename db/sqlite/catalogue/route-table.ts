/** Which providers serve a model, as rows; in the order they are tried, as far as that is settled. */
import type { Database } from 'bun:sqlite'
import { asc, eq } from 'drizzle-orm'
import { drizzle as openDrizzle } from 'drizzle-orm/bun-sqlite'
import type { RouteHop } from '#domain/model-card.ts'
import { hops, providers } from '../schema.ts'
import { providerNotFound } from './providers.ts'

export function openRoutes(database: Database) {
  const drizzle = openDrizzle({ client: database })

  const requireProvider = (name: string): void => {
    const found = drizzle.select().from(providers).where(eq(providers.name, name)).get()
    if (!found) throw providerNotFound(name)
  }

  return {
    /** By model. */
    load(): Map<string, RouteHop[]> {
      const routes = new Map<string, RouteHop[]>()
      const inOrder = drizzle.select().from(hops).orderBy(asc(hops.position), asc(hops.provider))
      for (const { modelId, ...hop } of inOrder.all()) {
        routes.set(modelId, [...(routes.get(modelId) ?? []), hop])
      }
      return routes
    },
    /** Inside an act. @throws provider_not_found */
    replace(modelId: string, route: readonly RouteHop[]): void {
      drizzle.delete(hops).where(eq(hops.modelId, modelId)).run()
      for (const hop of route) {
        requireProvider(hop.provider)
        drizzle
          .insert(hops)
          .values({ ...hop, modelId })
          .run()
      }
    },
  }
}
