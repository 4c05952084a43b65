/** Theirs → ours: a whole answer as the same events that a stream would have brought. */
import type { ChatEvent, ChatEvents } from '#domain/chat.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { isObject } from '../read-json.ts'
import type { Scrub } from '../scrub.ts'
import { startChunks } from './from-chunks.ts'
import { findError } from './from-error.ts'

export interface Translated {
  readonly events: ChatEvents
  /** What the answer turned out to be after all; its events, a count perhaps, still hold. */
  readonly failure: UpstreamFailure | null
}

/** Reads the JSON of a 200: one response, or the list of chunks that a stream without `alt=sse` is. */
export function fromResponse(body: unknown, scrub: Scrub): Translated {
  const list: readonly unknown[] = Array.isArray(body) ? body : [body]
  const chunks = startChunks()
  const events: ChatEvent[] = []
  for (const chunk of list) {
    if (!isObject(chunk)) return broken(events, 'its answer is not a JSON object')
    chunks.note(chunk, events)
    const failure = findError(chunk, scrub)
    if (failure) return { events, failure }
  }
  if (!chunks.begun) return broken(events, 'its answer holds no candidate')
  chunks.conclude(events)
  return { events, failure: null }
}

const broken = (events: ChatEvents, message: string): Translated => ({
  events,
  failure: new UpstreamFailure('failed', message),
})
