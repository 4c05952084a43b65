/** Answers of repeatable requests: read as they are sent, and sent again unchanged (contract §7). */
import {
  type Answers,
  type FoundAnswer,
  MAX_ANSWER_BYTES,
  MAX_PIECE_BYTES,
} from '#domain/idempotency.ts'
import type { Walk } from '#domain/walk/walk.ts'
import type { ApiDeps } from '../deps.ts'
import {
  EVENT_STREAM,
  joinBytes,
  type RequestContext,
  readQuota,
  respond,
  respondWithEvents,
  toBody,
  toStream,
} from '../request-context.ts'
import type { Rendered } from './surface.ts'

/** A piece in our memory, and a copy of it in the connection's. */
const TAKEN_BYTES = 2 * MAX_PIECE_BYTES

/**
 * The bytes of the first answer with the headers of this request. Takes no slot and is not charged.
 * @throws concurrency_limit_exceeded, gateway_overloaded
 */
export async function replay(
  deps: ApiDeps,
  context: RequestContext,
  found: FoundAnswer,
): Promise<Response> {
  const { generationId, contentType } = found
  await readQuota(deps, context)
  const entry = await deps.store.activity.find(generationId)
  const { model, provider = null, loweredBound = null } = entry ?? {}
  const head = model === undefined || provider === null ? null : { model, provider }
  context.generation = { generationId, loweredBound, head }
  const body = toReplayedBody(deps, context, found)
  const response =
    contentType === EVENT_STREAM
      ? respondWithEvents(context, body)
      : respond(context, contentType, body)
  response.headers.set('Idempotent-Replayed', 'true')
  return response
}

/** A long answer is read from the store as its reader takes it. */
function toReplayedBody(
  { store }: ApiDeps,
  { taken, request }: RequestContext,
  found: FoundAnswer,
) {
  if (found.first.byteLength === found.bytes) return toBody(found.first, taken)
  taken?.release()
  taken?.take(TAKEN_BYTES)
  return toStream(readPieces(store.answers, found, request.signal), 1, taken)
}

/** Ends early where the client has disconnected; an answer that was removed meanwhile breaks the connection off. */
async function* readPieces(
  answers: Pick<Answers, 'piece'>,
  { id, bytes, first }: FoundAnswer,
  client: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  yield first
  for (let place = 1, sent = first.byteLength; sent < bytes && !client.aborted; place++) {
    const piece = await answers.piece(id, place)
    if (piece === undefined) throw new Error('a stored answer was removed while it was sent')
    yield piece
    sent += piece.byteLength
  }
}

/** The text of a repeatable stream so far. */
export class Transcript {
  private readonly context: RequestContext
  private pieces: string[] = []
  private chars = 0

  constructor(context: RequestContext) {
    this.context = context
  }

  note(text: string): void {
    this.chars += text.length
    if (this.chars <= MAX_ANSWER_BYTES) {
      this.pieces.push(text)
      this.context.taken?.add(text.length)
    } else this.pieces = []
  }

  /** All of it with its ending; null if it is too long to store. */
  whole(ending: string): Walk['answer'] {
    if (this.chars > MAX_ANSWER_BYTES) return null
    return toAnswer(EVENT_STREAM, [this.pieces.join('') + ending])
  }
}

export const toAnswer = (contentType: string, pieces: Rendered): Walk['answer'] => ({
  contentType,
  body: joinBytes(pieces),
})
