/** An answer as a stream. The headers wait for the first event, so that an error can still have its own status. */
import { CLIENT_CLOSED_REQUEST } from '#domain/activity.ts'
import type { AnswerHead, ChatEvents } from '#domain/chat.ts'
import { unixSeconds } from '#domain/clock.ts'
import { type GatewayError, toGatewayError } from '#domain/errors.ts'
import type { Charge } from '#domain/ledger.ts'
import { RequestRefused, runWalk } from '#domain/walk/completion.ts'
import { READER_LEFT, type StepReader, type Taken, type Walk } from '#domain/walk/walk.ts'
import { within } from '#domain/within.ts'
import type { ApiDeps } from '../deps.ts'
import { type RequestContext, respondWithEvents } from '../request-context.ts'
import { toRequestLine } from '../request-log.ts'
import { type PieceSource, toSseBody } from '../wire/sse-body.ts'
import { Transcript } from './replay.ts'
import type { StreamRenderer, Surface } from './surface.ts'

/** Throws what the walk throws until the headers are sent; after that, an error is a chunk. */
export async function answerStream(
  deps: ApiDeps,
  context: RequestContext,
  walk: Walk,
  surface: Surface,
): Promise<Response> {
  const answer = new StreamedAnswer(deps, context, walk, surface)
  try {
    const isSilent = !(await answer.begin())
    const body = toSseBody(answer, deps.timings, isSilent, surface.silence)
    const response = respondWithEvents(context, body)
    context.streams = true
    return response
  } catch (thrown) {
    await abandon(walk, thrown)
    throw thrown
  }
}

/** Settles a walk that will not be read any further; one that threw is settled already. */
async function abandon(walk: Walk, thrown: unknown): Promise<void> {
  if (walk.isOver) return
  walk.abort(toGatewayError(thrown))
  await walk.leave()
}

/**
 * Renders the steps of a walk as text. The receipt renders usage and `[DONE]`, when the charge is committed. A class, because
 * there are thousands of streams at once.
 */
class StreamedAnswer implements PieceSource, StepReader {
  private readonly deps: ApiDeps
  private readonly context: RequestContext
  private readonly walk: Walk
  private readonly transcript: Transcript | null
  private readonly surface: Surface
  private frames: StreamRenderer | null = null
  /** The first text, requested before the headers are sent; itself once it is there. */
  private first: Promise<string | null> | string | null = null
  /** A rendering error; the walk was aborted for it, and its further events are ignored. */
  private defect: GatewayError | null = null
  /** The upstream's failure after content was sent. */
  private failure: GatewayError | null = null
  /** What the walk threw after the headers were sent. */
  private error: GatewayError | null = null
  /** The last text, rendered once: when it is stored, or when it is sent. */
  private ending: string | null = null
  /** The text of the receipt, which is sent once the walk has ended, so that an immediate repetition finds the stored answer. */
  private last: string | null = null
  /** Whoever waits for the next text. */
  private asked: PromiseWithResolvers<string | null> | null = null
  /** The walk, which waits until the text of a step was taken. */
  private parked: PromiseWithResolvers<void> | null = null
  private isLeft = false
  private isOver = false
  private isClosed = false
  // Bound once instead of for every piece.
  private readonly pass = (text: string | null): string | null => {
    if (text === null) this.close(this.isUnanswered() ? CLIENT_CLOSED_REQUEST : 200)
    return text
  }
  /** The last text of a stream that failed after the headers were sent. */
  private readonly fail = async (thrown: unknown): Promise<string | null> => {
    if (this.error !== null) return null
    await abandon(this.walk, thrown)
    this.error = toGatewayError(thrown instanceof RequestRefused ? thrown.error : thrown)
    return this.renderer().error(this.error, this.context.requestId) + this.renderer().end(null)
  }

  constructor(deps: ApiDeps, context: RequestContext, walk: Walk, surface: Surface) {
    this.deps = deps
    this.context = context
    this.walk = walk
    this.surface = surface
    this.transcript = walk.repeat && new Transcript(context)
  }

  /**
   * Waits for the first text; false if the headers must be sent before it. While the request waits for its admission, which
   * may still refuse it, they wait. @throws what the walk throws until then
   */
  async begin(): Promise<boolean> {
    const coming = this.ask()
    this.first = coming
    for (;;) {
      if (await within(coming, this.deps.timings.headerWaitMs)) break
      if (this.context.generation !== null) return false
    }
    this.first = await coming
    return true
  }

  next(): string | Promise<string | null> {
    const first = this.first ?? this.ask()
    this.first = null
    return typeof first === 'string' ? first : first.then(this.pass, this.fail)
  }

