/**
 * Idempotent retries: the same key with the same body gets the answer that was charged once (contract §7).
 * `Admissions.admit` claims the name.
 */
import { DAY_MS, type Instant } from './clock.ts'
import { GatewayError } from './errors.ts'
import type { GenerationId, KeyId } from './id.ts'

/** How long an answer is kept. */
export const KEPT_MS = DAY_MS
/** A larger answer is not stored. */
export const MAX_ANSWER_BYTES = 32 * 1024 * 1024
/** The limit for all stored answers; the oldest are evicted. */
export const MAX_KEPT_BYTES = 256 * 1024 * 1024
/** The longest piece of a stored answer: short enough to write and read without delaying other requests. */
export const MAX_PIECE_BYTES = 256 * 1024

/** By what a request is known that its client may repeat. */
export interface Repeat {
  /** The client's `Idempotency-Key`; its scope is the API key. */
  readonly key: string
  /** Of the body, SHA-256 in hexadecimal; a repetition must have the same. */
  readonly digest: string
}

export interface KeptAnswer {
  readonly keyId: KeyId
  readonly repeat: Repeat
  readonly generationId: GenerationId
  readonly contentType: string
  readonly body: Uint8Array<ArrayBuffer>
  readonly keptAt: Instant
}

/** An answer that was found, with its first piece; `Answers.piece` reads the others. */
export interface FoundAnswer extends Omit<KeptAnswer, 'body'> {
  /** Never used again for another answer. */
  readonly id: number
  /** The size of the whole body. */
  readonly bytes: number
  readonly first: Uint8Array<ArrayBuffer>
}

/** An answer that is written, and that nobody finds before its admission is settled with it. */
export type StagedAnswer = Pick<FoundAnswer, 'id'>

/** What became of the request that another repeats: its answer is kept, or it runs, or it had another body. */
export type Repetition = { readonly is: 'kept'; readonly answer: FoundAnswer } | Conflict
export interface Conflict {
  readonly is: 'running' | 'other_body'
}

/** Port: stored answers. */
export interface Answers {
  /** What a request repeats that names this key: an answer of the 24 hours before `at`, or a request in progress. */
  find(keyId: KeyId, repeat: Repeat, at: Instant): Promise<Repetition | null>
  /**
   * The piece of an answer at `place`, from 0; undefined behind its last, and where the answer was removed since it was found.
   * An answer is read as its reader takes it, so that many slow readers of a long one take little memory.
   */
  piece(id: number, place: number): Promise<Uint8Array<ArrayBuffer> | undefined>
  /**
   * Writes the answer of a request in progress, piece by piece, and removes the oldest beyond the bounds. `settle` shows it, in the
   * transaction of its charge. Null if it is too large, or the disk is too full to store it.
   */
  stage(answer: KeptAnswer): Promise<StagedAnswer | null>
  /**
   * Removes answers that have expired at `at`, and staged ones whose admission was resolved without them, at most `limit` pieces.
   * Returns how many; fewer only when none is left, or while the disk accepts no writes. A large answer has many pieces, so that
   * one deletion stays short.
   */
  trim(at: Instant, limit: number): Promise<number>
}

const HEADER = 'Idempotency-Key'

/** Why a repetition gets no answer yet, or never. */
export const toConflictError = ({ is }: Conflict): GatewayError =>
  is === 'running'
    ? new GatewayError(
        'idempotency_conflict',
        `the first request with this ${HEADER} is still running; ask again with the same key for its answer`,
        { param: HEADER },
      )
    : new GatewayError(
        'idempotency_conflict',
        `this ${HEADER} was first used with another body; take a new key for a new request`,
        { param: HEADER, permanent: true },
      )
