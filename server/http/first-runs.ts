/** First runs: a request with an `Idempotency-Key` runs and is charged once; a repetition gets the stored answer (contract §7). */
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { FoundAnswer, KeptAnswer, Pay, Repeatable } from '#domain/idempotency.ts'
import type { Store } from '#domain/store.ts'
import { TransientMap } from '#runtime/short-lived.ts'
import { rejectWholeKey } from './bearer.ts'

const HEADER = 'Idempotency-Key'
export const PRINTABLE = /^[ -~]{1,255}$/

/** Null without the header. @throws invalid_request */
export function readIdempotencyKey(headers: Headers): string | null {
  const key = headers.get(HEADER)
  if (key === null) return key
  if (PRINTABLE.test(key)) {
    rejectWholeKey(key, HEADER)
    return key
  }
  throw new GatewayError('invalid_request', `${HEADER}: send 1 to 255 printable ASCII characters`, {
    param: HEADER,
  })
}

/** The exclusive right to run a repeatable request. */
export interface FirstRun {
  /** Stores the answer and commits its charge; resolves when that is done or has failed. */
  keep(answer: Omit<KeptAnswer, keyof Repeatable>, pay: Pay): Promise<void>
  /** Ends the run: from then on a repetition gets the stored answer, or runs again if there is none. */
  over(): void
}

export interface FirstRuns {
  /**
   * Returns the stored answer of an earlier run, or the right to run.
   * @throws idempotency_conflict while the first is running, or if its body was different
   */
  begin(request: Repeatable, at: Instant): Promise<FoundAnswer | FirstRun>
}

interface RunInProgress {
  readonly bodySha256: string
  /** The look-up of the first run; concurrent repetitions await the same one. */
  readonly kept: Promise<FoundAnswer | undefined>
}

type AnswerStore = Pick<Store, 'answers'>

/** Running requests are tracked in memory only, because they end with the process. */
export function createFirstRuns(store: AnswerStore): FirstRuns {
  const inProgress = new TransientMap<string, RunInProgress>()

  return {
    async begin(request, at) {
      const { keyId, idempotencyKey, bodySha256 } = request
      const name = `${keyId} ${idempotencyKey}`
      const other = inProgress.get(name)
      if (other) {
        requireSameBody(request, other)
        const kept = await other.kept
        if (kept === undefined) throw stillRunning()
        requireSameBody(request, kept)
        return kept
      }

      const kept = store.answers.find(keyId, idempotencyKey, at)
      inProgress.set(name, { bodySha256, kept })
      const forget = (): void => void inProgress.take(name)
      try {
        const found = await kept
        if (found === undefined) return startRun(store, request, forget)
        requireSameBody(request, found)
        forget()
        return found
      } catch (thrown) {
        forget()
        throw thrown
      }
    },
  }
}

function startRun({ answers }: AnswerStore, request: Repeatable, forget: () => void): FirstRun {
  let keeping: Promise<void> | null = null
  return {
    keep(answer, pay) {
      // The answer is sent whether or not it was stored; the walk commits the charge if this did not.
      keeping = answers.keep({ ...request, ...answer }, pay).then(ignore, ignore)
      return keeping
    },
    over() {
      if (keeping) void keeping.then(forget)
      else forget()
    },
  }
}

const ignore = (): void => {}

const stillRunning = (): GatewayError =>
  new GatewayError(
    'idempotency_conflict',
    `the first request with this ${HEADER} is still running; ask again with the same key for its answer`,
    { param: HEADER },
  )

function requireSameBody(asked: Repeatable, first: Pick<Repeatable, 'bodySha256'>): void {
  if (asked.bodySha256 === first.bodySha256) return
  throw new GatewayError(
    'idempotency_conflict',
    `this ${HEADER} was first used with another body; take a new key for a new request`,
    { param: HEADER, permanent: true },
  )
}
