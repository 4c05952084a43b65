/** Leaving a question: Ctrl-C interrupts the command, the end of input declines. */
import type { Interface } from 'node:readline/promises'
import { CommandError, EXIT } from '../exit.ts'

/** Ctrl-C while somebody was asked. */
export const interrupted = (message: string): CommandError =>
  new CommandError('interrupted', EXIT.interrupted, message)

/** Never resolves: rejects, with what has not been done, when the person has gone. Wait for it beside the answer. */
export function leaving(terminal: Interface, message: string): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  terminal.once('SIGINT', () => reject(interrupted(message)))
  terminal.once('close', () => reject(new CommandError('declined', EXIT.unconfirmed, message)))
  promise.catch(() => {})
  return promise
}
