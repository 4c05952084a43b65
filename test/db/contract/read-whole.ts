/** A found answer with its whole body, as a reader of all of its pieces gets it. */
import type { Answers, FoundAnswer, KeptAnswer } from '#domain/idempotency.ts'

/** Undefined for none, and for one that was removed while it was read. */
export async function readWhole(
  answers: Pick<Answers, 'piece'>,
  found: FoundAnswer | undefined,
): Promise<KeptAnswer | undefined> {
  if (found === undefined) return undefined
  const { id, bytes, first, ...facts } = found
  const pieces = [first]
  for (let length = first.byteLength; length < bytes; ) {
    const piece = await answers.piece(id, pieces.length)
    if (piece === undefined) return undefined
    pieces.push(piece)
    length += piece.byteLength
  }
  return { ...facts, body: new Uint8Array(Buffer.concat(pieces)) }
}
