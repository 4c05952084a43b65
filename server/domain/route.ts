/** A route: the hops that may serve a model, and the order they are tried in; a hop is one provider that serves it. */
import type { ModelCard, RouteHop } from './model-card.ts'
import type { Provider } from './provider.ts'

/** A hop as a request uses it. */
export interface Hop {
  /** The model's card with this hop's `upstreamName`. */
  readonly card: ModelCard
  readonly provider: Provider
}

export const toHop = (card: ModelCard, { upstreamName }: RouteHop, provider: Provider): Hop => ({
  card: card.upstreamName === upstreamName ? card : { ...card, upstreamName },
  provider,
})

/** The operator's route, or the model's own provider alone where none was set; never empty. */
export const routeOf = ({ route, provider, upstreamName }: ModelCard): readonly RouteHop[] =>
  route.length > 0 ? route : [{ provider, upstreamName, position: 1, weight: 1 }]

/**
 * The order for one request: by position, and within a position random by weight. A hop of weight 3 comes first three times
 * as often as one of weight 1. `draw` returns at least 0 and less than 1, like Math.random.
 */
export function drawOrder(route: readonly RouteHop[], draw: () => number): readonly RouteHop[] {
  if (route.length < 2) return route
  const positions = [...new Set(route.map(({ position }) => position))].toSorted((a, b) => a - b)
  return positions.flatMap((position) =>
    drawByWeight(
      route.filter((hop) => hop.position === position),
      draw,
    ),
  )
}

function drawByWeight(hops: readonly RouteHop[], draw: () => number): readonly RouteHop[] {
  const left = [...hops]
  const drawn: RouteHop[] = []
  while (left.length > 1) {
    const total = left.reduce((sum, { weight }) => sum + weight, 0)
    let ticket = draw() * total
    const at = left.findIndex(({ weight }) => {
      ticket -= weight
      return ticket < 0
    })
    // Rounding may bring the ticket up to the total; then take the last.
    drawn.push(...left.splice(at < 0 ? left.length - 1 : at, 1))
  }
  return [...drawn, ...left]
}
