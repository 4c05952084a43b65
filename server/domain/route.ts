/** A route: the hops that may serve a model, in the order they are tried. */
import type { ModelCard } from './model-card.ts'
import type { Provider } from './provider.ts'

/** One provider that serves one model. */
export interface Hop {
  readonly card: ModelCard
  readonly provider: Provider
}

export type Route = readonly Hop[]
