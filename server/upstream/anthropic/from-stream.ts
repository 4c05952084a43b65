/** Theirs → ours: the events of a stream. Its first word counts the prompt, its last one everything. */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { promptTokens, type Usage } from '#domain/usage.ts'
import { parseText } from '../parse-json.ts'
import { isObject, readObject, readText } from '../read-json.ts'
import type { Scrub } from '../scrub.ts'
import type { SseEvent } from '../sse.ts'
import type { Translation } from '../stream.ts'
import { startBlocks } from './blocks.ts'
import { fromErrorInside } from './from-error.ts'
import { fromUsage } from './from-usage.ts'
import { pushFinish } from './push-finish.ts'

/** Starts before the first event. */
export function startStream(scrub: Scrub): Translation {
  const blocks = startBlocks()
  let usage: Usage | undefined
  let ending: { readonly native: string; readonly details: unknown } | null = null

  /** Until a reason to stop was said, more may have been written than was counted. */
  const noteUsage = (stated: unknown, batch: ChatEvent[]): void => {
    const read = fromUsage(stated, usage)
    if (read === undefined) return
    usage = read
    if (ending !== null) batch.push({ type: 'usage', usage })
    // A first word that does not know the prompt yet must not stand in the way of an estimate.
    else if (promptTokens(usage) > 0) batch.push({ type: 'usage', usage, partial: true })
  }

  const noteEnding = (delta: JsonObject): void => {
    const native = readText(delta['stop_reason'])
    if (native !== undefined) ending = { native, details: delta['stop_details'] }
  }

  const conclude = (batch: ChatEvent[]): void => {
    if (ending === null) throw incomplete()
    blocks.conclude(batch)
    pushFinish(ending.native, ending.details, batch)
  }

  /** True when the answer is complete. A ping, and whatever is not known, says nothing. */
  const noteEvent = (data: JsonObject, batch: ChatEvent[]): boolean => {
    const index = toIndex(data['index'])
    switch (data['type']) {
      case 'message_start': {
        noteUsage(readObject(data['message'])['usage'], batch)
        return false
      }
      case 'content_block_start':
        blocks.open(index, readObject(data['content_block']), batch)
        return false
      case 'content_block_delta':
        blocks.extend(index, readObject(data['delta']), batch)
        return false
      case 'content_block_stop':
        blocks.close(index, batch)
        return false
      case 'message_delta':
        noteEnding(readObject(data['delta']))
        noteUsage(data['usage'], batch)
        return false
      case 'message_stop':
        conclude(batch)
        return true
      case 'error':
        throw fromErrorInside(data, scrub)
      default:
        return false
    }
  }

  return {
    take(events, batch) {
      for (const event of events) {
        if (event.data !== '' && noteEvent(readEvent(event), batch)) return true
      }
      return false
    },
    close(batch) {
      conclude(batch)
    },
  }
}

const incomplete = (): UpstreamFailure =>
  new UpstreamFailure('failed', 'its stream ended before the answer was complete')

const toIndex = (value: unknown): number => (typeof value === 'number' ? value : 0)

/** @throws UpstreamFailure when the data is no JSON object; an error may be mere text */
function readEvent({ event, data }: SseEvent): JsonObject {
  const read = parseText(data)
  if (isObject(read)) return event === 'error' ? { ...read, type: 'error' } : read
  if (event === 'error') return { type: 'error', error: data }
  throw new UpstreamFailure('failed', 'it sent an event that is not a JSON object')
}
