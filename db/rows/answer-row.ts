/** A kept answer as its row and as a repetition finds it. */
import type { Instant } from '#domain/clock.ts'
import type { GenerationId, KeyId } from '#domain/id.ts'
import type { Conflict, Repeat, Repetition } from '#domain/idempotency.ts'

export interface AnswerRow {
  readonly id: number
  readonly body_sha256: string
  readonly generation_id: GenerationId
  readonly content_type: string
  readonly bytes: number
  readonly created_at: Instant
}

export const OTHER_BODY: Conflict = { is: 'other_body' }

/** `first` is its first piece. */
export function toRepetition(
  { id, generation_id: generationId, content_type: contentType, bytes, ...row }: AnswerRow,
  keyId: KeyId,
  repeat: Repeat,
  first: Uint8Array<ArrayBuffer>,
): Repetition {
  if (row.body_sha256 !== repeat.digest) return OTHER_BODY
  const answer = { id, keyId, repeat, generationId, contentType, bytes, first }
  return { is: 'kept', answer: { ...answer, keptAt: row.created_at } }
}
