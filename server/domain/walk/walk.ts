/** A walk: the processing of one request to a model, from model card to receipt, and the steps that its reader is called with. */
import type { ActivityEntry, FailedAttempt } from '../activity.ts'
import type { Claim, Grant } from '../admission.ts'
import type { AdmissionQueue } from '../admission-queue.ts'
import { Canceller, type CancelSignal, onCancel } from '../cancel.ts'
import type { AnswerHead, ChatEvents } from '../chat.ts'
import { type Instant, pause } from '../clock.ts'
import type { GatewayError } from '../errors.ts'
import { type GenerationId, newGenerationId } from '../id.ts'
import type { KeptAnswer, Repeat } from '../idempotency.ts'
import type { Caller } from '../key.ts'
import type { Charge } from '../ledger.ts'
import type { Store } from '../store.ts'
import type { QuotaReading } from '../window.ts'
import type { Work } from '../work.ts'
import type { Attempt, AttemptDeps } from './attempt.ts'
import { type CostedOffers, makeClaim } from './offer.ts'
import type { SessionRoutes } from './session-routes.ts'

/** Whether a reader has taken a step: the walk awaits a promise before the next. */
export type Taken = Promise<void> | undefined

/**
 * Who a walk is read by: called with each step, in this order, some of which a walk may lack. A method instead of an event each,
 * because every request has them. Each may throw READER_LEFT where it wants no more.
 */
export interface StepReader {
  /** With what, `grant`, `quota` and `attempt` of the walk say. */
  admitted(): Taken
  /** A provider answers: that of `walk.attempt`. */
  opened(head: AnswerHead): Taken
  /** Without images that are withheld; empty if nothing is left. */
  events(events: ChatEvents): Taken
  /** Only for a repeatable answer, once it is complete: the reader leaves it in `Walk.answer`. */
  priced(charge: Charge): Taken
  /** The upstream broke after content had passed; what came is charged. */
  failed(error: GatewayError): Taken
  /** The charge is committed: the answer's last byte may leave. */
  receipt(charge: Charge): Taken
  /** The walk was left: a promise that a step has returned must settle. */
  left(): void
}

/** Thrown into a walk whose reader has stopped reading. */
export const READER_LEFT = new DOMException('the reader stopped reading', 'AbortError')

/** A client that may leave: a request, whose signal is made when it is first asked for. */
export interface Client {
  readonly signal: CancelSignal
}

/** What walks are made with. */
export interface CompletionDeps extends AttemptDeps {
  readonly queue: AdmissionQueue
  readonly sessions: SessionRoutes
  readonly store: Pick<
    Store,
    'owner' | 'keys' | 'admissions' | 'answers' | 'catalogue' | 'activity'
  >
  /** Hears of every ending once, refusals too, before it is committed. */
  ended(entry: ActivityEntry, at: Instant): void
}

const NONE_FAILED: readonly FailedAttempt[] = []
/** Within the second in which a provider is cancelled (contract §7). */
const READ_ON_MS = 500

/** One walk, from its request to its end. A class, because every request has one. */
export class Walk {
  /** Its index in the roster of those in progress; negative while it is in none. */
  place = -1
  readonly deps: CompletionDeps
  /** With its key as it was when it last claimed. */
  caller: Caller
  readonly request: Work
  /** Aborted when its client leaves, and when the gateway ends it: what the walk still says is incomplete then. */
  readonly signal: Canceller
  readonly generationId: GenerationId
  /** The attempt being made, or the last; null before it is admitted. */
  attempt: Attempt | null = null
  /** Attempts that failed, in order. */
  failedAttempts: readonly FailedAttempt[] = NONE_FAILED
  /** What it was offered when it last claimed; null before it claims anything. */
  offers: CostedOffers | null = null
  claim: Claim | null = null
  /** What it was granted, or would have been; null before a verdict. */
  grant: Grant | null = null
  /** The windows as its admission left them; null before it is admitted. */
  quota: QuotaReading | null = null
  /** What a client reads of who answers; null before a provider does. */
  head: AnswerHead | null = null
  /** From its arrival to the first content; null before that. By a clock that is never set, as every duration of it. */
  firstEventMs: number | null = null
  /** Null before it is committed and its reader has taken it, and where nothing is charged. */
  charge: Charge | null = null
  /** By what it may be repeated (`Idempotency-Key`). */
  readonly repeat: Repeat | null
  /** What a repetition gets. */
  answer: Pick<KeptAnswer, 'contentType' | 'body'> | null = null
  /** Whether it has ended and its admission is resolved. */
  isOver = false
  /** Who ends it by leaving; null where it runs to its end whoever leaves: an image that may be asked for again. */
  client: Client | null = null
  /** Whether it has just begun, so that its client is not watched yet. */
  isYoung = true
  /** Called once, however it ends. */
  ended: ((walk: Walk) => void) | null = null
  /** Null before it runs. */
  reader: Pick<StepReader, 'left'> | null = null

