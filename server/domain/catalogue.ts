/** The catalogue: what a request may be offered, and at what price, as one value that is replaced and never changed. */
import type { Act, Amended } from './act.ts'
import { GatewayError } from './errors.ts'
import type { ModelCard } from './model-card.ts'
import type {
  BoundWord,
  NewProvider,
  Provider,
  ProviderAmendment,
  StatedCredential,
} from './provider.ts'
import type { Rate } from './rate.ts'
import type { Route } from './route.ts'

export interface Catalogue {
  /** Rises with every change, of whatever in it. */
  readonly version: number
  /** By id, in the order of ids. */
  readonly models: ReadonlyMap<string, ModelCard>
  /** The id of the model that each names, by name, in the order of names. No alias is the id of a model. */
  readonly aliases: ReadonlyMap<string, string>
  /** By pattern, in the order of patterns; each has hops. What they give a model is on its card. */
  readonly routes: ReadonlyMap<string, Route>
  /** By name, in the order of names. */
  readonly providers: ReadonlyMap<string, Provider>
  /** Newest first; empty until an operator sets one. */
  readonly rates: readonly Rate[]
}

/**
 * The answer to what was made by another version, or another clock, than that in force: nothing is taken or changed, and it is
 * to be made anew.
 */
export type Stale = 'stale'

/** How often it is made anew. */
const MOST_ROUNDS = 8

/** Asks until what it asks with is of the catalogue in force. @throws store_unavailable where that changes every time */
export async function untilCurrent<Answer>(ask: () => Promise<Answer | Stale>): Promise<Answer> {
  for (let round = 1; round <= MOST_ROUNDS; round++) {
    const answer = await ask()
    if (answer !== 'stale') return answer
  }
  throw new GatewayError(
    'store_unavailable',
    'the catalogue or the clock is changed faster than anything can be judged by it: try again',
    { retryAfterSeconds: 1 },
  )
}

/** Port: the catalogue in force. */
export interface Catalogues {
  /** Held in memory, and replaced before the change of anything in it is acknowledged. */
  current(): Catalogue
}

/** Port: changes of providers, and their credentials, which are encrypted at rest and read only by `server/upstream`. */
export interface Providers {
  /** With its first models; every credential has its secret. @throws already_exists */
  add(
    provider: NewProvider,
    credentials: readonly StatedCredential[],
    cards: readonly ModelCard[],
    act: Act,
  ): Promise<void>
  /**
   * Amends the provider as it is by then (`amendProvider`), from the next request. Of another type, its models no longer have
   * the catalogue's bounds. The act gains what changed, from what to what. Stale, and unchanged, where it has another revision
   * than one that is expected. @throws provider_not_found, invalid_request
   */
  edit(
    name: string,
    amendment: ProviderAmendment,
    act: Act,
    expected?: number,
  ): Promise<Amended<Provider> | Stale>
  /** Remembers the word of its bound, at no operator's word, unless the provider has changed or is gone, or a word is known. */
  learnBound(provider: Provider, word: BoundWord): Promise<void>
  /**
   * Removes its models too; past charges stay. Stale, and nothing is removed, in another version of the catalogue than one that is
   * expected. @throws provider_not_found
   */
  remove(name: string, act: Act, expected?: number): Promise<Stale | undefined>
  /**
   * The secret of a credential, by its name where the provider has several; null if it needs none.
   * @throws internal_error if it cannot be decrypted with this master key
   */
  credential(provider: string, name?: string | null): Promise<string | null>
}
