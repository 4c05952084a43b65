/** Theirs → ours: the chunks of a stream. Reasons to finish wait for the end; the provider's last count follows them. */
import type { ChatEvent, FinishReason, JsonObject } from '#domain/chat.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { isObject, readChoiceIndex, readObject, readText } from '../read-json.ts'
import type { Scrub } from '../scrub.ts'
import type { SseEvent } from '../sse.ts'
import type { Translation } from '../stream.ts'
import { startAnswerFields } from './answer-fields.ts'
import { findError, fromErrorInside } from './from-error.ts'
import { fromFinish } from './from-finish.ts'
import { fromMessage } from './from-message.ts'
import { toUsageEvent } from './from-usage.ts'
import { startToolCalls, type ToolCalls } from './tool-calls.ts'

interface Choice {
  readonly toolCalls: ToolCalls
  /** Whether a delta came; then a `message` beside a later one only repeats it all. */
  begun: boolean
  /** The first reason said; some repeat it, some send none after it. */
  finish: { readonly reason: FinishReason; readonly native: string } | null
}

/** Starts before the first chunk. */
export function startStream(scrub: Scrub): Translation {
  const choices = new Map<number, Choice>()
  const answerFields = startAnswerFields()
  let usage: ReturnType<typeof toUsageEvent>
  let counted = false

  const noteUsage = (chunk: JsonObject): void => {
    const stated = chunk['usage'] ?? readObject(chunk['x_groq'])['usage']
    if (stated === undefined || stated === null) return
    const read = toUsageEvent(stated)
    if (read === undefined) return
    // A count and a cost may come apart.
    usage = { ...usage, ...read, usage: read.usage ?? usage?.usage ?? null }
    counted = true
  }

  const tellUsage = (batch: ChatEvent[]): void => {
    if (counted && usage) batch.push(usage)
    counted = false
  }

  const noteChoice = (value: unknown, place: number, batch: ChatEvent[]): void => {
    if (!isObject(value)) return
    const index = readChoiceIndex(value['index'], place)
    const choice = choices.get(index) ?? begin(choices, index)
    const { delta, message } = value
    if (isObject(delta)) {
      choice.begun = true
      fromMessage(delta, index, value['logprobs'], choice.toolCalls, batch)
    } else if (isObject(message) && !choice.begun) {
      fromMessage(message, index, value['logprobs'], choice.toolCalls, batch)
    }
    const word = choice.finish === null ? readText(value['finish_reason']) : undefined
    if (word !== undefined) {
      const native = readText(value['native_finish_reason']) ?? word
      choice.finish = { reason: fromFinish(word), native }
    }
  }

  const noteChunk = ({ event: named, data }: SseEvent, batch: ChatEvent[]): void => {
    const chunk = readChunk(data, named === 'error')
    noteUsage(chunk)
    const failure = named === 'error' ? fromErrorInside(chunk, scrub) : findError(chunk, scrub)
    if (failure) throw failure
    const list = chunk['choices']
    if (Array.isArray(list)) {
      for (let place = 0; place < list.length; place++) noteChoice(list[place], place, batch)
    }
    answerFields.note(chunk, batch)
  }

  const conclude = (batch: ChatEvent[]): void => {
    for (const [choice, { finish, toolCalls }] of choices) {
      const word = toolCalls.any ? 'tool_calls' : 'stop'
      batch.push({ type: 'finish', choice, ...(finish ?? { reason: word, native: word }) })
    }
    counted = usage !== undefined
    tellUsage(batch)
  }

  return {
    take(events, batch) {
      try {
        for (const event of events) {
          if (isDone(event)) {
            conclude(batch)
            return true
          }
          if (event.data !== '') noteChunk(event, batch)
        }
      } finally {
        tellUsage(batch)
      }
      return false
    },
    close(batch) {
      const finished = [...choices.values()].every(({ finish }) => finish !== null)
      if (choices.size === 0 || !finished) {
        throw new UpstreamFailure('failed', 'its stream ended before the answer was complete')
      }
      conclude(batch)
    },
  }
}

function begin(choices: Map<number, Choice>, index: number): Choice {
  const choice: Choice = { toolCalls: startToolCalls(), begun: false, finish: null }
  choices.set(index, choice)
  return choice
}

const isDone = ({ data }: SseEvent): boolean =>
  data.charCodeAt(0) === 0x5b && data.trim() === '[DONE]'

/** @throws UpstreamFailure when the data is no chunk; an error may be mere text */
function readChunk(data: string, isError: boolean): JsonObject {
  try {
    const chunk: unknown = JSON.parse(data)
    if (isObject(chunk)) return chunk
  } catch {
    // Judged below, together with JSON that is no object.
  }
  if (isError) return { error: data }
  throw new UpstreamFailure('failed', 'it sent a chunk that is not a JSON object')
}
