/** Reads the headers that change what a request means, on every surface. */
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import { holdsSecret } from '#domain/secret.ts'
import { rejectWholeKey } from '../bearer.ts'

const IDEMPOTENCY_KEY = 'Idempotency-Key'
const DRY_RUN = 'X-Gateway-Dry-Run'

export const PRINTABLE = /^[ -~]{1,255}$/

/** By which the client may repeat the request; null without the header. @throws invalid_request */
export function readIdempotencyKey(headers: Headers): string | null {
  const stated = headers.get(IDEMPOTENCY_KEY)
  if (stated === null) return null
  if (!PRINTABLE.test(stated)) throw refused(IDEMPOTENCY_KEY, '1 to 255 printable ASCII characters')
  rejectWholeKey(stated, IDEMPOTENCY_KEY)
  return stated
}

/**
 * Whether only the verdict is wanted, and no answer. A value but these two is rejected, so that a misspelt one does not cost
 * money. @throws invalid_request
 */
export function readDryRun(headers: Headers): boolean {
  const word = headers.get(DRY_RUN)?.trim().toLowerCase() ?? 'false'
  if (word !== 'true' && word !== 'false') throw refused(DRY_RUN, 'true or false')
  return word === 'true'
}

const refused = (param: string, wanted: string): GatewayError =>
  new GatewayError('invalid_request', `${param}: send ${wanted}`, { param })

/** The session that a client names: a conversation, or a run of an agent. It keeps the requests of one together, and nothing else. */
export const readSession = (fields: JsonObject, headers: Headers): string | undefined =>
  toSession(fields['prompt_cache_key']) ??
  toSession(headers.get('x-claude-code-session-id')) ??
  toSession(headers.get('session-id'))

/** What is not 1 to 255 printable ASCII characters, or may be a secret, is not kept, and refuses nothing. */
const toSession = (named: unknown): string | undefined =>
  typeof named === 'string' && PRINTABLE.test(named) && !holdsSecret(named) ? named : undefined
