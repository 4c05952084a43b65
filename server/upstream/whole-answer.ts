/** A non-streamed answer, as one batch of the events that a stream would have sent. */
import type { ChatEvents } from '#domain/chat.ts'
import type { MaybePromise } from '#domain/maybe-promise.ts'
import type { UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { readWhole } from './body.ts'
import type { Answer } from './call.ts'
import type { Reply } from './reply.ts'
import type { Watchdog } from './watchdog.ts'

/** A translated body. */
export interface Translated {
  readonly events: ChatEvents
  /** Set when the answer is an error; its events (a usage count, say) still count. */
  readonly failure: UpstreamFailure | null
}

/** The part of `Wire` that whole answers need. */
export interface WholeWire {
  fromBody(body: unknown, call: UpstreamCall): MaybePromise<Translated>
}

type Step = IteratorResult<ChatEvents, undefined>

const DONE: Promise<Step> = Promise.resolve({ done: true, value: undefined })

/**
 * The body is read on the first `next()`. A class because an async generator for one batch costs as much as four more awaits.
 */
export class WholeAnswer implements Answer, AsyncIterableIterator<ChatEvents, undefined> {
  readonly reply: Reply
  readonly watchdog: Watchdog
  private readonly wire: WholeWire
  private readonly call: UpstreamCall
  private isRead = false
  private failure: UpstreamFailure | null = null

  constructor(wire: WholeWire, call: UpstreamCall, reply: Reply, watchdog: Watchdog) {
    this.wire = wire
    this.call = call
    this.reply = reply
    this.watchdog = watchdog
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Step> {
    if (this.isRead) return this.end()
    this.isRead = true
    try {
      const body = readWhole(this)
      return body instanceof Promise
        ? body.then((late) => this.translate(late))
        : this.translate(body)
    } catch (thrown) {
      return Promise.reject(thrown)
    }
  }

  private translate(body: unknown): Promise<Step> {
    const translated = this.wire.fromBody(body, this.call)
    return translated instanceof Promise
      ? translated.then((late) => this.emit(late))
      : this.emit(translated)
  }

  private emit({ events, failure }: Translated): Promise<Step> {
    this.failure = failure
    return events.length > 0 ? Promise.resolve({ done: false, value: events }) : this.end()
  }

  private end(): Promise<Step> {
    const { failure } = this
    if (failure === null) return DONE
    this.failure = null
    return Promise.reject(failure)
  }
}
