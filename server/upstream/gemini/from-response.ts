/** Theirs → ours: a whole answer as the events that a stream would have sent. */
import type { ChatEvent } from '#domain/chat.ts'
import { isObject } from '#domain/json.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import type { Scrub } from '../scrub.ts'
import type { Translated } from '../whole-answer.ts'
import { type Chunks, startChunks } from './from-chunks.ts'
import { findError } from './from-error.ts'

/** Translates the body of a 200: one response, or the list of chunks of a stream without `alt=sse`. */
export function fromResponse(body: unknown, scrub: Scrub): Translated {
  const chunks = startChunks()
  const events: ChatEvent[] = []
  const failure = noteAll(Array.isArray(body) ? body : [body], chunks, events, scrub)
  if (failure) chunks.emitUsage(events)
  else chunks.conclude(events)
  return { events, failure }
}

/** Stops at the first failure; null when there is none. */
function noteAll(
  list: readonly unknown[],
  chunks: Chunks,
  into: ChatEvent[],
  scrub: Scrub,
): UpstreamFailure | null {
  for (const chunk of list) {
    if (!isObject(chunk)) return broken('its answer is not a JSON object')
    chunks.note(chunk, into)
    const failure = findError(chunk, scrub)
    if (failure) return failure
  }
  return chunks.begun ? null : broken('its answer holds no candidate')
}

const broken = (message: string): UpstreamFailure => new UpstreamFailure('failed', message)
