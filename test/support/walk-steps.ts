/** Reads a walk step by step, as an async iterator: it waits at each step until the next is asked for. */

import { Canceller, type CancelSignal } from '#domain/cancel.ts'
import type { AnswerHead, ChatEvents } from '#domain/chat.ts'
import type { GatewayError } from '#domain/errors.ts'
import type { GenerationId } from '#domain/id.ts'
import type { Caller } from '#domain/key.ts'
import type { Charge } from '#domain/ledger.ts'
import type { UsdNanos } from '#domain/money.ts'
import { runWalk } from '#domain/walk/completion.ts'
import { type CompletionDeps, READER_LEFT, type StepReader, Walk } from '#domain/walk/walk.ts'
import type { QuotaReading } from '#domain/window.ts'
import type { Work } from '#domain/work.ts'

/** The steps of a walk as data. */
export type CompletionStep =
  | {
      readonly type: 'admitted'
      readonly generationId: GenerationId
      readonly quota: QuotaReading | null
      readonly hold: UsdNanos | null
      readonly loweredBound: number | null
    }
  | { readonly type: 'opened'; readonly head: AnswerHead; readonly loweredBound: number | null }
  | { readonly type: 'events'; readonly events: ChatEvents }
  | { readonly type: 'failed'; readonly error: GatewayError }
  | { readonly type: 'priced'; readonly charge: Charge }
  | { readonly type: 'receipt'; readonly charge: Charge }

type NextStep = IteratorResult<CompletionStep, void>

class WalkSteps implements StepReader {
  readonly walk: Walk
  private asked: PromiseWithResolvers<NextStep> | null = null
  private parked: PromiseWithResolvers<void> | null = null
  private isLeft = false
  private isOver = false

  constructor(walk: Walk) {
    this.walk = walk
  }

  next(): Promise<NextStep> {
    if (this.isOver) return Promise.resolve({ done: true, value: undefined })
    this.asked = Promise.withResolvers()
    const { promise } = this.asked
    if (this.walk.reader === null) runWalk(this.walk, this).then(this.conclude, this.breakOff)
    else this.parked?.resolve()
    return promise
  }

  /** Leaves the walk, and waits until it has settled. */
  async return(): Promise<NextStep> {
    this.isOver = true
    if (this.walk.reader === null) this.walk.end()
    else {
      this.left()
      await this.walk.settled()
    }
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  admitted(): Promise<void> {
    const { generationId, quota, grant, loweredBound } = this.walk
    return this.take({
      type: 'admitted',
      generationId,
      quota,
      hold: grant?.hold ?? null,
      loweredBound,
    })
  }

  opened(head: AnswerHead): Promise<void> {
    return this.take({ type: 'opened', head, loweredBound: this.walk.loweredBound })
  }

  events(events: ChatEvents): Promise<void> {
    return this.take({ type: 'events', events })
  }

  failed(error: GatewayError): Promise<void> {
    return this.take({ type: 'failed', error })
  }

  priced(charge: Charge): Promise<void> {
    return this.take({ type: 'priced', charge })
  }

  receipt(charge: Charge): Promise<void> {
    return this.take({ type: 'receipt', charge })
  }

  private take(step: CompletionStep): Promise<void> {
    this.asked?.resolve({ done: false, value: step })
    if (this.isLeft) throw READER_LEFT
    this.parked = Promise.withResolvers()
    return this.parked.promise
  }

  left(): void {
    this.isLeft = true
    if (this.walk.readsOn) this.parked?.resolve()
    else this.parked?.reject(READER_LEFT)
  }

  private readonly conclude = (): void => {
    this.isOver = true
    this.asked?.resolve({ done: true, value: undefined })
  }

  private readonly breakOff = (thrown: unknown): void => {
    this.isOver = true
    if (thrown === READER_LEFT) this.asked?.resolve({ done: true, value: undefined })
    else this.asked?.reject(thrown)
  }
}

export const walkSteps = (
  deps: CompletionDeps,
  caller: Caller,
  request: Work,
  signal: CancelSignal = new AbortController().signal,
): WalkSteps => new WalkSteps(new Walk(deps, caller, request, null, new Canceller(signal)))
