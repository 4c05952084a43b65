/** Turns a streamed answer into batches of chat events: one batch for what arrived together, at the reader's pace. */
import type { ChatEvent, ChatEvents } from '#domain/chat.ts'
import type { Answer } from './call.ts'
import type { Piece, Reply } from './reply.ts'
import { createSseReader, type SseEvent, type SseReader } from './sse.ts'
import type { Watchdog } from './watchdog.ts'

/** What a family makes of its stream. It holds what it must until the end: the reasons to finish, the last usage. */
export interface Translation {
  /** Translates events into `batch`; true when the provider said that its answer is complete. @throws UpstreamFailure */
  take(events: readonly SseEvent[], batch: ChatEvent[]): boolean
  /** The stream ended without saying so. @throws UpstreamFailure when the answer is not complete */
  close(batch: ChatEvent[]): void
}

type Step = IteratorResult<ChatEvents, undefined>

const DONE: Step = { done: true, value: undefined }

/** Reads a stream once. Whatever ends it, `return()` included, the provider is let go at once. */
export function readStream(answer: Answer, translation: Translation): AsyncIterable<ChatEvents> {
  return { [Symbol.asyncIterator]: () => startReading(answer, translation) }
}

// An iterator by hand: an async generator costs a tenth more per chunk, and its return() waits for a pending read.
function startReading(
  { reply, watchdog }: Answer,
  translation: Translation,
): AsyncIterator<ChatEvents, undefined> {
  const sse = createSseReader()
  let ended = false
  let failure: { readonly thrown: unknown } | null = null

  const fail = (thrown: unknown): void => {
    ended = true
    watchdog.cancel()
    failure = { thrown }
  }

  /** A line that breaks after the last word of a complete answer has broken nothing. */
  const breakOff = (thrown: unknown, batch: ChatEvent[]): void => {
    fail(watchdog.explain(thrown))
    if (watchdog.abandoned) return
    try {
      translation.close(batch)
      failure = null
    } catch {
      // It was not complete, and the line's own failure says why.
    }
  }

  const take = (piece: Piece, batch: ChatEvent[]): void => {
    try {
      if (!piece.done) {
        ended = translation.take(sse.feed(piece.value), batch)
        if (ended) void drain(reply, watchdog)
        return
      }
      ended = true
      watchdog.stop()
      finish(sse, translation, batch)
    } catch (thrown) {
      fail(thrown)
    }
  }

  return {
    async next(): Promise<Step> {
      while (!ended) {
        const batch: ChatEvent[] = []
        try {
          watchdog.waits()
          const coming = reply.read()
          const piece = coming instanceof Promise ? await coming : coming
          watchdog.heard()
          take(piece, batch)
        } catch (thrown) {
          breakOff(thrown, batch)
        }
        if (batch.length > 0) return { done: false, value: batch }
      }
      if (failure) {
        const { thrown } = failure
        failure = null
        throw thrown
      }
      return DONE
    },
    async return(): Promise<Step> {
      if (!ended) watchdog.cancel()
      ended = true
      failure = null
      return DONE
    },
  }
}

function finish(sse: SseReader, translation: Translation, batch: ChatEvent[]): void {
  if (!translation.take(sse.end(), batch)) translation.close(batch)
}

const DRAIN_MS = 1_000
const DRAIN_BYTES = 65_536

/** Reads the few bytes behind the last event, so that the connection can serve the next request. */
async function drain(reply: Reply, watchdog: Watchdog): Promise<void> {
  watchdog.stop()
  const timer = setTimeout(() => watchdog.cancel(), DRAIN_MS)
  try {
    for (let bytes = 0; bytes <= DRAIN_BYTES; ) {
      const { done, value } = await reply.read()
      if (done) return
      bytes += value.byteLength
    }
    watchdog.cancel()
  } catch {
    // The answer is complete already.
  } finally {
    clearTimeout(timer)
  }
}
