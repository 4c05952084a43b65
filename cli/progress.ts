/** A line of progress on standard error, for a person who would wait longer than a second; a script sees none. */
import type { Context } from './context.ts'
import { isTerminal, writeError } from './streams.ts'

export interface Progress {
  /** Takes the line away again. */
  readonly done: () => void
}

const SILENT: Progress = { done: () => {} }
const CLEAR_LINE = '\r\u001b[K'

/** Shows `what` at once: the work itself may keep this process from ever telling later. */
export function showProgress({ quiet, json }: Context, what: string): Progress {
  if (quiet || json || !isTerminal(2)) return SILENT
  writeError(`${what} …`)
  return { done: () => writeError(CLEAR_LINE) }
}
