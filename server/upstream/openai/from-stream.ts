/** Theirs → ours: the chunks of a stream. Finish reasons are emitted at the end, followed by the last usage. */
import type { ChatEvent, FinishReason, JsonObject } from '#domain/chat.ts'
import { isObject, readText } from '#domain/json.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { completionTokens, promptTokens, type Usage } from '#domain/usage.ts'
import { parseText, readChoiceIndex } from '../read-json.ts'
import type { Scrub } from '../scrub.ts'
import type { SseEvent } from '../sse.ts'
import type { Translation } from '../stream.ts'
import { fromErrorInside } from './from-error.ts'
import {
  findError,
  fromFinish,
  fromMessage,
  noteAnswerFields,
  noteChoiceFields,
  startChanges,
  type ToolCalls,
} from './from-response.ts'
import { findUsage, toUsageEvent } from './from-usage.ts'

interface Choice {
  readonly index: number
  readonly toolCalls: ToolCalls
  /** Whether a delta has arrived; a later `message` then only repeats everything. */
  begun: boolean
  /** The first finish reason; some providers repeat it. */
  reason: FinishReason | null
  native: string
}

export const startStream = (scrub: Scrub): Translation => new OpenAiStream(scrub)

/** A class because there may be thousands of streams at once. */
class OpenAiStream implements Translation {
  private readonly scrub: Scrub
  private readonly choices: Choice[] = []
  private readonly hasChanged = startChanges()
  private usage: ReturnType<typeof toUsageEvent>
  private counted = false
  /** Content has arrived after the last usage, which therefore does not cover the whole answer. */
  private isBehind = false
  /** The last usage counts only the prompt or only the completion. */
  private isOneSided = false
  private isOver = false

  constructor(scrub: Scrub) {
    this.scrub = scrub
  }

  take(events: readonly SseEvent[], batch: ChatEvent[]): boolean {
    try {
      for (const event of events) {
        if (isDone(event)) {
          if (this.choices.length === 0) throw incomplete()
          this.conclude(batch)
          return true
        }
        if (event.data !== '') this.noteChunk(event, batch)
      }
    } finally {
      this.emitUsage(batch)
    }
    return false
  }

  close(batch: ChatEvent[]): void {
    if (this.choices.length === 0 || this.choices.some(({ reason }) => reason === null)) {
      throw incomplete()
    }
    this.conclude(batch)
  }

  private noteChunk({ event: named, data }: SseEvent, batch: ChatEvent[]): void {
    const chunk = readChunk(data, named === 'error')
    const isCounted = this.noteUsage(chunk)
    const failure =
      named === 'error' ? fromErrorInside(chunk, this.scrub) : findError(chunk, this.scrub)
    if (failure) throw failure
    const before = batch.length
    const list = chunk['choices']
    if (Array.isArray(list)) {
      for (let position = 0; position < list.length; position++)
        this.noteChoice(list[position], position, batch)
    }
    if (isCounted) this.isBehind = false
    else if (!this.isBehind && this.usage && batch.length > before) {
      this.isBehind = true
      this.counted = true
    }
    noteAnswerFields(chunk, batch, this.hasChanged)
  }

  /** Whether the chunk has a usage or a cost. */
  private noteUsage(chunk: JsonObject): boolean {
    const read = toUsageEvent(findUsage(chunk, this.choices.length <= 1))
    if (read === undefined) return false
    const before = this.usage?.usage ?? null
    // Zeros after a count take nothing back: some servers close a stream with them.
    const counted = before !== null && isNothing(read.usage) ? null : read.usage
    if (counted === null && read.statedCost === undefined) return false
    // Usage and cost may arrive in different chunks.
    const statedCost = read.statedCost ?? this.usage?.statedCost
    this.usage = {
      type: 'usage',
      usage: counted ?? before,
      ...(statedCost !== undefined && { statedCost }),
      ...(read.isUnsplit && { isUnsplit: true }),
    }
    if (counted !== null) this.isOneSided = read.partial ?? false
    this.counted = true
    return true
  }

  private emitUsage(batch: ChatEvent[]): void {
    if (this.counted && this.usage) {
      batch.push(this.isWhole() ? this.usage : { ...this.usage, partial: true })
    }
    this.counted = false
  }

  /**
   * Whether the last usage covers everything so far. Some servers send it with every chunk, and a client that disconnects pays
   * by it (contract §7); others send zeros until the end.
   */
  private isWhole(): boolean {
    const counted = this.usage?.usage
    return (
      !this.isBehind && !this.isOneSided && (this.isOver || !counted || promptTokens(counted) > 0)
    )
  }

  private noteChoice(value: unknown, position: number, batch: ChatEvent[]): void {
    if (!isObject(value)) return
    const index = readChoiceIndex(value['index'], position)
    const choice = this.choiceOf(index)
    noteChoiceFields(value, index, batch)
    const { delta, message } = value
    if (isObject(delta)) {
      choice.begun = true
      fromMessage(delta, index, value['logprobs'], choice.toolCalls, batch)
    } else if (isObject(message) && !choice.begun) {
      fromMessage(message, index, value['logprobs'], choice.toolCalls, batch)
    }
    const word = choice.reason === null ? readText(value['finish_reason']) : undefined
    if (word === undefined) return
    choice.reason = fromFinish(word)
    choice.native = readText(value['native_finish_reason']) ?? word
  }

  private choiceOf(index: number): Choice {
    for (const known of this.choices) if (known.index === index) return known
    const choice = { index, toolCalls: { begun: null }, begun: false, reason: null, native: '' }
    this.choices.push(choice)
    return choice
  }

  private conclude(batch: ChatEvent[]): void {
    for (const { index, reason, native, toolCalls } of this.choices) {
      const word = toolCalls.begun === null ? 'stop' : 'tool_calls'
      batch.push({
        type: 'finish',
        choice: index,
        reason: reason ?? word,
        native: reason === null ? word : native,
      })
    }
    this.isOver = true
    this.counted = this.usage !== undefined
    this.emitUsage(batch)
  }
}

const isNothing = (usage: Usage | null): boolean =>
  usage !== null && promptTokens(usage) + completionTokens(usage) === 0

const incomplete = (): UpstreamFailure =>
  new UpstreamFailure('failed', 'its stream ended before the answer was complete')

const isDone = ({ data }: SseEvent): boolean =>
  data.charCodeAt(0) === 0x5b && data.trim() === '[DONE]'

/** An error's data may be plain text. @throws UpstreamFailure when other data is not a JSON object */
function readChunk(data: string, isError: boolean): JsonObject {
  const chunk = parseText(data)
  if (isObject(chunk)) return chunk
  if (isError) return { error: data }
  throw new UpstreamFailure('failed', 'it sent a chunk that is not a JSON object')
}
