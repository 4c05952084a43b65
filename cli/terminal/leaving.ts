/** A question at a terminal, and leaving it: Ctrl-C interrupts the command, the end of input declines. */
import type { Interface } from 'node:readline/promises'
import { CommandError, EXIT } from '../exit.ts'
import { writeError } from './streams.ts'

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

/** What was typed; what is told of somebody who has left begins on a line of its own. @throws what `left` rejects with */
export async function answerTo(
  terminal: Interface,
  question: string,
  left: Promise<never>,
): Promise<string> {
  try {
    return (await Promise.race([left, terminal.question(question)])).trim()
  } catch (thrown) {
    writeError('\n')
    throw thrown
  }
}
