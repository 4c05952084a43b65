/** Theirs → ours: the events of a stream of the Responses API, whose own text follows what the meter reads of them. */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { isObject, parseText, readObject, readText } from '../../read-json.ts'
import type { Scrub } from '../../scrub.ts'
import type { SseEvent } from '../../sse.ts'
import type { Translation } from '../../stream.ts'
import { fromErrorInside } from '../from-error.ts'
import { failureOf, isCall, noteFinish, noteItem, noteUsage } from './from-response.ts'

export const startStream = (scrub: Scrub): Translation => new ResponsesStream(scrub)

/** A class because there may be thousands of streams at once. */
class ResponsesStream implements Translation {
  readonly keepsText = true
  isComplete = false
  private readonly scrub: Scrub
  private hasContent = false
  private hasCalls = false
  /** Items of which some text came piece by piece; `done` only repeats it. */
  private readonly streamed = new Set<unknown>()

  constructor(scrub: Scrub) {
    this.scrub = scrub
  }

  take(events: readonly SseEvent[], batch: ChatEvent[]): boolean {
    let passing = ''
    let failure: UpstreamFailure | null = null
    const pass = (): void => {
      if (passing !== '') batch.push({ type: 'native', text: passing })
      passing = ''
    }
    for (const { event, data, text = '' } of events) {
      const before = batch.length
      const chunk = data === '' || data.trim() === '[DONE]' ? null : parseText(data)
      if (isObject(chunk)) failure = this.noteChunk(chunk, event, batch) ?? failure
      // How it failed is said in the gateway's own words: the provider's may name its account.
      if (failure !== null) continue
      if (this.isComplete) {
        pass()
        batch.push({ type: 'native', text, holds: 'end' })
      } else {
        passing += text
        if (batch.length > before) this.noteContent(batch, before)
      }
      if (this.isComplete && data.trim() === '[DONE]') return true
    }
    pass()
    if (failure !== null) throw failure
    return false
  }

  close(): void {
    if (!this.isComplete) {
      throw new UpstreamFailure('failed', 'its stream ended before the answer was complete')
    }
  }

  private noteContent(batch: readonly ChatEvent[], from: number): void {
    this.hasContent = true
    for (let i = from; i < batch.length; i++) {
      if (isCall(batch[i] as ChatEvent)) this.hasCalls = true
    }
  }

  /** Why the answer failed, if this says so. */
  private noteChunk(
    chunk: JsonObject,
    named: string | undefined,
    batch: ChatEvent[],
  ): UpstreamFailure | null {
    const type = readText(chunk['type']) ?? named ?? ''
    switch (type) {
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return this.noteEnd(readObject(chunk['response']), type, batch)
      case 'error':
        return fromErrorInside(chunk, this.scrub)
      case 'response.output_item.added':
      case 'response.output_item.done':
        this.noteItem(chunk, type, batch)
        return null
      default:
        this.noteDelta(chunk, type, batch)
        return null
    }
  }

  private noteEnd(answer: JsonObject, type: string, batch: ChatEvent[]): UpstreamFailure | null {
    const failure =
      type === 'response.failed'
        ? (failureOf(answer, this.scrub) ?? new UpstreamFailure('failed', 'it failed'))
        : null
    if (failure === null) {
      const status = type.slice('response.'.length)
      noteFinish({ status, incomplete_details: answer['incomplete_details'] }, this.hasCalls, batch)
      this.isComplete = true
    }
    noteUsage(answer, this.hasContent, batch)
    return failure
  }

  /** A call's name comes with its item; what else an item says counts once, at its end, unless it came in pieces. */
  private noteItem(chunk: JsonObject, type: string, batch: ChatEvent[]): void {
    const item = readObject(chunk['item'])
    const at = chunk['output_index']
    const index = typeof at === 'number' ? at : 0
    if (type === 'response.output_item.done') {
      if (!this.streamed.has(at)) noteItem(item, index, batch)
      return
    }
    if (item['type'] === 'message' || item['type'] === 'reasoning') return
    this.hasCalls ||= CLIENT_CALLS.has(item['type'])
  }

  private noteDelta(chunk: JsonObject, type: string, batch: ChatEvent[]): void {
    const { delta: text, output_index: at } = chunk
    if (!type.endsWith('.delta') || typeof text !== 'string' || text === '') return
    this.streamed.add(at)
    switch (type) {
      case 'response.output_text.delta':
        batch.push({ type: 'text-delta', choice: 0, text })
        break
      case 'response.refusal.delta':
        batch.push({ type: 'refusal-delta', choice: 0, text })
        break
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        batch.push({ type: 'reasoning-delta', choice: 0, text })
        break
      case 'response.audio.delta':
        break
      default:
        batch.push({
          type: 'tool-call-delta',
          choice: 0,
          index: typeof at === 'number' ? at : 0,
          kind: type.startsWith('response.custom_') ? 'custom' : 'function',
          arguments: text,
        })
    }
  }
}

/** Calls that the client carries out. */
const CLIENT_CALLS: ReadonlySet<unknown> = new Set(['function_call', 'custom_tool_call'])
