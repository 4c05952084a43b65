/** Every chat request in progress: who asks, since when, how far it has come, and the two ways to end it early. */

import type { Caller } from '#domain/caller.ts'
import { Canceller } from '#domain/cancel.ts'
import type { ChatRequest } from '#domain/chat.ts'
import { type CompletionDeps, complete } from '#domain/completion.ts'
import type { GatewayError } from '#domain/errors.ts'
import { type Placed, Roster } from '#domain/roster.ts'
import type { WalkProgress } from '#domain/snapshot/in-flight.ts'
import type { StepReader, Walk } from '#domain/walk.ts'

/** A walk of `complete()`, driven by its reader and able to be left. */
export interface RunningWalk {
  readonly caller: Caller
  readonly request: ChatRequest
  /** How far it has come; null before it is admitted. */
  readonly progress: WalkProgress | null
  /** It was left or aborted: what it still emits is no whole answer. */
  readonly isCutShort: boolean
  /** Nothing of it runs any more: its admission is resolved. */
  readonly isOver: boolean
  /** Resolves once it is over. */
  settled(): Promise<void>
  /** Walks to the end; throws what the walk throws. */
  read(reader: StepReader): ReturnType<Walk['read']>
  /** The next step; throws what the walk throws. */
  next(): ReturnType<Walk['next']>
  /** The client has gone: lets the upstream go and settles, whether or not anybody asks for another step. */
  leave(): Promise<void>
  /** The gateway gives up: the walk fails with `error`, which the client reads if it is still there. */
  abort(error: GatewayError): void
}

export interface RunningWalks {
  /** `over` is called once, however the walk of a request that may be repeated ends. */
  start(deps: CompletionDeps, caller: Caller, request: ChatRequest, over?: () => void): RunningWalk
  /** Oldest first. */
  list(): readonly RunningWalk[]
  readonly count: number
  /** The most that ran at once so far. */
  readonly peak: number
  /** Resolves once no walk runs: every one of them has been settled. */
  settled(): Promise<void>
}

export function createRunningWalks(): RunningWalks {
  const walks = new Roster<Running>()
  let started = 0
  let peak = 0
  let waiting: (() => void)[] = []

  const forget = (walk: Running, over?: () => void): void => {
    walks.remove(walk)
    walk.over?.resolve()
    over?.()
    if (walks.size > 0) return
    for (const resolve of waiting) resolve()
    waiting = []
  }

  return {
    start(deps, caller, request, over) {
      const canceller = new Canceller()
      const walk = complete(deps, caller, request, canceller)
      const running = new Running(walk, canceller, started++)
      walk.ended = () => forget(running, over)
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
  /** Counts up as they start, however the clock steps. */
  readonly number: number
  /** Null until somebody waits for its end. */
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
    // The signal wakes a walk that awaits its upstream; `return` ends one that waits to be asked.
    this.canceller.abort()
    await this.walk.return()
  }

  abort(error: GatewayError): void {
    this.canceller.abort(error)
  }
}
