/** Theirs → ours: a whole answer as the same events that a stream would have brought. */
import type { ChatEvent } from '#domain/chat.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { isObject } from '../read-json.ts'
import type { Scrub } from '../scrub.ts'
import type { Translated } from '../whole-answer.ts'
import { type Chunks, startChunks } from './from-chunks.ts'
import { findError } from './from-error.ts'

/** Reads the JSON of a 200: one response, or the list of chunks that a stream without `alt=sse` is. */
export function fromResponse(body: unknown, scrub: Scrub): Translated {
  const chunks = startChunks()
  const events: ChatEvent[] = []
  const failure = noteAll(Array.isArray(body) ? body : [body], chunks, events, scrub)
  if (failure) chunks.emitUsage(events)
  else chunks.conclude(events)
  return { events, failure }
}

/** What is wrong with the answer, as far as it was noted; null when nothing is. */
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
