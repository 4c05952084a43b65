/** Reads a walk step by step, as an async iterator: it waits at each step until the next is asked for. */

import { Canceller, type CancelSignal } from '#domain/cancel.ts'
import type { ChatRequest } from '#domain/chat.ts'
import type { Caller } from '#domain/key.ts'
import { runWalk } from '#domain/walk/completion.ts'
import {
  type CompletionDeps,
  type CompletionStep,
  READER_LEFT,
  type StepReader,
  Walk,
} from '#domain/walk/walk.ts'

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

  read(step: CompletionStep): Promise<void> {
    this.asked?.resolve({ done: false, value: step })
    if (this.isLeft) throw READER_LEFT
    this.parked = Promise.withResolvers()
    return this.parked.promise
  }

  left(): void {
    this.isLeft = true
    this.parked?.reject(READER_LEFT)
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
  request: ChatRequest,
  signal: CancelSignal = new AbortController().signal,
): WalkSteps => new WalkSteps(new Walk(deps, caller, request, null, new Canceller(signal)))