  leave(): void {
    // It has the last text, and need not wait for the end of the body.
    const isServed = this.isOver && this.walk.charge !== null
    const status = isServed ? 200 : CLIENT_CLOSED_REQUEST
    void this.walk.leave().then(() => this.close(status))
  }

  /** The text of the next steps that have any, or null after the last. Rejects with what the walk throws. */
  private ask(): Promise<string | null> {
    if (this.isOver) return Promise.resolve(null)
    this.asked = Promise.withResolvers()
    const { promise } = this.asked
    if (this.walk.reader === null) runWalk(this.walk, this).then(this.conclude, this.breakOff)
    else this.parked?.resolve()
    return promise
  }

  admitted(): undefined {
    this.requireAsker()
    this.context.generation = this.walk
    this.context.quota = this.walk.quota
  }

  opened(head: AnswerHead): undefined {
    this.requireAsker()
    this.context.taken?.dropBody()
    this.frames = this.surface.startStream(head, this.walk.request)
  }

  events(events: ChatEvents): Taken {
    const asked = this.requireAsker()
    // Once a batch could not be rendered, those that follow it are ignored.
    const text = this.defect === null ? this.renderOrAbort(events) : ''
    return text === '' ? undefined : this.send(asked, text)
  }

  priced(charge: Charge): undefined {
    this.walk.answer = this.transcript?.whole(this.end(charge)) ?? null
  }

  failed(error: GatewayError): Taken {
    const asked = this.requireAsker()
    this.failure = error
    return this.send(asked, this.renderer().error(error, this.context.requestId))
  }

  receipt(charge: Charge): undefined {
    this.requireAsker()
    this.last = this.end(charge)
    this.transcript?.note(this.last)
  }

  /** @throws READER_LEFT where nobody takes another text, because the stream was left while it waited */
  private requireAsker(): PromiseWithResolvers<string | null> {
    if (this.asked === null) throw READER_LEFT
    return this.asked
  }

  /** Hands a text to whoever asked, and lets the walk wait until it was taken. */
  private send(asked: PromiseWithResolvers<string | null>, text: string): Promise<void> {
    this.transcript?.note(text)
    asked.resolve(text)
    this.asked = null
    return this.park()
  }

  private park(): Promise<void> {
    if (this.isLeft) throw READER_LEFT
    this.parked = Promise.withResolvers()
    return this.parked.promise
  }

  /** For the walk: it was left. */
  left(): void {
    this.isLeft = true
    if (this.walk.readsOn) this.parked?.resolve()
    else this.parked?.reject(READER_LEFT)
  }

  /** The walk has ended. */
  private readonly conclude = (): void => {
    this.isOver = true
    this.context.taken?.release()
    // A dialect may have nothing left to say.
    this.asked?.resolve(this.last || null)
  }

  private readonly breakOff = (thrown: unknown): void => {
    this.isOver = true
    this.context.taken?.release()
    if (thrown === READER_LEFT) this.asked?.resolve(null)
    else this.asked?.reject(thrown)
  }

  /** If a batch cannot be rendered, the walk is aborted, settled and charged like one that failed. */
  private renderOrAbort(events: ChatEvents): string {
    try {
      return this.renderer().events(events)
    } catch (thrown) {
      this.defect = toGatewayError(thrown)
      this.walk.abort(this.defect)
      return ''
    }
  }

  /** The last text: usage and `[DONE]`. */
  private end(charge: Charge): string {
    this.ending ??= this.reportDefect() + this.renderer().end(charge)
    return this.ending
  }

  /** Renders the rendering error if the walk did not report it, because the provider had already completed. */
  private reportDefect(): string {
    if (this.defect === null || this.failure !== null) return ''
    this.failure = this.defect
    return this.renderer().error(this.defect, this.context.requestId)
  }

  private renderer(): StreamRenderer {
    const { generation, requestId, arrivedAt } = this.context
    const { surface, walk } = this
    this.frames ??= surface.startStream(
      {
        id: generation?.generationId ?? requestId,
        createdUnixSeconds: unixSeconds(arrivedAt),
        model: walk.request.model,
        isNative: false,
      },
      walk.request,
    )
    return this.frames
  }

  private isUnanswered(): boolean {
    return this.walk.charge === null && this.error === null
  }

  private close(status: number): void {
    if (this.isClosed) return
    this.isClosed = true
    const { deps, context } = this
    context.taken?.release()
    context.restoreIdleTimeout()
    deps.log?.(toRequestLine(context, status, this.error ?? this.failure, deps.clock))
  }
}
