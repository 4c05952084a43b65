/** Theirs → ours: the events of a stream. `message_start` has the prompt's usage, `message_delta` the final one. */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { isObject, readObject, readText } from '#domain/json.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { promptTokens, type Usage } from '#domain/usage.ts'
import { parseText } from '../read-json.ts'
import type { Scrub } from '../scrub.ts'
import type { SseEvent } from '../sse.ts'
import type { Translation } from '../stream.ts'
import { startBlocks } from './blocks.ts'
import { fromErrorInside } from './from-error.ts'
import { pushFinish } from './from-finish.ts'
import { fromUsage, readSides, toUsageEvent } from './from-usage.ts'
import { ServerTools } from './server-tools.ts'

export function startStream(scrub: Scrub): Translation {
  const blocks = startBlocks()
  const tools = new ServerTools()
  let counted: { readonly stated: unknown; readonly usage: Usage } | null = null
  let isPromptCounted = false
  let hasEnded = false

  /** Usage is partial until the stop reason has arrived: more output may follow. So is one that has not counted both sides. */
  const emitUsage = (batch: ChatEvent[]): void => {
    if (counted === null) return
    const { stated, usage } = counted
    if (hasEnded) {
      const isWhole = isPromptCounted && readSides(stated).output
      batch.push(toUsageEvent(stated, tools.complete(usage), !isWhole))
    } else if (promptTokens(usage) > 0) {
      // Without prompt tokens a partial one would replace a better estimate.
      batch.push(toUsageEvent(stated, tools.soFar(usage), true))
    }
  }

  const noteUsage = (stated: unknown, batch: ChatEvent[]): void => {
    const usage = fromUsage(stated, counted?.usage)
    if (usage === undefined) return
    if (usage.inputTokens !== counted?.usage.inputTokens) tools.noteCounted()
    isPromptCounted ||= readSides(stated).prompt
    counted = { stated, usage }
    emitUsage(batch)
  }

  /** Before the count that comes with it: an answer that has ended is not cut for what it has cost. */
  const noteEnding = (delta: JsonObject, batch: ChatEvent[]): void => {
    const native = readText(delta['stop_reason'])
    if (native === undefined || hasEnded) return
    hasEnded = true
    blocks.conclude(batch)
    pushFinish(native, delta['stop_details'], batch)
  }

  const requireEnding = (): void => {
    if (!hasEnded) throw incomplete()
  }

  /** True when the answer is complete. `ping` and unknown events are ignored. */
  const noteEvent = (data: JsonObject, batch: ChatEvent[]): boolean => {
    const index = toIndex(data['index'])
    switch (data['type']) {
      case 'message_start': {
        noteUsage(readObject(data['message'])['usage'], batch)
        return false
      }
      case 'content_block_start': {
        const block = readObject(data['content_block'])
        blocks.open(index, block, batch)
        if (tools.note(block)) emitUsage(batch)
        return false
      }
      case 'content_block_delta':
        blocks.extend(index, readObject(data['delta']), batch)
        return false
      case 'content_block_stop':
        blocks.close(index, batch)
        return false
      case 'message_delta':
        noteEnding(readObject(data['delta']), batch)
        noteUsage(data['usage'], batch)
        return false
      case 'message_stop':
        requireEnding()
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
    close: requireEnding,
  }
}

const incomplete = (): UpstreamFailure =>
  new UpstreamFailure('failed', 'its stream ended before the answer was complete')

const toIndex = (value: unknown): number => (typeof value === 'number' ? value : 0)

/** An error's data may be plain text. @throws UpstreamFailure when other data is not a JSON object */
function readEvent({ event, data }: SseEvent): JsonObject {
  const read = parseText(data)
  if (isObject(read)) return event === 'error' ? { ...read, type: 'error' } : read
  if (event === 'error') return { type: 'error', error: data }
  throw new UpstreamFailure('failed', 'it sent an event that is not a JSON object')
}
