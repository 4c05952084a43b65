/** The sweeper: removes expired data, soon after the start and then every hour, in small slices. */
import { type Clock, later, pause } from '#domain/clock.ts'
import { NOTICE_KEPT_MS } from '#domain/notice.ts'
import type { Store } from '#domain/store.ts'
import { within } from '#domain/within.ts'
import type { GatewayStore } from '#signin/store.ts'

export interface SweeperOptions {
  readonly store: Pick<
    Store,
    'activity' | 'admissions' | 'answers' | 'notices' | 'events' | 'steadyTime'
  > & {
    readonly signin: Pick<GatewayStore['signin'], 'events'>
  }
  /** A steady one (`createSteadyClock`): by a clock that runs ahead, what is not old would be deleted. */
  readonly clock: Clock
  /** How long the log keeps ended requests; null for ever. */
  readonly activityKeptMs: number | null
  readonly pace?: Pace
  /** Logs an internal error; the next sweep tries again. */
  readonly logFault?: (cause: unknown) => void
  /** Hears of every sweep that has ended, and why it failed first; null where it did not. */
  readonly swept?: (failure: unknown) => void
}

interface Pace {
  /** From the start to the first sweep. */
  readonly firstMs: number
  /** From the end of a sweep to the next. */
  readonly everyMs: number
  /** Between two slices. Each writes some pages of the log, and checkpoints of these delay requests. */
  readonly pauseMs: number
}

const USUAL_PACE: Pace = { firstMs: 5_000, everyMs: 3_600_000, pauseMs: 100 }

/** The target duration of a slice. Its size is adapted, because the speed depends on the disk and the number of keys. */
const SLICE_MS = 2
const FIRST_SLICE = 16
const MAX_IN_SLICE = 1_000

/** For the time that is noted at the end. */
const LAST_NOTE_MS = 1_000

export interface Sweeper {
  /** Starts no further slice; resolves when the last has ended and the time is noted, so that a restart leaves nothing to doubt. */
  stop(): Promise<void>
}

/** Runs until it is stopped. */
export function startSweeper(options: SweeperOptions): Sweeper {
  const { pace = USUAL_PACE, logFault = () => {}, swept = () => {} } = options
  const stopped = new AbortController()
  const { signal } = stopped
  const note = () => options.store.steadyTime.note(options.clock.now())

  async function run(): Promise<void> {
    await pause(pace.firstMs, signal)
    for (;;) {
      let failure: unknown = null
      const fail = (cause: unknown): void => {
        if (signal.aborted) return
        failure ??= cause
        logFault(cause)
      }
      await note().catch(fail)
      for (const trim of trimsOf(options)) {
        await trimAll(trim, pace.pauseMs, signal).catch(fail)
      }
      if (!signal.aborted) swept(failure)
      await pause(pace.everyMs, signal)
    }
  }

  // The sweeper runs until it is stopped.
  const running = run().catch(() => {})
  return {
    async stop() {
      stopped.abort()
      await running
      // A store that is away keeps nobody from stopping.
      await within(note(), LAST_NOTE_MS).catch(logFault)
    },
  }
}

/** Removes at most `limit` rows and returns how many; fewer if no more are left. */
type Trim = (limit: number) => Promise<number>

/** All slices of a sweep use the same instant. */
function trimsOf({ store, clock, activityKeptMs }: SweeperOptions): readonly Trim[] {
  const now = clock.now()
  const { activity, admissions, answers, notices, events, signin } = store
  return [
    (limit) => answers.trim(now, limit),
    async () => {
      await admissions.trim(now)
      return 0
    },
    (limit) => notices.trim(later(now, -NOTICE_KEPT_MS), limit),
    (limit) => events.trim(later(now, -NOTICE_KEPT_MS), limit),
    ...(activityKeptMs === null
      ? []
      : [activity, signin.events].map(
          (log) => (limit: number) => log.trim(later(now, -activityKeptMs), limit),
        )),
  ]
}

/** Removes slices until nothing is left, each sized to take about `SLICE_MS`. */
async function trimAll(trim: Trim, pauseMs: number, signal: AbortSignal): Promise<void> {
  let limit = FIRST_SLICE
  for (;;) {
    const startedMs = performance.now()
    const gone = await trim(limit)
    if (gone < limit) return
    limit = nextLimit(limit, performance.now() - startedMs)
    await pause(pauseMs, signal)
  }
}

/** Doubles at most, so that a fast slice is not followed by a long one; shrinks at once. */
const nextLimit = (limit: number, tookMs: number): number =>
  Math.max(1, Math.min(2 * limit, Math.floor((limit * SLICE_MS) / tookMs), MAX_IN_SLICE))
