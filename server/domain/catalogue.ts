/** The catalogue: what a request may be offered, and at what price, as one value that is replaced and never changed. */
import type { ModelCard } from './model-card.ts'
import type { Provider } from './provider.ts'
import type { Rate } from './rate.ts'

export interface Catalogue {
  /** Rises with every change, of whatever in it. */
  readonly version: number
  /** By id, in the order of ids. */
  readonly models: ReadonlyMap<string, ModelCard>
  /** By name, in the order of names. */
  readonly providers: ReadonlyMap<string, Provider>
  /** Newest first; empty until an operator sets one. */
  readonly rates: readonly Rate[]
}

/** Port: the catalogue in force. */
export interface Catalogues {
  /** Held in memory, and replaced before the change of anything in it is acknowledged. */
  current(): Catalogue
}
