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
  let timer: ReturnType<typeof setTimeout> | undefined
  let ended = false

  const end = (): void => {
    ended = true
    clearTimeout(timer)
  }
  const giveUp = (controller: ReadableStreamDefaultController): void => {
    end()
    source.leave()
    controller.error(new Error('the reader stalled'))
  }
  /** `untaken` is how long the comment before this one has been lying there. */
  const fillSilence = (controller: ReadableStreamDefaultController, untakenMs: number): void => {
    timer = setTimeout(() => {
      // With nothing in the queue a waiting reader leaves room for exactly nothing.
      const taken = (controller.desiredSize ?? 0) >= 0
      if (taken) controller.enqueue(KEEP_ALIVE_BYTES)
      else if (untakenMs + keepAliveMs >= stalledReaderMs) return giveUp(controller)
      fillSilence(controller, taken ? 0 : untakenMs + keepAliveMs)
    }, keepAliveMs)
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(timer)
        fillSilence(controller, 0)
        const text = await source.next()
        if (ended) return
        clearTimeout(timer)
        if (text === null) {
          ended = true
          controller.close()
          return
        }
        controller.enqueue(encoder.encode(text))
        timer = setTimeout(giveUp, stalledReaderMs, controller)
      },
      cancel() {
        end()
        source.leave()
      },
    },
    { highWaterMark: 0 },
  )
}
