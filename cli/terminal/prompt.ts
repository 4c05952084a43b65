/** Prompts at a terminal: Ctrl-C interrupts the command, end of input declines. */
import type { Interface } from 'node:readline/promises'
import { CommandError, EXIT } from '../exit.ts'
import { writeError } from './streams.ts'

/** The error for Ctrl-C at a prompt. */
export const interrupted = (message: string): CommandError =>
  new CommandError('interrupted', EXIT.interrupted, message)

/** Rejects with `message` on Ctrl-C or end of input; never resolves. To be raced against the answer. */
export function rejectOnExit(terminal: Interface, message: string): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  terminal.once('SIGINT', () => reject(interrupted(message)))
  terminal.once('close', () => reject(new CommandError('declined', EXIT.unconfirmed, message)))
  promise.catch(() => {})
  return promise
}

/** The typed answer. A newline separates the prompt from an error. @throws what `left` rejects with */
export async function readAnswer(
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
