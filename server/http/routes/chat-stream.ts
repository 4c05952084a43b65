/** A chat answer as a stream. The headers wait for the first event, so that an error can still have its own status. */

import { CLIENT_CLOSED_REQUEST } from '#domain/activity.ts'
import { unixSeconds } from '#domain/clock.ts'
import { type GatewayError, toGatewayError } from '#domain/errors.ts'
import { RequestRefused } from '#domain/walk/ending.ts'
import type { CompletionStep } from '#domain/walk/walk.ts'
import { within } from '#domain/within.ts'
import type { ApiDeps } from '../deps.ts'
import type { FirstRun } from '../first-runs.ts'
import { eventStreamHeaders, noteStep, type RequestContext } from '../request-context.ts'
import { toRequestLine } from '../request-log.ts'
import type { RunningWalk } from '../running-walks.ts'
import { type ChunkRenderer, startChunks } from '../wire/render-chunk.ts'
import { type PieceSource, toSseBody } from '../wire/sse-body.ts'
import { startTranscript, type Transcript } from './replay.ts'

/** Throws what the walk throws until the headers are sent; after that, an error is a chunk. */
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

/** Settles a walk that will not be read any further; one that threw is settled already. */
async function abandon(walk: RunningWalk, thrown: unknown): Promise<void> {
  if (walk.isOver) return
  walk.abort(toGatewayError(thrown))
  await walk.leave()
}

/**
 * Renders the steps of a walk as text. The receipt renders usage and `[DONE]`, when the charge is committed. A class, because
 * there are thousands of streams at once.
 */
class StreamedAnswer implements PieceSource {
  private readonly deps: ApiDeps
  private readonly context: RequestContext
  private readonly walk: RunningWalk
  private readonly transcript: Transcript | null
  private chunks: ChunkRenderer | null = null
  /** The first text, requested before the headers are sent. */
  private first: Promise<string | null> | null = null
  /** A rendering error; the walk was aborted for it, and its further events are ignored. */
  private defect: GatewayError | null = null
  /** The upstream's failure after content was sent. */
  private failure: GatewayError | null = null
  /** What the walk threw after the headers were sent. */
  private error: GatewayError | null = null
  /** The last text, rendered once: when it is stored, or when it is sent. */
  private ending: string | null = null
  private isLast = false
  private isClosed = false
  // Bound once instead of for every piece.
  private readonly pass = (text: string | null): string | null => {
    if (text === null) this.close(this.isUnanswered() ? CLIENT_CLOSED_REQUEST : 200)
    return text
  }
  /** The last text of a stream that failed after the headers were sent. */
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

  /**
   * Waits for the first text; false if the headers must be sent before it. While the request waits for its admission, which
   * may still refuse it, they are held. @throws what the walk throws until then
   */
  async begin(): Promise<boolean> {
    this.first = this.read()
    for (;;) {
      if (await within(this.first, this.deps.timings.headerHoldMs)) return true
      if (this.context.generationId !== null) return false
    }
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

  /** If a step cannot be rendered, its walk is aborted, settled and charged like one that failed. */
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

  /** Renders the rendering error if the walk did not report it, because the provider had already completed. */
  private reportDefect(): string {
    if (this.defect === null || this.failure !== null) return ''
    this.failure = this.defect
    return this.renderer().error(this.defect, this.context.requestId)
  }

  /** Ends the walk before the last text is sent, so that an immediate repetition finds the stored answer. */
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
    context.held?.release()
    deps.disconnects.forget(context)
    deps.restoreIdleTimeout(context.request)
    deps.log?.(toRequestLine(context, status, this.error ?? this.failure, deps.clock))
  }
}
