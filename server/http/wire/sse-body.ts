/** A stream's body, taken piece by piece: backpressure reaches the upstream. */
import type { Timings } from '../timings.ts'

export interface PieceSource {
  /** The next piece of text, or null after the last; at once where it is there already. Never throws. */
  next(): string | null | Promise<string | null>
  /** Called when the client has disconnected. */
  leave(): void
}

/** A comment, which no reader of events sees. */
const KEEP_ALIVE = ': keep-alive\n\n'

/** What fills the silence in the place of a comment, and after how long. */
interface Filler {
  readonly frame: string
  readonly afterMs: number
}

type Controller = ReadableStreamDirectController

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
): ReadableStream => {
  const body = new SseBody(source, timings, isSilent, filler)
  // Bun's direct stream: what is there when it pulls leaves in one packet with the headers.
  return new ReadableStream({
    type: 'direct',
    pull: (controller) => body.pull(controller),
    cancel: () => body.cancel(),
  })
}

/** A class instead of closures, because there are thousands of streams at once. */
class SseBody {
  private readonly source: PieceSource
  private readonly timings: Timings
  private readonly isSilent: boolean
  private readonly keepAlive: string
  private readonly keepAliveMs: number
  private controller: Controller | null = null
  private timer: ReturnType<typeof setTimeout> | undefined
  private ended = false
  private awaited: 'upstream' | 'reader' = 'upstream'
  private sinceMs = 0

  constructor(source: PieceSource, timings: Timings, isSilent: boolean, filler?: Filler) {
    this.source = source
    this.timings = timings
    this.isSilent = isSilent
    this.keepAlive = filler?.frame ?? KEEP_ALIVE
    this.keepAliveMs = Math.min(timings.keepAliveMs, filler?.afterMs ?? timings.keepAliveMs)
  }

  /** Called once, for all of it. */
  async pull(controller: Controller): Promise<void> {
    this.controller = controller
    this.sleep(this.longestSleepMs())
    this.wait('upstream')
    if (this.isSilent) void this.send(controller, this.keepAlive)
    while (!this.ended) {
      const coming = this.source.next()
      const text = coming instanceof Promise ? await coming : coming
      if (this.ended) return
      if (text === null) {
        this.end()
        controller.end()
        return
      }
      const unread = this.send(controller, text)
      if (unread !== null) await unread
    }
  }

  /** Null where the network has taken it; else what resolves once it has. */
  private send(controller: Controller, text: string): Promise<void> | null {
    controller.write(text)
    const flushed = controller.flush(true)
    this.wait(flushed instanceof Promise ? 'reader' : 'upstream')
    return flushed instanceof Promise ? flushed.then(this.taken) : null
  }

  private readonly taken = (): void => this.wait('upstream')

  cancel(): void {
    this.end()
    this.source.leave()
  }

  /** Sends a keep-alive comment to a waiting reader, and ends the stream of a stalled one. */
  checkSilence(): void {
    const { controller, awaited, keepAliveMs } = this
    const { stalledReaderMs } = this.timings
    if (controller === null) return
    const restMs =
      this.sinceMs + (awaited === 'reader' ? stalledReaderMs : keepAliveMs) - performance.now()
    if (restMs <= 0 && awaited === 'reader') {
      this.end()
      this.source.leave()
      controller.close(new Error('the reader stalled'))
      return
    }
    if (restMs <= 0) void this.send(controller, this.keepAlive)
    this.sleep(Math.min(this.longestSleepMs(), restMs > 0 ? restMs : Number.POSITIVE_INFINITY))
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
}

const checkSilence = (body: SseBody): void => body.checkSilence()
