/** Theirs → ours: a whole message as the events that a stream would have sent. */
import type { ChatEvent, ChatEvents } from '#domain/chat.ts'
import { isObject, readObject, readText } from '#domain/json.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import type { Scrub } from '../scrub.ts'
import { startBlocks } from './blocks.ts'
import { fromErrorInside } from './from-error.ts'
import { pushFinish } from './from-finish.ts'
import { fromUsage, readSides, toUsageEvent } from './from-usage.ts'
import { ServerTools } from './server-tools.ts'

/** Translates the body of a 200. @throws UpstreamFailure when it is not a message */
export function fromResponse(body: unknown, scrub: Scrub): ChatEvents {
  if (!isObject(body)) throw new UpstreamFailure('failed', 'its answer is not a JSON object')
  if (body['type'] === 'error') throw fromErrorInside(body, scrub)
  const { content } = body
  if (!Array.isArray(content)) throw new UpstreamFailure('failed', 'its answer holds no content')

  const events: ChatEvent[] = []
  const blocks = startBlocks()
  const tools = new ServerTools()
  for (const [index, value] of content.entries()) {
    const block = readObject(value)
    tools.note(block)
    blocks.open(index, block, events)
    blocks.close(index, events)
  }
  blocks.conclude(events)
  pushFinish(readText(body['stop_reason']) ?? 'end_turn', body['stop_details'], events)
  const usage = fromUsage(body['usage'])
  if (usage) {
    const { prompt, output } = readSides(body['usage'])
    events.push(toUsageEvent(body['usage'], tools.complete(usage), !(prompt && output)))
  }
  return events
}
