/** A walk: one chat request on its way from its model card to its receipt, and the steps that it emits to whoever answers it. */
import type { Claim } from './admission.ts'
import type { Attempts } from './attempt.ts'
import type { Caller } from './caller.ts'
import type { CancelSignal } from './cancel.ts'
import type { AnswerHead, ChatEvents, ChatRequest } from './chat.ts'
import type { Instant } from './clock.ts'
import type { CompletionDeps } from './completion.ts'
import type { GatewayError } from './errors.ts'
import { type GenerationId, newGenerationId } from './id.ts'
import type { Pay } from './idempotency.ts'
import type { Charge } from './ledger.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type { QuotaReading } from './quota.ts'

/** The steps of a walk, in this order: `admitted`, `opened`, `events`…, `priced`?, `failed`?, `receipt`. */
export type CompletionStep =
  | {
      readonly type: 'admitted'
      readonly generationId: GenerationId
      readonly quota: QuotaReading
    }
  | { readonly type: 'opened'; readonly head: AnswerHead }
  | { readonly type: 'events'; readonly events: ChatEvents }
  /** The upstream broke after content had passed; what came is charged. */
  | { readonly type: 'failed'; readonly error: GatewayError }
  /** Only of an answer that may be asked for again: all of it is there. Whoever keeps it pays once it is written. */
  | { readonly type: 'priced'; readonly charge: Charge; readonly pay: Pay }
  /** The charge is committed: the answer's last byte may leave. */
  | { readonly type: 'receipt'; readonly charge: Charge }

/** Is called with each step. A promise makes the walk wait. */
export type StepReader = (step: CompletionStep) => MaybePromise<void>

type NextStep = IteratorResult<CompletionStep, void>

const DONE: NextStep = { done: true, value: undefined }

/** Thrown into a walk whose reader asks for nothing more. */
export const LEFT = new DOMException('nobody reads on', 'AbortError')

/**
 * Either pushed, by `read`, or pulled step by step, by `next` and `return`, as an async generator is; it goes nowhere
 * before the first of these is called. A class, and not a generator with a record beside it, because every request has one:
 * a step costs a promise where somebody waits for it, and nothing where nobody does.
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
  /** When the first content came. */
  firstEventAt: Instant | null = null
  /** Whether its answer is kept for whoever asks again. */
  isRepeatable = false
  /** Called once, however it ends. */
  ended: (() => void) | null = null

  private readonly go: (walk: Walk) => Promise<void>
  private reader: StepReader | null = null
  private asking: PromiseWithResolvers<NextStep> | null = null
  private waiting: PromiseWithResolvers<void> | null = null
  private running: Promise<void> | null = null
  private isLeft = false
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

  /** Walks to the end, calling `reader` with every step. @throws what the walk throws */
  read(reader: StepReader): Promise<void> {
    this.reader = reader
    this.running = this.go(this)
    return this.running
  }

  /** The next step. @throws what the walk throws, once */
  next(): Promise<NextStep> {
    if (this.isOver) return Promise.resolve(DONE)
    const asking = Promise.withResolvers<NextStep>()
    this.asking = asking
    if (this.running === null) this.start()
    else this.waiting?.resolve()
    return asking.promise
  }

  /** The reader will not ask again: the walk ends where it is, and is settled. Never throws. */
  async return(): Promise<NextStep> {
    this.isLeft = true
    this.waiting?.reject(LEFT)
    if (this.running === null) this.end()
    else await this.running.catch(() => {})
    return DONE
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** For the walk itself: hands a step to the reader, and waits until it wants another. @throws LEFT */
  emit(step: CompletionStep): MaybePromise<void> {
    if (this.reader !== null) return this.reader(step)
    this.asking?.resolve({ done: false, value: step })
    this.asking = null
    if (this.isLeft) throw LEFT
    this.waiting = Promise.withResolvers()
    return this.waiting.promise
  }

  /** For the walk itself: it is over, however it ended. */
  end(): void {
    if (this.isOver) return
    this.isOver = true
    this.ended?.()
  }

  private start(): void {
    this.running = this.go(this).then(
      () => this.asking?.resolve(DONE),
      (thrown) => (thrown === LEFT ? this.asking?.resolve(DONE) : this.asking?.reject(thrown)),
    )
  }
}
