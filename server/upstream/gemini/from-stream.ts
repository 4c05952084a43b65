/** Theirs → ours: the chunks of a stream. It has no end marker: it is complete when it ends and every candidate has finished. */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { isObject } from '#domain/json.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { parseText } from '../read-json.ts'
import type { Scrub } from '../scrub.ts'
import type { SseEvent } from '../sse.ts'
import type { Translation } from '../stream.ts'
import { startChunks } from './from-chunks.ts'
import { findError } from './from-error.ts'

export function startStream(scrub: Scrub): Translation {
  const chunks = startChunks()
  return {
    take(events, batch) {
      try {
        for (const event of events) {
          if (event.data === '') continue
          for (const chunk of readData(event)) {
            chunks.note(chunk, batch)
            const failure = findError(chunk, scrub)
            if (failure) throw failure
          }
        }
      } finally {
        chunks.emitUsage(batch)
      }
      return false
    },
    close(batch: ChatEvent[]) {
      if (!chunks.complete) {
        throw new UpstreamFailure('failed', 'its stream ended before the answer was complete')
      }
      chunks.conclude(batch)
    },
  }
}

/** An error may be a list of one. @throws UpstreamFailure when the data is not a chunk */
function readData({ data }: SseEvent): readonly JsonObject[] {
  const value = parseText(data)
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.every(isObject)) return list
  throw new UpstreamFailure('failed', 'it sent a chunk that is not a JSON object')
}
