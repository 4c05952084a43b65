/** All chat requests in progress, their progress, and the two ways to end one early. */

import { Canceller } from '#domain/cancel.ts'
import type { ChatRequest } from '#domain/chat.ts'
import type { GatewayError } from '#domain/errors.ts'
import type { WalkProgress } from '#domain/snapshot/in-flight.ts'
import type { Caller } from '#domain/walk/caller.ts'
import { type CompletionDeps, complete } from '#domain/walk/completion.ts'
import type { StepReader, Walk } from '#domain/walk/walk.ts'
import { type Placed, Roster } from '#runtime/short-lived.ts'
import type { HeldBytes } from './read/byte-budget.ts'

export interface RunningWalk {
  readonly caller: Caller
  readonly request: ChatRequest
  /** Null before it is admitted. */
  readonly progress: WalkProgress | null
  /** Whether it was left or aborted; what it still emits is incomplete. */
  readonly isCutShort: boolean
  /** Whether it has ended and its admission is resolved. */
  readonly isOver: boolean
  /** Resolves once it is over. */
  settled(): Promise<void>
  /** Runs to the end; throws what the walk throws. */
  read(reader: StepReader): ReturnType<Walk['read']>
  /** The next step; throws what the walk throws. */
  next(): ReturnType<Walk['next']>
  /** For a client that disconnected: cancels the upstream and settles. */
  leave(): Promise<void>
  /** Fails the walk with `error`, which the client receives if it is still connected. */
  abort(error: GatewayError): void
}

export interface RunningWalks {
  /**
   * However its walk ends, the memory that the request holds is given back, and `over` is called once, which is given for a
   * repeatable request.
   */
  start(
    deps: CompletionDeps,
    caller: Caller,
    request: ChatRequest,
    held: HeldBytes | null,
    over?: () => void,
  ): RunningWalk
  /** Oldest first. */
  list(): readonly RunningWalk[]
  readonly count: number
  /** The highest number at once so far. */
  readonly peak: number
  /** Resolves once no walk runs and all are settled. */
  settled(): Promise<void>
}

export function createRunningWalks(): RunningWalks {
  const walks = new Roster<Running>()
  let started = 0
  let peak = 0
  let waiting: (() => void)[] = []

  const forget = (walk: Running, held: HeldBytes | null, over?: () => void): void => {
    walks.remove(walk)
    held?.release()
    walk.over?.resolve()
    over?.()
    if (walks.size > 0) return
    for (const resolve of waiting) resolve()
    waiting = []
  }

  return {
    start(deps, caller, request, held, over) {
      const canceller = new Canceller()
      const walk = complete(deps, caller, request, canceller)
      const running = new Running(walk, canceller, started++)
      walk.ended = () => forget(running, held, over)
      walk.isRepeatable = over !== undefined
      walks.add(running)
      if (walks.size > peak) peak = walks.size
      return running
    },
    list: () => walks.list().toSorted(byArrival),
    get count() {
      return walks.size
    },
    get peak() {
      return peak
    },
    settled: () =>
      walks.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
  }
}

const byArrival = (one: Running, other: Running): number => one.number - other.number

/** A class, because every request has one. */
class Running implements RunningWalk, Placed {
  place = -1
  /** A sequence number, which gives the order independently of the clock. */
  readonly number: number
  /** Null until its end is awaited. */
  over: PromiseWithResolvers<void> | null = null
  private readonly walk: Walk
  private readonly canceller: Canceller

  constructor(walk: Walk, gone: Canceller, number: number) {
    this.walk = walk
    this.canceller = gone
    this.number = number
  }

  get caller(): Caller {
    return this.walk.caller
  }

  get request(): ChatRequest {
    return this.walk.request
  }

  get progress(): WalkProgress | null {
    const { caller, request, generationId, attempts, firstEventAt } = this.walk
    return attempts && { caller, request, generationId, attempts, firstEventAt }
  }

  get isOver(): boolean {
    return this.place < 0
  }

  async settled(): Promise<void> {
    if (this.isOver) return
    this.over ??= Promise.withResolvers()
    await this.over.promise
  }

  get isCutShort(): boolean {
    return this.canceller.aborted
  }

  read(reader: StepReader): ReturnType<Walk['read']> {
    return this.walk.read(reader)
  }

  next(): ReturnType<Walk['next']> {
    return this.walk.next()
  }

  async leave(): Promise<void> {
    // The signal interrupts a walk that awaits its upstream; `return` ends one that waits for its reader.
    this.canceller.abort()
    await this.walk.return()
  }

  abort(error: GatewayError): void {
    this.canceller.abort(error)
  }
}
