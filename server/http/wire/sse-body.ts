/** A stream's body, pulled by its reader: nothing is asked of the upstream that the client has not made room for. */
import type { Timings } from '../timings.ts'
import { KEEP_ALIVE } from './render-chunk.ts'

/** Where the pieces come from. */
export interface PieceSource {
  /** The next piece of text, or null after the last. Never throws. */
  next(): Promise<string | null>
  /** The reader has gone. */
  leave(): void
}

const encoder = new TextEncoder()
const KEEP_ALIVE_BYTES = encoder.encode(KEEP_ALIVE)

/**
 * One piece is on its way at a time. While the upstream is silent a comment goes out every `keepAliveMs`; a reader that
 * leaves a piece lying for `stalledReaderMs` is gone.
 */
export function toSseBody(
  source: PieceSource,
  { keepAliveMs, stalledReaderMs }: Timings,
): ReadableStream<Uint8Array> {
  // One timer looks after both. It is set anew only when it fires, not at every piece, so it must not sleep through either.
  const longestSleepMs = Math.min(keepAliveMs, stalledReaderMs)
  let timer: ReturnType<typeof setTimeout> | undefined
  let ended = false
  let awaited: 'upstream' | 'reader' = 'upstream'
  let sinceMs = 0
  let commentAtMs = 0

  const end = (): void => {
    ended = true
    clearTimeout(timer)
  }
  const wait = (whom: typeof awaited): void => {
    awaited = whom
    sinceMs = performance.now()
  }
  const giveUp = (controller: ReadableStreamDefaultController): void => {
    end()
    source.leave()
    controller.error(new Error('the reader stalled'))
  }
  const look = (controller: ReadableStreamDefaultController): void => {
    const nowMs = performance.now()
    const restMs = sinceMs + (awaited === 'reader' ? stalledReaderMs : keepAliveMs) - nowMs
    if (restMs > 0) {
      sleep(controller, Math.min(longestSleepMs, restMs))
      return
    }
    // With nothing in the queue a waiting reader leaves room for exactly nothing.
    const taken = awaited === 'upstream' && (controller.desiredSize ?? 0) >= 0
    if (taken) {
      controller.enqueue(KEEP_ALIVE_BYTES)
      commentAtMs = nowMs
    } else if (awaited === 'reader' || nowMs - commentAtMs >= stalledReaderMs) {
      giveUp(controller)
      return
    }
    sinceMs = nowMs
    sleep(controller, longestSleepMs)
  }
  const sleep = (controller: ReadableStreamDefaultController, ms: number): void => {
    timer = setTimeout(look, Math.ceil(ms), controller)
  }

  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => sleep(controller, longestSleepMs),
      async pull(controller) {
        wait('upstream')
        const text = await source.next()
        if (ended) return
        if (text === null) {
          end()
          controller.close()
          return
        }
        controller.enqueue(encoder.encode(text))
        wait('reader')
      },
      cancel() {
        end()
        source.leave()
      },
    },
    { highWaterMark: 0 },
  )
}
