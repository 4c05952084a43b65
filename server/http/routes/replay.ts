/** Answers of repeatable requests: stored when they are sent, and sent again unchanged (contract §7). */
import {
  type Answers,
  type FoundAnswer,
  MAX_ANSWER_BYTES,
  MAX_PIECE_BYTES,
  type Pay,
} from '#domain/idempotency.ts'
import type { ApiDeps } from '../deps.ts'
import type { FirstRun } from '../first-runs.ts'
import {
  EVENT_STREAM,
  eventStreamHeaders,
  headersFor,
  type RequestContext,
  readQuota,
} from '../request-context.ts'
import { toBody, toStream } from '../wire/long-body.ts'

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
  context.generationId = generationId
  await readQuota(deps, context)
  context.loweredBound = (await deps.store.activity.find(generationId))?.loweredBound ?? null
  const headers =
    contentType === EVENT_STREAM ? eventStreamHeaders(context) : headersFor(context, contentType)
  headers['Idempotent-Replayed'] = 'true'
  return new Response(toReplayedBody(deps, context, found), { headers })
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

/** Stores an answer before it is sent, and commits its charge. */
export async function keepAnswer(
  { clock }: ApiDeps,
  { generationId }: RequestContext,
  run: FirstRun,
  contentType: string,
  text: string,
  pay: Pay,
): Promise<void> {
  if (generationId === null) return
  const body = new TextEncoder().encode(text)
  await run.keep({ generationId, contentType, body, keptAt: clock.now() }, pay)
}

/** The text of a stream so far. */
export interface Transcript {
  note(text: string): void
  /** Stores all of the text with its ending and commits the charge, unless it is too long to store. */
  keep(ending: string, pay: Pay): Promise<void>
}

export function startTranscript(deps: ApiDeps, context: RequestContext, run: FirstRun): Transcript {
  let pieces: string[] = []
  let chars = 0
  return {
    note(text) {
      chars += text.length
      if (chars <= MAX_ANSWER_BYTES) {
        pieces.push(text)
        context.taken?.add(text.length)
      } else pieces = []
    },
    async keep(ending, pay) {
      if (chars > MAX_ANSWER_BYTES) return
      await keepAnswer(deps, context, run, EVENT_STREAM, pieces.join('') + ending, pay)
    },
  }
}
