/** A walk: the processing of one chat request, from model card to receipt, and the steps that it emits to its reader. */
import type { Claim, Grant } from '../admission.ts'
import type { CancelSignal } from '../cancel.ts'
import type { AnswerHead, ChatEvents, ChatRequest } from '../chat.ts'
import type { Instant } from '../clock.ts'
import type { GatewayError } from '../errors.ts'
import { type GenerationId, newGenerationId } from '../id.ts'
import type { Pay } from '../idempotency.ts'
import type { Charge } from '../ledger.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import type { UsdNanos } from '../money.ts'
import type { QuotaReading } from '../quota.ts'
import type { Attempts } from './attempt.ts'
import type { Caller } from './caller.ts'
import type { CompletionDeps } from './completion.ts'

/** The steps of a walk, in this order: `admitted`, `opened`, `events`…, `priced`?, `failed`?, `receipt`. */
export type CompletionStep =
  | {
      readonly type: 'admitted'
      readonly generationId: GenerationId
      readonly quota: QuotaReading
      readonly hold: UsdNanos
      /** As of `opened`, of the first provider to be asked. */
      readonly loweredBound: number | null
    }
  | {
      readonly type: 'opened'
      readonly head: AnswerHead
      /** The bound of the answer, in tokens, where it is lower than the client's own or the model's; else null. */
      readonly loweredBound: number | null
    }
  /** Without images that are withheld; empty if nothing is left. */
  | { readonly type: 'events'; readonly events: ChatEvents }
  /** The upstream broke after content had passed; what came is charged. */
  | { readonly type: 'failed'; readonly error: GatewayError }
  /** Only for a repeatable answer, once it is complete. The reader stores the answer, then calls `pay`. */
  | { readonly type: 'priced'; readonly charge: Charge; readonly pay: Pay }
  /** The charge is committed: the answer's last byte may leave. */
  | { readonly type: 'receipt'; readonly charge: Charge }

/** Called with each step. The walk awaits a returned promise. */
export type StepReader = (step: CompletionStep) => MaybePromise<void>

type NextStep = IteratorResult<CompletionStep, void>

const DONE: NextStep = { done: true, value: undefined }

/** Thrown into a walk whose reader has stopped reading. */
export const READER_LEFT = new DOMException('the reader stopped reading', 'AbortError')

/**
 * Either pushed, by `read`, or pulled step by step, by `next` and `return`, like an async generator; it starts at the first
 * of these calls. A class instead of a generator, because every request has one: a step allocates a promise only if the
 * reader is waiting for it.
 */
export class Walk {
  readonly deps: CompletionDeps
  readonly caller: Caller
  readonly request: ChatRequest
  readonly signal: CancelSignal
  readonly generationId: GenerationId
  /** Null before it is admitted. */
  attempts: Attempts | null = null
  /** Null before it claims anything. */
  claim: Claim | null = null
  /** What it was granted, or would have been; null before a verdict. */
  grant: Grant | null = null
  /** When the first content came. */
  firstEventAt: Instant | null = null
  /** Whether its answer is stored for repetitions (`Idempotency-Key`). */
  isRepeatable = false
  /** Called once, however it ends. */
  ended: (() => void) | null = null

  private readonly go: (walk: Walk) => Promise<void>
  private reader: StepReader | null = null
  private pendingRead: PromiseWithResolvers<NextStep> | null = null
  private pendingEmit: PromiseWithResolvers<void> | null = null
  private running: Promise<void> | null = null
  private isAbandoned = false
  private isOver = false

  constructor(
    deps: CompletionDeps,
    caller: Caller,
    request: ChatRequest,
    signal: CancelSignal,
    go: (walk: Walk) => Promise<void>,
  ) {
    this.deps = deps
    this.caller = caller
    this.request = request
    this.signal = signal
    this.go = go
    this.generationId = newGenerationId(caller.arrivedAt)
  }

  /** Runs to the end, calling `reader` with every step. @throws what the walk throws */
  read(reader: StepReader): Promise<void> {
    this.reader = reader
    this.running = this.go(this)
    return this.running
  }

  /** The next step. @throws what the walk throws, once */
  next(): Promise<NextStep> {
    if (this.isOver) return Promise.resolve(DONE)
    const asking = Promise.withResolvers<NextStep>()
    this.pendingRead = asking
    if (this.running === null) this.start()
    else this.pendingEmit?.resolve()
    return asking.promise
  }

  /** Ends the walk where it is and settles it, because the reader has stopped. Never throws. */
  async return(): Promise<NextStep> {
    this.isAbandoned = true
    this.pendingEmit?.reject(READER_LEFT)
    if (this.running === null) this.end()
    else await this.running.catch(() => {})
    return DONE
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** For the walk itself: passes a step to the reader and waits until it wants the next. @throws READER_LEFT */
  emit(step: CompletionStep): MaybePromise<void> {
    if (this.reader !== null) return this.reader(step)
    this.pendingRead?.resolve({ done: false, value: step })
    this.pendingRead = null
    if (this.isAbandoned) throw READER_LEFT
    this.pendingEmit = Promise.withResolvers()
    return this.pendingEmit.promise
  }

  /** For the walk itself: marks it as ended. */
  end(): void {
    if (this.isOver) return
    this.isOver = true
    this.ended?.()
  }

  private start(): void {
    this.running = this.go(this).then(
      () => this.pendingRead?.resolve(DONE),
      (thrown) =>
        thrown === READER_LEFT ? this.pendingRead?.resolve(DONE) : this.pendingRead?.reject(thrown),
    )
  }
}
