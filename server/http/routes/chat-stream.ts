/** A chat answer as a stream: held until the upstream speaks, so that a real status stays possible, then pulled. */

import { CLIENT_CLOSED_REQUEST } from '#domain/activity.ts'
import { unixSeconds } from '#domain/clock.ts'
import { RequestRefused } from '#domain/ending.ts'
import { type GatewayError, toGatewayError } from '#domain/errors.ts'
import type { CompletionStep } from '#domain/walk.ts'
import { within } from '#domain/within.ts'
import type { ApiDeps } from '../deps.ts'
import type { FirstRun } from '../first-runs.ts'
import { eventStreamHeaders, noteStep, type RequestContext } from '../request-context.ts'
import { toRequestLine } from '../request-log.ts'
import type { RunningWalk } from '../running-walks.ts'
import { type ChunkRenderer, startChunks } from '../wire/render-chunk.ts'
import { type PieceSource, toSseBody } from '../wire/sse-body.ts'
import { startTranscript, type Transcript } from './replay.ts'

/** Throws what the walk throws as long as no header has left; after that an error is a chunk. */
export async function answerStream(
  deps: ApiDeps,
  context: RequestContext,
  walk: RunningWalk,
  run: FirstRun | null,
): Promise<Response> {
  const answer = new StreamedAnswer(deps, context, walk, run)
  try {
    const isSilent = !(await answer.begin())
    const body = toSseBody(answer, deps.timings, isSilent)
    const response = new Response(body, { headers: eventStreamHeaders(context) })
    context.streams = true
    return response
  } catch (thrown) {
    await abandon(walk, thrown)
    throw thrown
  }
}

/** A walk that nobody will ask for another step is settled now; one that threw by itself has been. */
async function abandon(walk: RunningWalk, thrown: unknown): Promise<void> {
  if (walk.isOver) return
  walk.abort(toGatewayError(thrown))
  await walk.leave()
}

/**
 * Turns the steps of a walk into text. The usage and `[DONE]` come out of the receipt: the charge is committed. A class,
 * because it lives as long as its stream, of which there are thousands.
 */
class StreamedAnswer implements PieceSource {
  private readonly deps: ApiDeps
  private readonly context: RequestContext
  private readonly walk: RunningWalk
  private readonly transcript: Transcript | null
  private chunks: ChunkRenderer | null = null
  /** The first text, asked for before the headers leave. */
  private first: Promise<string | null> | null = null
  /** What could not be rendered; the walk was aborted for it, and its further events are passed over. */
  private defect: GatewayError | null = null
  /** What broke the upstream after content had passed. */
  private failure: GatewayError | null = null
  /** What the walk threw after the headers had left. */
  private error: GatewayError | null = null
  /** The last text, rendered once: when it is kept, or when it leaves. */
  private ending: string | null = null
  private isLast = false
  private isClosed = false
  // Bound once, and not at every piece.
  private readonly pass = (text: string | null): string | null => {
    if (text === null) this.close(this.isUnanswered() ? CLIENT_CLOSED_REQUEST : 200)
    return text
  }
  /** The last text of a stream that broke here, or whose walk threw, after the headers had left. */
  private readonly fail = async (thrown: unknown): Promise<string | null> => {
    if (this.error !== null) return null
    this.isLast = true
    await abandon(this.walk, thrown)
    this.error = toGatewayError(thrown instanceof RequestRefused ? thrown.error : thrown)
    return this.renderer().error(this.error, this.context.requestId) + this.renderer().end(null)
  }

  constructor(deps: ApiDeps, context: RequestContext, walk: RunningWalk, run: FirstRun | null) {
    this.deps = deps
    this.context = context
    this.walk = walk
    this.transcript = run && startTranscript(deps, context, run)
  }

  /** Waits for the first text; false when the headers leave without it. @throws what the walk throws until then */
  begin(): Promise<boolean> {
    this.first = this.read()
    return within(this.first, this.deps.timings.headerHoldMs)
  }

  next(): Promise<string | null> {
    const reading = this.first ?? this.read()
    this.first = null
    return reading.then(this.pass, this.fail)
  }

  leave(): void {
    void this.walk.leave().then(() => this.close(CLIENT_CLOSED_REQUEST))
  }

  /** The text of the next steps that have any, or null after the last. Throws what the walk throws. */
  private async read(): Promise<string | null> {
    while (!this.isLast) {
      const { value: step, done } = await this.walk.next()
      if (done) return null
      noteStep(this.context, step, this.deps.clock)
      const text = this.renderOrAbort(step)
      if (step.type === 'priced') {
        await this.transcript?.keep(text, step.pay)
      } else if (text !== '') {
        this.transcript?.note(text)
        if (step.type === 'receipt') await this.conclude()
        return text
      }
    }
    return null
  }

  /** A step that cannot be rendered must not leave its walk standing: it is ended, settled and charged like one that broke. */
  private renderOrAbort(step: CompletionStep): string {
    if (this.defect !== null && step.type === 'events') return ''
    try {
      return this.render(step)
    } catch (thrown) {
      if (step.type !== 'events') throw thrown
      this.defect = toGatewayError(thrown)
      this.walk.abort(this.defect)
      return ''
    }
  }

  private render(step: CompletionStep): string {
    switch (step.type) {
      case 'admitted':
        return ''
      case 'opened':
        this.chunks = startChunks(step.head, this.walk.request.includeUsage)
        return ''
      case 'events':
        return this.renderer().events(step.events)
      case 'failed':
        this.failure = step.error
        return this.renderer().error(step.error, this.context.requestId)
      case 'priced':
      case 'receipt':
        this.ending ??= this.reportDefect() + this.renderer().end(step.charge)
        return this.ending
    }
  }

  /** What could not be rendered, where the provider had ended by itself and the walk did not fail for it. */
  private reportDefect(): string {
    if (this.defect === null || this.failure !== null) return ''
    this.failure = this.defect
    return this.renderer().error(this.defect, this.context.requestId)
  }

  /** Whoever repeats the request finds its answer kept, and this walk over, before the last word of it leaves. */
  private async conclude(): Promise<void> {
    this.isLast = true
    await this.walk.next()
  }

  private renderer(): ChunkRenderer {
    const { generationId, requestId, arrivedAt } = this.context
    const { model, includeUsage } = this.walk.request
    this.chunks ??= startChunks(
      { id: generationId ?? requestId, createdUnixSeconds: unixSeconds(arrivedAt), model },
      includeUsage,
    )
    return this.chunks
  }

  private isUnanswered(): boolean {
    return this.context.charge === null && this.error === null
  }

  private close(status: number): void {
    if (this.isClosed) return
    this.isClosed = true
    const { deps, context } = this
    deps.disconnects.forget(context)
    deps.letIdle(context.request)
    deps.log?.(toRequestLine(context, status, this.error ?? this.failure, deps.clock.now()))
  }
}
