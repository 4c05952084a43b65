/** Which provider last served each session of a model: its next request finds the prompt cache and the reasoning there. */
import type { KeyId } from '../id.ts'

/** A session as a client names it, of one key at one model. */
export interface Session {
  readonly keyId: KeyId
  readonly model: string
  readonly name: string
}

export interface SessionRoutes {
  /** The name of the provider; undefined where none is remembered. */
  lastOf(session: Session): string | undefined
  served(session: Session, provider: string): void
}

/** The one that was longest without a request is forgotten first: it goes where any request goes. */
export const MAX_SESSIONS = 10_000

/** Kept in memory; after a restart no session is known. */
export function createSessionRoutes(): SessionRoutes {
  const providers = new Map<string, string>()
  return {
    lastOf: (session) => providers.get(nameOf(session)),
    served(session, provider) {
      const name = nameOf(session)
      providers.delete(name)
      providers.set(name, provider)
      if (providers.size <= MAX_SESSIONS) return
      const [oldest] = providers.keys()
      if (oldest !== undefined) providers.delete(oldest)
    },
  }
}

/** Neither an id of a key nor that of a model has a space. */
const nameOf = ({ keyId, model, name }: Session): string => `${keyId} ${model} ${name}`
