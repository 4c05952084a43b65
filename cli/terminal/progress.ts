/** A line of progress on standard error, for a person who would wait longer than a second; a script sees none. */
import type { Context } from '../context.ts'
import { isTerminal, writeError } from './streams.ts'

export interface Progress {
  /** Takes the line away again. */
  readonly done: () => void
}

const SILENT: Progress = { done: () => {} }
const CLEAR_LINE = '\r\u001b[K'
/** Nobody wonders before. */
const SHOW_AFTER_MS = 1_000

/** Shows `what` at once: the work itself may keep this process from ever telling later. */
export function showProgress(context: Context, what: string): Progress {
  if (!isWanted(context)) return SILENT
  writeError(`${what} …`)
  return { done: () => writeError(CLEAR_LINE) }
}

/** Shows `what` and for how long, once it takes longer than a second. */
export function awaitProgress(context: Context, what: string): Progress {
  let seconds = 0
  let isShown = false
  const timer = setInterval(() => {
    seconds++
    // Not asked before: to wake the stream costs a short command a millisecond.
    isShown = isWanted(context)
    if (isShown) writeError(`${CLEAR_LINE}${what} … ${seconds}s`)
  }, SHOW_AFTER_MS)
  return {
    done() {
      clearInterval(timer)
      if (isShown) writeError(CLEAR_LINE)
    },
  }
}

const isWanted = ({ quiet, json }: Context): boolean => !quiet && !json && isTerminal(2)
