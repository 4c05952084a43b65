/** A stream's body, pulled by the client: backpressure reaches the upstream. */
import type { Timings } from '../timings.ts'

export interface PieceSource {
  /** The next piece of text, or null after the last. Never throws. */
  next(): Promise<string | null>
  /** Called when the client has disconnected. */
  leave(): void
}

/** A comment, which no reader of events sees. */
const KEEP_ALIVE = ': keep-alive\n\n'

const encoder = new TextEncoder()
const KEEP_ALIVE_BYTES = encoder.encode(KEEP_ALIVE)

/** What fills the silence in the place of a comment, and after how long. */
interface Filler {
  readonly frame: string
  readonly afterMs: number
}

type Controller = ReadableStreamDefaultController<Uint8Array>

/**
 * One piece at a time. While the upstream is silent, a comment or the filler is sent every `keepAliveMs`, and at once with `isSilent`,
 * because Bun sends the headers with the first bytes of the body. A reader that leaves a piece unread for `stalledReaderMs`
 * counts as disconnected.
 */
export const toSseBody = (
  source: PieceSource,
  timings: Timings,
  isSilent = false,
  filler?: Filler,
): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>(new SseBody(source, timings, isSilent, filler), {
    highWaterMark: 0,
  })

/** A class instead of closures, because there are thousands of streams at once. */
class SseBody {
  private readonly source: PieceSource
  private readonly timings: Timings
  private readonly isSilent: boolean
  private readonly keepAlive: Uint8Array
  private readonly keepAliveMs: number
  private controller: Controller | null = null
  private timer: ReturnType<typeof setTimeout> | undefined
  private ended = false
  private awaited: 'upstream' | 'reader' = 'upstream'
  private sinceMs = 0
  private commentAtMs = 0

  constructor(source: PieceSource, timings: Timings, isSilent: boolean, filler?: Filler) {
    this.source = source
    this.timings = timings
    this.isSilent = isSilent
    this.keepAlive = filler === undefined ? KEEP_ALIVE_BYTES : encoder.encode(filler.frame)
    this.keepAliveMs = Math.min(timings.keepAliveMs, filler?.afterMs ?? timings.keepAliveMs)
  }

  start(controller: Controller): void {
    this.controller = controller
    if (this.isSilent) controller.enqueue(this.keepAlive)
    this.sleep(this.longestSleepMs())
  }

  pull(): Promise<void> {
    this.wait('upstream')
    return this.source.next().then(this.pass)
  }

  /** Bound once; an async function would allocate more for every piece. */
  private readonly pass = (text: string | null): void => {
    const { controller } = this
    if (this.ended || controller === null) return
    if (text === null) {
      this.end()
      controller.close()
      return
    }
    controller.enqueue(encoder.encode(text))
    this.wait('reader')
  }

  cancel(): void {
    this.end()
    this.source.leave()
  }

  /** Sends a keep-alive comment to a waiting reader, and ends the stream of a stalled one. */
  checkSilence(): void {
    const { controller, awaited, keepAliveMs } = this
    const { stalledReaderMs } = this.timings
    if (controller === null) return
    const nowMs = performance.now()
    const restMs = this.sinceMs + (awaited === 'reader' ? stalledReaderMs : keepAliveMs) - nowMs
    if (restMs > 0) {
      this.sleep(Math.min(this.longestSleepMs(), restMs))
      return
    }
    // With a high-water mark of 0, the desired size is 0 if the queue is empty.
    const taken = awaited === 'upstream' && (controller.desiredSize ?? 0) >= 0
    if (taken) {
      controller.enqueue(this.keepAlive)
      this.commentAtMs = nowMs
    } else if (awaited === 'reader' || nowMs - this.commentAtMs >= stalledReaderMs) {
      this.giveUp(controller)
      return
    }
    this.sinceMs = nowMs
    this.sleep(this.longestSleepMs())
  }

  /** One timer serves both time-outs. It is reset when it fires, not at every piece, so it must not exceed the shorter one. */
  private longestSleepMs(): number {
    return Math.min(this.keepAliveMs, this.timings.stalledReaderMs)
  }

  private sleep(ms: number): void {
    this.timer = setTimeout(checkSilence, Math.ceil(ms), this)
  }

  private wait(whom: 'upstream' | 'reader'): void {
    this.awaited = whom
    this.sinceMs = performance.now()
  }

  private end(): void {
    this.ended = true
    clearTimeout(this.timer)
  }

  private giveUp(controller: Controller): void {
    this.end()
    this.source.leave()
    controller.error(new Error('the reader stalled'))
  }
}

const checkSilence = (body: SseBody): void => body.checkSilence()
