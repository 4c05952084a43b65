/** Theirs → ours: a whole answer as the events that a stream would have sent. */
import type { ChatEvent } from '#domain/chat.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { isObject, readChoiceIndex, readList, readObject, readText } from '../read-json.ts'
import type { Scrub } from '../scrub.ts'
import type { Translated } from '../whole-answer.ts'
import { findError } from './from-error.ts'
import { fromAnyImagePart } from './from-image.ts'
import {
  fromFinish,
  fromMessage,
  noteAnswerFields,
  noteChoiceFields,
  startToolCalls,
} from './from-message.ts'
import { toUsageEvent } from './from-usage.ts'

/** Translates the body of a 200. An image may still be a remote URL. */
export function fromResponse(body: unknown, scrub: Scrub): Translated {
  if (!isObject(body)) return broken('its answer is not a JSON object')
  const events: ChatEvent[] = []
  const usage = toUsageEvent(body['usage'])
  const failure = findError(body, scrub)
  if (!failure) {
    const choices = readList(body['choices'])
    if (choices.length === 0) return broken('its answer holds no choices')
    for (let position = 0; position < choices.length; position++)
      fromChoice(choices[position], position, events)
    noteAnswerFields(null, body, events)
  }
  if (usage) events.push(usage)
  return { events, failure }
}

/** A failure without events. */
export const broken = (message: string): Translated => ({
  events: [],
  failure: new UpstreamFailure('failed', message),
})

function fromChoice(value: unknown, position: number, into: ChatEvent[]): void {
  const choice = readObject(value)
  const index = readChoiceIndex(choice['index'], position)
  const toolCalls = startToolCalls()
  noteChoiceFields(choice, index, into)
  fromMessage(
    readObject(choice['message']),
    index,
    choice['logprobs'],
    toolCalls,
    into,
    fromAnyImagePart,
  )
  const word =
    readText(choice['finish_reason']) ?? (toolCalls.slots === null ? 'stop' : 'tool_calls')
  const native = readText(choice['native_finish_reason']) ?? word
  into.push({ type: 'finish', choice: index, reason: fromFinish(word), native })
}
