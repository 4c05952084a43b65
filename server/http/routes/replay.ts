/** Answers of repeatable requests: stored when they are sent, and sent again unchanged (contract §7). */
import { type KeptAnswer, MAX_ANSWER_BYTES, type Pay } from '#domain/idempotency.ts'
import type { ApiDeps } from '../deps.ts'
import type { FirstRun } from '../first-runs.ts'
import {
  EVENT_STREAM,
  eventStreamHeaders,
  headersFor,
  type RequestContext,
  readQuota,
} from '../request-context.ts'
import { toBody } from '../wire/long-body.ts'

/** The bytes of the first answer with the headers of this request. Takes no slot and is not charged. */
export async function replay(
  deps: ApiDeps,
  context: RequestContext,
  { generationId, contentType, body }: KeptAnswer,
): Promise<Response> {
  context.generationId = generationId
  await readQuota(deps, context)
  const headers =
    contentType === EVENT_STREAM ? eventStreamHeaders(context) : headersFor(context, contentType)
  headers['Idempotent-Replayed'] = 'true'
  return new Response(toBody(body), { headers })
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
      if (chars <= MAX_ANSWER_BYTES) pieces.push(text)
      else pieces = []
    },
    async keep(ending, pay) {
      if (chars > MAX_ANSWER_BYTES) return
      await keepAnswer(deps, context, run, EVENT_STREAM, pieces.join('') + ending, pay)
    },
  }
}
