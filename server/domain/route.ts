/** A hop: one provider that serves one model; a route is the hops that may serve a request, in the order they are tried. */
import type { ModelCard } from './model-card.ts'
import type { Provider } from './provider.ts'

export interface Hop {
  readonly card: ModelCard
  readonly provider: Provider
}