  /** Whether its client has left, and the provider is still read for its count alone. */
  readsOn = false

  private watched: CancelSignal | null = null
  /** Null until its end is awaited. */
  private over: PromiseWithResolvers<void> | null = null

  constructor(
    deps: CompletionDeps,
    caller: Caller,
    request: Work,
    repeat: Repeat | null,
    signal = new Canceller(),
  ) {
    this.deps = deps
    this.caller = caller
    this.request = request
    this.repeat = repeat
    this.signal = signal
    this.generationId = newGenerationId(caller.arrivedAt)
  }

  /** Claims what the catalogue offers at this instant. @throws what `makeClaim` throws */
  claimNow(): Claim {
    const { offers, claim } = makeClaim(this.deps, this)
    this.offers = offers
    this.claim = claim
    return claim
  }

  async claimAnew(): Promise<Claim> {
    const { deps, caller } = this
    const { requestId, arrivedAt, arrivedMs } = caller
    const key = await deps.store.keys.current(caller.key.id)
    if (key !== undefined) this.caller = { key, requestId, arrivedAt, arrivedMs }
    return this.claimNow()
  }

  /** The bound of the answer, in tokens, where it is lower than the client's own or the model's; else null. */
  get loweredBound(): number | null {
    return this.attempt?.loweredBound ?? null
  }

  /** Leaves the walk once its client leaves, or now if it has. */
  watchClient(): void {
    if (this.client === null || this.watched !== null) return
    this.watched = this.client.signal
    onCancel(this.watched, this)
  }

  /** Whether the client of a whole answer has left already; that of a stream is noticed by its reader. */
  get isUnheard(): boolean {
    return !this.request.stream && this.client?.signal.aborted === true
  }

  /** The client has left. */
  handleEvent(): void {
    void this.leave()
  }

  /** For a client that has left: cancels the upstream and settles. */
  async leave(): Promise<void> {
    // The signal interrupts a walk that awaits its upstream; `left` ends one that waits for its reader.
    if (!this.signal.aborted && this.attempt?.meter.lacksThoughts === true) this.readOn()
    else this.signal.abort()
    if (this.reader === null) this.end()
    else this.reader.left()
    await this.settled()
  }

  /**
   * Who leaves with the last word would pay for the words alone: what the model has thought is in a count that comes after them. So the
   * provider is cancelled a moment later.
   */
  private readOn(): void {
    this.readsOn = true
    const { signal } = this
    pause(READ_ON_MS, signal).then(
      () => signal.abort(),
      () => undefined,
    )
  }

  /** Fails the walk with `error`, which the client receives if it is still connected. */
  abort(error: GatewayError): void {
    this.signal.abort(error)
  }

  /** Resolves once it is over. */
  async settled(): Promise<void> {
    if (this.isOver) return
    this.over ??= Promise.withResolvers()
    await this.over.promise
  }

  /** For the walk itself: marks it as ended, and lets go of its client, which may read the answer for minutes. */
  end(): void {
    if (this.isOver) return
    this.isOver = true
    this.watched?.removeEventListener('abort', this)
    this.watched = null
    this.client = null
    this.ended?.(this)
    this.over?.resolve()
  }
}
