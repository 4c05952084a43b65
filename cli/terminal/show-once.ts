/** What is shown this once: where it cannot be written its only copy is lost, and that is said, with what helps. */
import { CommandError, EXIT } from '../exit.ts'
import { isReaderGone, UnwritableError } from './streams.ts'

export interface OnlyCopy {
  /** What has been done all the same: "created key web (key_01…)". */
  readonly done: string
  /** The command that makes another secret. */
  readonly help: string
}

/** Writes a secret. @throws CommandError 1 where it has reached nobody */
export function showOnce(write: () => void, { done, help }: OnlyCopy): void {
  const lost = (why: string): CommandError =>
    new CommandError('secret_lost', EXIT.failed, `${done}, but its secret is lost: ${why}`, help)
  try {
    write()
  } catch (cause) {
    throw cause instanceof UnwritableError ? lost(cause.message) : cause
  }
  if (isReaderGone()) throw lost('standard output is closed')
}
