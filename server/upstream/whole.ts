/** An answer that comes whole, as the one batch of events that a stream would have brought in many. */
import type { ChatEvents } from '#domain/chat.ts'
import type { UpstreamFailure } from '#domain/upstream.ts'

/** What a family makes of a whole body. */
export interface Translated {
  readonly events: ChatEvents
  /** What the answer turned out to be after all; its events, a count perhaps, still hold. */
  readonly failure: UpstreamFailure | null
}

type Step = IteratorResult<ChatEvents, undefined>

const DONE: Step = { done: true, value: undefined }

/** Reads when it is first asked, and once. (An async generator for its one batch would cost as much as four awaits more.) */
export function tellWhole(read: () => Promise<Translated>): AsyncIterable<ChatEvents> {
  let unread: typeof read | null = read
  let failure: UpstreamFailure | null = null

  const next = async (): Promise<Step> => {
    if (unread !== null) {
      const reading = unread()
      unread = null
      const translated = await reading
      failure = translated.failure
      if (translated.events.length > 0) return { done: false, value: translated.events }
    }
    if (failure === null) return DONE
    const thrown = failure
    failure = null
    throw thrown
  }
  return { [Symbol.asyncIterator]: () => ({ next }) }
}
