/** What the catalogue still asks: of a hop that left its route, or a credential that was removed, nothing new is ever heard. */
import type { Catalogue, Catalogues } from '../catalogue.ts'
import { routeOf } from '../model-card.ts'
import type { RouteHop } from '../route.ts'
import type { HopHealth } from './hop-health.ts'

export interface AskedHops {
  /** Whether any model is still asked for there. */
  hasHop(hop: Pick<RouteHop, 'provider' | 'upstreamName'>): boolean
  /** Whether it is one of several of a provider that serves any model. */
  hasCredential(provider: string, name: string): boolean
}

/** A catalogue never changes. */
const known = new WeakMap<Catalogue, AskedHops>()

export function readAskedHops(catalogue: Catalogue): AskedHops {
  const asked = known.get(catalogue) ?? findAskedHops(catalogue)
  known.set(catalogue, asked)
  return asked
}

function findAskedHops({ models, providers }: Catalogue): AskedHops {
  const asked = new Map<string, Set<string>>()
  for (const card of models.values()) {
    for (const { provider, upstreamName } of routeOf(card)) {
      if (!providers.has(provider)) continue
      const names = asked.get(provider) ?? new Set()
      asked.set(provider, names.add(upstreamName))
    }
  }
  return {
    hasHop: ({ provider, upstreamName }) => asked.get(provider)?.has(upstreamName) === true,
    hasCredential(provider, name) {
      const credentials = (asked.has(provider) && providers.get(provider)?.credentials) || []
      return credentials.length > 1 && credentials.some((one) => one.name === name)
    },
  }
}

/** The readings of what is still asked. */
export const askedReadings = (
  health: HopHealth,
  catalogue: Catalogues,
): Pick<HopHealth, 'readings' | 'credentials'> => ({
  readings: () => stillAsked(catalogue, health.readings(), (asked, hop) => asked.hasHop(hop)),
  credentials: () =>
    stillAsked(catalogue, health.credentials(), (asked, { provider, credential }) =>
      asked.hasCredential(provider, credential),
    ),
})

/** Nothing is read while nothing fails. */
function stillAsked<Reading>(
  catalogue: Catalogues,
  readings: readonly Reading[],
  isAsked: (asked: AskedHops, reading: Reading) => boolean,
): readonly Reading[] {
  if (readings.length === 0) return readings
  const asked = readAskedHops(catalogue.current())
  return readings.filter((reading) => isAsked(asked, reading))
}
