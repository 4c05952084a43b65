/** A route: the hops that serve a model, or all models that a mask matches, and in which order one request asks them. */
import { CONTROL } from './plain-text.ts'

/** A hop as the operator sets it. In the route of a mask, OWN stands for what each model has itself. */
export interface RouteHop {
  /** OWN: the model's own provider. */
  readonly provider: string
  /** The provider's name for the model. In the route of a mask, OWN within it stands for the model's own upstream name. */
  readonly upstreamName: string
  /** Hops of a lower position are tried first; at least 1. */
  readonly position: number
  /** Its share of the requests among hops of one position; at least 1. */
  readonly weight: number
}

/** What a mask's hop takes from each model. */
export const OWN = '*'

/** How hops of one position follow each other: drawn by weight, or the fastest first. */
export const ROUTE_ORDERS = ['weight', 'latency'] as const

export type RouteOrder = (typeof ROUTE_ORDERS)[number]

export interface Route {
  /** The id of a model, or a mask. */
  readonly pattern: string
  readonly order: RouteOrder
  readonly hops: readonly RouteHop[]
}

const MASK = new RegExp(`^[^\\s*${CONTROL}]{0,255}\\*$`)

/** Whether a pattern is a mask: the beginning of models' ids, and `*`. */
export const isMask = (pattern: string): boolean => MASK.test(pattern)

/** Whether a mask matches the model of this id. */
const matches = (mask: string, id: string): boolean => id.startsWith(mask.slice(0, -1))

/** A model as a route needs it. */
interface Routed {
  readonly id: string
  readonly provider: string
  readonly upstreamName: string
}

/** Finds the route of a model: its own, else that of the mask with the longest beginning; undefined: its own provider alone. */
export function prepareFindRoute(routes: Iterable<Route>): (id: string) => Route | undefined {
  const byId = new Map<string, Route>()
  const masks: Route[] = []
  for (const route of routes) {
    if (isMask(route.pattern)) masks.push(route)
    else byId.set(route.pattern, route)
  }
  masks.sort((a, b) => b.pattern.length - a.pattern.length)
  return (id) => byId.get(id) ?? masks.find(({ pattern }) => matches(pattern, id))
}

/** The hops that a route gives a model. A provider serves it once: as its own where it is that, else by its first hop. */
export function hopsFor({ pattern, hops }: Route, model: Routed): readonly RouteHop[] {
  if (!isMask(pattern)) return hops
  const taken = new Map<string, RouteHop>()
  const own = hops.filter(({ provider }) => provider === OWN)
  for (const hop of [...own, ...hops]) {
    const provider = hop.provider === OWN ? model.provider : hop.provider
    const upstreamName = hop.upstreamName.replaceAll(OWN, () => model.upstreamName)
    if (!taken.has(provider)) taken.set(provider, { ...hop, provider, upstreamName })
  }
  return [...taken.values()].toSorted((a, b) => a.position - b.position)
}

/**
 * The order for one request: by position, and within a position random by weight. A hop of weight 3 comes first three times
 * as often as one of weight 1. `draw` returns at least 0 and less than 1, like Math.random. The hop
 * of the provider `preferred` comes first within its position; `arrange` may put those of a position in another order before that.
 */
export function drawOrder(
  route: readonly RouteHop[],
  draw: () => number,
  preferred?: string,
  arrange: (drawn: readonly RouteHop[]) => readonly RouteHop[] = (drawn) => drawn,
): readonly RouteHop[] {
  if (route.length < 2) return route
  const positions = [...new Set(route.map(({ position }) => position))].toSorted((a, b) => a - b)
  const drawn = positions.flatMap((position) => {
    const beside = route.filter((hop) => hop.position === position)
    return arrange(drawByWeight(beside, draw))
  })
  return preferred === undefined ? drawn : preferFirst(drawn, preferred)
}

const preferFirst = (drawn: readonly RouteHop[], preferred: string): readonly RouteHop[] =>
  drawn.toSorted(
    (a, b) =>
      a.position - b.position ||
      Number(b.provider === preferred) - Number(a.provider === preferred),
  )

/** Each once; one of weight 3 is three times as often before one of weight 1 as behind it. */
export function drawByWeight<One extends { readonly weight: number }>(
  all: readonly One[],
  draw: () => number,
): readonly One[] {
  const left = [...all]
  const drawn: One[] = []
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
