/** The session that a client names: a conversation, or a run of an agent. It keeps the requests of one together, and nothing else. */
import { holdsSecret } from '#domain/secret.ts'
import { PRINTABLE } from './request-headers.ts'

/** Of a header or a field. What is not 1 to 255 printable ASCII characters, or may be a secret, is not kept, and refuses nothing. */
export const readSession = (named: unknown): string | undefined =>
  typeof named === 'string' && PRINTABLE.test(named) && !holdsSecret(named) ? named : undefined
