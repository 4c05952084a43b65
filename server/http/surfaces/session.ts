/** The session that a client names: a conversation, or a run of an agent. It keeps the requests of one together, and nothing else. */
import type { JsonObject } from '#domain/chat.ts'
import { holdsSecret } from '#domain/secret.ts'
import { PRINTABLE } from './request-headers.ts'

/** As OpenAI's API, Claude Code and Codex name it, on every surface. */
export const readSession = (fields: JsonObject, headers: Headers): string | undefined =>
  toSession(fields['prompt_cache_key']) ??
  toSession(headers.get('x-claude-code-session-id')) ??
  toSession(headers.get('session-id'))

/** What is not 1 to 255 printable ASCII characters, or may be a secret, is not kept, and refuses nothing. */
const toSession = (named: unknown): string | undefined =>
  typeof named === 'string' && PRINTABLE.test(named) && !holdsSecret(named) ? named : undefined
