/** Theirs → ours: a whole answer as the same events that a stream would have brought. */
import type { ChatEvent, ChatEvents } from '#domain/chat.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { isObject, readChoiceIndex, readList, readObject, readText } from '../read-json.ts'
import type { Scrub } from '../scrub.ts'
import { startAnswerFields } from './answer-fields.ts'
import { findError } from './from-error.ts'
import { fromFinish } from './from-finish.ts'
import { fromBase64 } from './from-image.ts'
import { fromMessage } from './from-message.ts'
import { fromUsage } from './from-usage.ts'
import { startToolCalls } from './tool-calls.ts'

export interface Translated {
  readonly events: ChatEvents
  /** What the answer turned out to be after all; its events, a count perhaps, still hold. */
  readonly failure: UpstreamFailure | null
}

/** Reads the text of a 200. */
export function fromResponse(text: string, scrub: Scrub): Translated {
  const body = parse(text)
  if (!isObject(body))
    return broken(text.trim() === '' ? 'its answer is empty' : 'its answer is not JSON')
  const events: ChatEvent[] = []
  const usage = fromUsage(body['usage'])
  const failure = findError(body, scrub)
  if (!failure) {
    const choices = readList(body['choices'])
    const pictures = readList(body['data'])
    if (choices.length === 0 && pictures.length === 0) return broken('its answer holds no choices')
    for (const [place, choice] of choices.entries()) fromChoice(choice, place, events)
    if (choices.length === 0) fromPictures(pictures, body['output_format'], events)
    startAnswerFields().note(body, events)
  }
  if (usage) events.push({ type: 'usage', usage })
  return { events, failure }
}

const broken = (message: string): Translated => ({
  events: [],
  failure: new UpstreamFailure('failed', message),
})

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fromChoice(value: unknown, place: number, into: ChatEvent[]): void {
  const choice = readObject(value)
  const index = readChoiceIndex(choice['index'], place)
  const toolCalls = startToolCalls()
  fromMessage(readObject(choice['message']), index, choice['logprobs'], toolCalls, into)
  const word = readText(choice['finish_reason']) ?? (toolCalls.any ? 'tool_calls' : 'stop')
  const native = readText(choice['native_finish_reason']) ?? word
  into.push({ type: 'finish', choice: index, reason: fromFinish(word), native })
}

/** OpenAI's own image answer: bare base64 beside no choices at all. */
function fromPictures(pictures: readonly unknown[], format: unknown, into: ChatEvent[]): void {
  for (const picture of pictures) {
    const url = fromBase64(readObject(picture)['b64_json'], format)
    if (url !== undefined) into.push({ type: 'image', choice: 0, url })
  }
  into.push({ type: 'finish', choice: 0, reason: 'stop', native: 'stop' })
}
