/** Every chat request in progress: who asks, since when, how far it has come, and the two ways to end it early. */

import type { Caller } from '#domain/caller.ts'
import type { ChatRequest } from '#domain/chat.ts'
import type { Instant } from '#domain/clock.ts'
import { type CompletionHouse, type CompletionStep, complete } from '#domain/completion.ts'
import type { GatewayError } from '#domain/errors.ts'
import type { Walking } from '#domain/snapshot/in-flight.ts'

/** One walk of `complete()`, driven by its reader and able to be left. */
export interface RunningWalk {
  readonly caller: Caller
  readonly request: ChatRequest
  /** How far it has come; null before it is admitted. */
  readonly progress: Walking | null
  /** It was left or aborted: whatever it still yields is no whole answer. */
  readonly isCutShort: boolean
  /** The next step; throws what the walk throws. */
  next(): Promise<IteratorResult<CompletionStep, void>>
  /** The client has gone: lets the upstream go and settles, whether or not anybody asks for another step. */
  leave(): Promise<void>
  /** The gateway gives up: the walk fails with `error`, which whoever still reads is told. */
  abort(error: GatewayError): void
}

export interface RunningWalks {
  /** `over` is called once, however the walk ends. */
  start(
    house: CompletionHouse,
    caller: Caller,
    request: ChatRequest,
    over?: () => void,
  ): RunningWalk
  /** Oldest first. */
  list(): Iterable<RunningWalk>
  readonly count: number
  /** The most that ran at once so far. */
  readonly peak: number
  /** Resolves once no walk runs: every one of them has been settled. */
  settled(): Promise<void>
}

export function createRunningWalks(): RunningWalks {
  const walks = new Set<RunningWalk>()
  let peak = 0
  let waiting: (() => void)[] = []

  const forget = (walk: RunningWalk, over?: () => void): void => {
    if (!walks.delete(walk)) return
    over?.()
    if (walks.size > 0) return
    for (const resolve of waiting) resolve()
    waiting = []
  }

  return {
    start(house, caller, request, over) {
      const ended = over ? (walk: RunningWalk) => forget(walk, over) : forget
      const walk = startWalk(house, caller, request, ended)
      walks.add(walk)
      if (walks.size > peak) peak = walks.size
      return walk
    },
    list: () => walks,
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

function startWalk(
  house: CompletionHouse,
  caller: Caller,
  request: ChatRequest,
  ended: (walk: RunningWalk) => void,
): RunningWalk {
  const gone = new AbortController()
  const steps = complete(house, caller, request, gone.signal)
  let admitted: Omit<Walking, 'firstEventAt'> | null = null
  let firstEventAt: Instant | null = null

  const end = (): void => ended(walk)
  const notice = ({ value: step }: IteratorResult<CompletionStep, void>): void => {
    if (!step) end()
    else if (step.type === 'events') firstEventAt ??= house.clock.now()
    else if (step.type === 'admitted') {
      const { generationId, attempts } = step
      admitted = { caller, request, generationId, attempts }
    }
  }

  const walk: RunningWalk = {
    caller,
    request,
    get progress() {
      return admitted && { ...admitted, firstEventAt }
    },
    get isCutShort() {
      return gone.signal.aborted
    },
    // No async function around the generator's own promise: it would cost as much again as the step itself.
    next() {
      const step = steps.next()
      step.then(notice, end)
      return step
    },
    leave() {
      // The signal wakes a walk that awaits its upstream; `return` ends one that waits to be asked.
      gone.abort()
      return steps.return().then(end, end)
    },
    abort(error) {
      gone.abort(error)
    },
  }
  return walk
}
