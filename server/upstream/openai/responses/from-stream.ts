/** Theirs → ours: the events of a stream of the Responses API; its own text follows what the meter reads of them. */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject, readText } from '#domain/json.ts'
import type { Origin } from '#domain/thought.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { NO_USAGE, type ServerCalls } from '#domain/usage.ts'
import { parseText } from '../../read-json.ts'
import type { Scrub } from '../../scrub.ts'
import type { SseEvent } from '../../sse.ts'
import type { Translation } from '../../stream.ts'
import { fromErrorInside } from '../from-error.ts'
import { failureOf, noteEnd } from './from-response.ts'
import { OutputItems } from './output-items.ts'

/** For a client that speaks the API itself, and gets the text. */
export const startNativeStream = (scrub: Scrub): Translation => new NativeStream(scrub)

/** For one of another dialect; `origin` is whose thoughts these are. */
export const startStream = (scrub: Scrub, origin: Origin): Translation =>
  new TranslatedStream(scrub, origin)

/** A class because there may be thousands of streams at once. */
class NativeStream implements Translation {
  readonly keepsText = true
  private readonly chunks: ChunkReader

  constructor(scrub: Scrub) {
    this.chunks = new ChunkReader(scrub, null)
  }

  get isComplete(): boolean {
    return this.chunks.isComplete
  }

  take(events: readonly SseEvent[], batch: ChatEvent[]): boolean {
    const { chunks } = this
    let passing = ''
    let failure: UpstreamFailure | null = null
    const pass = (): void => {
      if (passing !== '') batch.push({ type: 'native', text: passing })
      passing = ''
    }
    for (const event of events) {
      failure = chunks.read(event, batch) ?? failure
      // How it failed is said in the gateway's own words: the provider's may name its account.
      if (failure !== null) continue
      const { data, text = '' } = event
      if (chunks.isComplete) {
        pass()
        batch.push({ type: 'native', text, holds: 'end' })
      } else {
        passing += text
      }
      if (chunks.isComplete && data.trim() === '[DONE]') return true
    }
    pass()
    if (failure !== null) throw failure
    return false
  }

  close(): void {
    this.chunks.close()
  }
}

class TranslatedStream implements Translation {
  private readonly chunks: ChunkReader

  constructor(scrub: Scrub, origin: Origin) {
    this.chunks = new ChunkReader(scrub, origin)
  }

  take(events: readonly SseEvent[], batch: ChatEvent[]): boolean {
    for (const event of events) {
      const failure = this.chunks.read(event, batch)
      if (failure !== null) throw failure
      if (this.chunks.isComplete) return true
    }
    return false
  }

  close(): void {
    this.chunks.close()
  }
}

/** Reads one event after the other. */
class ChunkReader {
  isComplete = false
  private readonly scrub: Scrub
  private readonly items: OutputItems
  private hasContent = false
  private told: ServerCalls | null = null

  constructor(scrub: Scrub, origin: Origin | null) {
    this.scrub = scrub
    this.items = new OutputItems(origin)
  }

  /** Appends what it says; answers why the answer failed, if it says so. */
  read({ event, data }: SseEvent, batch: ChatEvent[]): UpstreamFailure | null {
    const chunk = data === '' || data.trim() === '[DONE]' ? null : parseText(data)
    if (!isObject(chunk)) return null
    const before = batch.length
    const failure = this.readChunk(chunk, readText(chunk['type']) ?? event ?? '', batch)
    this.hasContent ||= batch.length > before
    if (!this.isComplete) this.tellCalls(batch)
    return failure
  }

  close(): void {
    if (!this.isComplete) {
      throw new UpstreamFailure('failed', 'its stream ended before the answer was complete')
    }
  }

  /** The vendor's calls so far, which no count of this API states before the end. */
  private tellCalls(batch: ChatEvent[]): void {
    const { serverCalls } = this.items
    if (serverCalls === this.told) return
    this.told = serverCalls
    batch.push({ type: 'usage', usage: { ...NO_USAGE, serverCalls }, partial: true })
  }

  private readChunk(chunk: JsonObject, type: string, batch: ChatEvent[]): UpstreamFailure | null {
    // Some servers number nothing.
    const at = chunk['output_index'] ?? chunk['item_id'] ?? readObject(chunk['item'])['id']
    switch (type) {
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return this.readEnd(readObject(chunk['response']), type, batch)
      case 'error':
        return fromErrorInside(chunk, this.scrub)
      case 'response.output_item.added':
        this.items.open(at, readObject(chunk['item']), batch)
        return null
      case 'response.output_item.done':
        this.items.close(at, readObject(chunk['item']), batch)
        return null
      case 'response.function_call_arguments.done':
        this.items.complete(at, chunk['arguments'], 'function', batch)
        return null
      case 'response.custom_tool_call_input.done':
        this.items.complete(at, chunk['input'], 'custom', batch)
        return null
      default:
        if (type.endsWith('.delta')) this.items.extend(at, type, chunk, batch)
        return null
    }
  }

  private readEnd(answer: JsonObject, type: string, batch: ChatEvent[]): UpstreamFailure | null {
    const failure =
      type === 'response.failed'
        ? (failureOf(answer, this.scrub) ?? new UpstreamFailure('failed', 'it failed'))
        : null
    this.isComplete = failure === null
    // Some servers say all of it here alone.
    if (failure === null && !this.hasContent) {
      for (const [at, item] of readList(answer['output']).entries()) {
        this.items.close(at, readObject(item), batch)
      }
    }
    const status = type.slice('response.'.length)
    noteEnd({ ...answer, status }, this.items, failure === null, this.hasContent, batch)
    return failure
  }
}
