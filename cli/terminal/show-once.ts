/** Output that is shown only once: if it cannot be written, the error says that it is lost, and how to get a new one. */
import { CommandError, EXIT } from '../exit.ts'
import { isReaderGone, UnwritableError } from './streams.ts'

export interface OnlyCopy {
  /** What has been done in any case: "created key web (key_01…)". */
  readonly done: string
  /** The command that makes another secret. */
  readonly help: string
}

/** Writes a secret. @throws CommandError 1 where it was not delivered */
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
