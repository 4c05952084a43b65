/** A progress line on standard error, at a terminal only, for work that takes longer than a second. */
import type { Context } from '../context.ts'
import { isTerminal, writeError } from './streams.ts'

export interface Progress {
  /** Clears the line. */
  readonly done: () => void
}

const SILENT: Progress = { done: () => {} }
const CLEAR_LINE = '\r\u001b[K'
/** Shorter waits need no progress line. */
const SHOW_AFTER_MS = 1_000

/** Shows `what` at once, for work that blocks this process. */
export function showProgress(context: Context, what: string): Progress {
  if (!isWanted(context)) return SILENT
  writeError(`${what} …`)
  return { done: () => writeError(CLEAR_LINE) }
}

/** Shows `what`, as it is by then, and for how long, once it takes longer than a second. */
export function awaitProgress(context: Context, what: string | (() => string)): Progress {
  let seconds = 0
  let isShown = false
  const timer = setInterval(() => {
    seconds++
    // Checked only now, because the check costs a short command a millisecond.
    isShown = isWanted(context)
    const now = typeof what === 'string' ? what : what()
    if (isShown) writeError(`${CLEAR_LINE}${now} … ${seconds}s`)
  }, SHOW_AFTER_MS)
  return {
    done() {
      clearInterval(timer)
      if (isShown) writeError(CLEAR_LINE)
    },
  }
}

const isWanted = ({ quiet, json }: Context): boolean => !quiet && !json && isTerminal(2)
