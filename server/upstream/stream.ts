/** Turns a streamed answer into batches of chat events: one batch per piece, pulled by the reader. */
import type { ChatEvent, ChatEvents } from '#domain/chat.ts'
import type { Piece, Reply } from './reply.ts'
import { createSseReader, type SseEvent } from './sse.ts'
import type { Answer, Watchdog } from './watchdog.ts'

/** Finds the events in the bytes of a stream. */
export interface EventReader {
  /** The events completed by these bytes. @throws UpstreamFailure */
  feed(bytes: Uint8Array): readonly SseEvent[]
  /** Those that the end of the stream completes. @throws UpstreamFailure */
  end(): readonly SseEvent[]
}

/** A family's stream translation. It keeps finish reasons until no content can follow, and the last usage until the end. */
export interface Translation {
  /** Translates events into `batch`; true when the provider marked the answer as complete. @throws UpstreamFailure */
  take(events: readonly SseEvent[], batch: ChatEvent[]): boolean
  /** The stream ended without that mark. @throws UpstreamFailure when the answer is not complete */
  close(batch: ChatEvent[]): void
  /** It gets the text of each event, too, and events without data. */
  readonly keepsText?: true
  /** Where its events are no server-sent ones. */
  readonly reader?: EventReader
  /** The answer is complete, and a few bytes may follow it that are part of it. */
  readonly isComplete?: boolean
}

type Step = IteratorResult<ChatEvents, undefined>

const DONE: Promise<Step> = Promise.resolve({ done: true, value: undefined })

/** Reads a stream once. `return()` and failures release the connection at once. */
export const readStream = (answer: Answer, translation: Translation): AsyncIterable<ChatEvents> =>
  new StreamReader(answer, translation)

/**
 * A class because an async generator costs a tenth more per chunk, and its return() waits for a pending read.
 */
class StreamReader implements AsyncIterableIterator<ChatEvents, undefined> {
  private readonly reply: Reply
  private readonly watchdog: Watchdog
  private readonly translation: Translation
  private readonly reader: EventReader
  private ended = false
  private failure: { readonly thrown: unknown } | null = null
  /** Created once, not for every piece. */
  private readonly whenRead = (piece: Piece) => this.noteLate(piece)
  private readonly whenBroken = (thrown: unknown) => this.noteBreak(thrown)

  constructor({ reply, watchdog }: Answer, translation: Translation) {
    this.reply = reply
    this.watchdog = watchdog
    this.translation = translation
    this.reader = translation.reader ?? createSseReader(translation.keepsText)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Step> {
    while (!this.ended) {
      const coming = this.reply.read()
      if (coming instanceof Promise) {
        this.watchdog.startWaiting()
        return coming.then(this.whenRead, this.whenBroken)
      }
      const batch = this.take(coming)
      if (batch.length > 0) return Promise.resolve({ done: false, value: batch })
    }
    return this.conclude()
  }

  return(): Promise<Step> {
    if (!this.ended) this.watchdog.cancel()
    this.ended = true
    this.failure = null
    return DONE
  }

  private noteLate(piece: Piece): Step | Promise<Step> {
    const batch = this.take(piece)
    return batch.length > 0 ? { done: false, value: batch } : this.next()
  }

  private noteBreak(thrown: unknown): Step | Promise<Step> {
    const batch: ChatEvent[] = []
    this.breakOff(thrown, batch)
    return batch.length > 0 ? { done: false, value: batch } : this.next()
  }

  private conclude(): Promise<Step> {
    const { failure } = this
    if (failure === null) return DONE
    this.failure = null
    return Promise.reject(failure.thrown)
  }

  private fail(thrown: unknown): void {
    this.ended = true
    this.watchdog.cancel()
    this.failure = { thrown }
  }

  /** A connection that is lost after a complete answer is no failure. */
  private breakOff(thrown: unknown, batch: ChatEvent[]): void {
    this.fail(this.watchdog.explain(thrown))
    if (this.watchdog.abandoned) return
    try {
      this.translation.close(batch)
      this.failure = null
    } catch {
      // The answer was not complete; the transport's failure is reported.
    }
  }

  private take(piece: Piece): ChatEvent[] {
    const { reply, watchdog, translation } = this
    const batch: ChatEvent[] = []
    watchdog.received()
    try {
      if (!piece.done) {
        this.ended = translation.take(this.reader.feed(piece.value), batch)
        if (this.ended) void drain(reply, watchdog)
        else if (translation.isComplete === true) watchdog.limitRest(DRAIN_MS)
        return batch
      }
      this.ended = true
      watchdog.stop()
      if (!translation.take(this.reader.end(), batch)) translation.close(batch)
    } catch (thrown) {
      this.fail(thrown)
    }
    return batch
  }
}

const DRAIN_MS = 1_000
const DRAIN_BYTES = 65_536

/** Reads the few bytes after the last event, so that the connection can be reused. */
async function drain(reply: Reply, watchdog: Watchdog): Promise<void> {
  const coming = reply.read()
  if (!(coming instanceof Promise) && coming.done) {
    watchdog.stop()
    return
  }
  // The client has the whole answer; its disconnecting no longer matters.
  watchdog.release()
  watchdog.limitRest(DRAIN_MS)
  try {
    let bytes = 0
    for (let piece = await coming; !piece.done; piece = await reply.read()) {
      bytes += piece.value.byteLength
      if (bytes > DRAIN_BYTES) {
        watchdog.cancel()
        return
      }
    }
  } catch {
    // The answer is complete already.
  } finally {
    watchdog.stop()
  }
}
