/** Answers kept for whoever asks twice: the same key with the same body gets what was paid for once (contract §7). */
import { DAY_MS, type Instant } from './clock.ts'
import type { GenerationId, KeyId } from './id.ts'

/** How long an answer is kept. */
export const KEPT_MS = DAY_MS
/** A longer answer is not kept. */
export const MOST_ANSWER_BYTES = 32 * 1024 * 1024
/** All that are kept together; the oldest make room. */
export const MOST_KEPT_BYTES = 256 * 1024 * 1024

/** A request that its client may repeat. */
export interface Repeatable {
  readonly keyId: KeyId
  /** The client's own name for it, of no meaning to anybody else's key. */
  readonly idempotencyKey: string
  /** SHA-256 in hexadecimal: a repetition asks for the very same. */
  readonly bodySha256: string
}

export interface KeptAnswer extends Repeatable {
  readonly generationId: GenerationId
  readonly contentType: string
  readonly body: Uint8Array<ArrayBuffer>
  readonly keptAt: Instant
}

/** Commits the charge of an answer, once however often it is called; false when there was nothing to resolve. */
export type Pay = () => Promise<boolean>

/** Port: the answers that are kept. */
export interface Answers {
  /** The answer kept under this name in the day before `at`, whatever body it answered. */
  find(keyId: KeyId, idempotencyKey: string, at: Instant): Promise<KeptAnswer | undefined>
  /**
   * Keeps an answer in the place of any before it, and drops those whose day is over and the oldest beyond the bounds.
   * Resolves once it is committed; false when it is too long, or the disk has no room for what is not needed.
   *
   * `pay` is called once all of it is written, and it is found once that resolves to true. Where the process dies in between,
   * the next one finds it if its charge is in the ledger: paid for and lost it never is. Without `pay` it is paid for.
   */
  keep(answer: KeptAnswer, pay?: Pay): Promise<boolean>
  /**
   * Removes answers whose day is over at `at`, at most `limit` pieces of them; answers how many went, fewer only when none is
   * left, or while the disk takes no writes. A long answer has many pieces, because it must not go all at once.
   */
  trim(at: Instant, limit: number): Promise<number>
}
