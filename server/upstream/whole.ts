/** An answer that comes whole, as the one batch of events that a stream would have brought in many. */
import type { ChatEvents } from '#domain/chat.ts'
import type { Soon } from '#domain/soon.ts'
import type { UpstreamFailure } from '#domain/upstream.ts'

/** What a family makes of a whole body. */
export interface Translated {
  readonly events: ChatEvents
  /** What the answer turned out to be after all; its events, a count perhaps, still hold. */
  readonly failure: UpstreamFailure | null
}

type Step = IteratorResult<ChatEvents, undefined>

const DONE: Promise<Step> = Promise.resolve({ done: true, value: undefined })

/** Reads when it is first asked, and once. */
export const tellWhole = (read: () => Soon<Translated>): AsyncIterable<ChatEvents> =>
  new Whole(read)

/** A class, because each answer has one; an async generator for one batch would cost as much as four awaits more. */
class Whole implements AsyncIterableIterator<ChatEvents, undefined> {
  private unread: (() => Soon<Translated>) | null
  private failure: UpstreamFailure | null = null

  constructor(read: () => Soon<Translated>) {
    this.unread = read
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Step> {
    const read = this.unread
    if (read === null) return this.end()
    this.unread = null
    try {
      const translated = read()
      return translated instanceof Promise
        ? translated.then((late) => this.tell(late))
        : this.tell(translated)
    } catch (thrown) {
      return Promise.reject(thrown)
    }
  }

  private tell({ events, failure }: Translated): Promise<Step> {
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
