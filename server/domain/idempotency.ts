/** Stored answers for idempotent retries: the same key with the same body gets the answer that was charged once (contract §7). */
import { DAY_MS, type Instant } from './clock.ts'
import type { GenerationId, KeyId } from './id.ts'

/** How long an answer is kept. */
export const KEPT_MS = DAY_MS
/** A larger answer is not stored. */
export const MAX_ANSWER_BYTES = 32 * 1024 * 1024
/** The limit for all stored answers; the oldest are evicted. */
export const MAX_KEPT_BYTES = 256 * 1024 * 1024
/** The longest piece of a stored answer: short enough to write and read without delaying other requests. */
export const MAX_PIECE_BYTES = 256 * 1024

/** A request that its client may repeat. */
export interface Repeatable {
  readonly keyId: KeyId
  /** The client's `Idempotency-Key`; its scope is the API key. */
  readonly idempotencyKey: string
  /** SHA-256 in hexadecimal; a repetition must have the same body. */
  readonly bodySha256: string
}

export interface KeptAnswer extends Repeatable {
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

/** Commits the charge of an answer; idempotent. False if there was nothing to resolve. */
export type Pay = () => Promise<boolean>

/** Port: stored answers. */
export interface Answers {
  /** The answer stored under this key in the 24 hours before `at`, whatever its request's body. */
  find(keyId: KeyId, idempotencyKey: string, at: Instant): Promise<FoundAnswer | undefined>
  /**
   * The piece of an answer at `place`, from 0; undefined behind its last, and where the answer was removed since it was found.
   * An answer is read as its reader takes it, so that many slow readers of a long one take little memory.
   */
  piece(id: number, place: number): Promise<Uint8Array<ArrayBuffer> | undefined>
  /**
   * Stores an answer, replacing any earlier one, and removes expired answers and the oldest beyond the bounds.
   * Resolves once committed; false if it is too large, or the disk is too full to store it.
   *
   * `pay` is called once the answer is written; it can be found once `pay` resolves to true. If the process dies in between,
   * the next process serves it if its charge is in the ledger, so a charged answer is never lost. Without `pay` it counts
   * as paid.
   */
  keep(answer: KeptAnswer, pay?: Pay): Promise<boolean>
  /**
   * Removes answers that have expired at `at`, at most `limit` pieces. Returns how many; fewer only when none is left, or
   * while the disk accepts no writes. A large answer has many pieces, so that one deletion stays short.
   */
  trim(at: Instant, limit: number): Promise<number>
}
