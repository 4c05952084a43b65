/** Who last served each session of a model: its next request finds the prompt cache and the reasoning there. */

import type { Hop } from '../hop.ts'
import type { KeyId } from '../id.ts'

/** A session as a client names it, of one key at one model. */
export interface Session {
  readonly keyId: KeyId
  readonly model: string
  readonly name: string
}

export interface SessionRoutes {
  /** As `placeOf` names it; undefined where none is remembered. */
  lastOf(session: Session): string | undefined
  served(session: Session, place: string): void
}

/** The provider, and the credential where it has several: another one may be of another organization, which has another cache. */
export const placeOf = ({ provider, credential }: Pick<Hop, 'provider' | 'credential'>): string =>
  credential === null ? provider.name : `${provider.name} ${credential}`

/** Where the session has a choice. */
export const hasPlaces = ({ card, credential }: Hop): boolean =>
  card.route.length > 1 || credential !== null

/** The one that was longest without a request is forgotten first: it goes where any request goes. */
export const MAX_SESSIONS = 10_000

/** Kept in memory; after a restart no session is known. */
export function createSessionRoutes(): SessionRoutes {
  const places = new Map<string, string>()
  return {
    lastOf: (session) => places.get(nameOf(session)),
    served(session, place) {
      const name = nameOf(session)
      places.delete(name)
      places.set(name, place)
      if (places.size <= MAX_SESSIONS) return
      const [oldest] = places.keys()
      if (oldest !== undefined) places.delete(oldest)
    },
  }
}

/** Neither an id of a key nor that of a model has a space. */
const nameOf = ({ keyId, model, name }: Session): string => `${keyId} ${model} ${name}`
