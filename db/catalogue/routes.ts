/** Changes of routes: those of models, which go with them, and those of masks. */
import { isMask, OWN, type Route } from '#domain/route.ts'
import { modelNotFound, providerNotFound } from '../rows/catalogue-rows.ts'
import { get, run, type Statements } from '../statements.ts'
import type { Changing } from './held.ts'

/** Replaces the route of its pattern; one without hops takes it away. @throws model_not_found, provider_not_found */
export function* writeRoute(
  { before: { providers } }: Changing,
  { pattern, order, hops }: Route,
): Statements<void> {
  yield* run('DELETE FROM routes WHERE pattern = $pattern', { pattern })
  if (hops.length === 0) return
  const isOfMask = isMask(pattern)
  // Its model may have been added in this change.
  if (
    !isOfMask &&
    (yield* get('SELECT id FROM models WHERE id = $pattern', { pattern })) === null
  ) {
    throw modelNotFound(pattern)
  }
  yield* run('INSERT INTO routes (pattern, model_id, ordering) VALUES ($pattern, $model, $order)', {
    pattern,
    model: isOfMask ? null : pattern,
    order,
  })
  for (const { provider, upstreamName, position, weight } of hops) {
    const isOwn = isOfMask && provider === OWN
    if (!isOwn && !providers.has(provider)) throw providerNotFound(provider)
    yield* run(
      `INSERT INTO hops (pattern, provider, upstream_name, position, weight)
       VALUES ($pattern, $provider, $upstreamName, $position, $weight)`,
      { pattern, provider: isOwn ? null : provider, upstreamName, position, weight },
    )
  }
}

/** Takes those away that have lost their last hop. */
export const dropEmptyRoutes = (): Statements<number> =>
  run('DELETE FROM routes WHERE pattern NOT IN (SELECT pattern FROM hops)')
