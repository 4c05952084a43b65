/** Prompts at a terminal: Ctrl-C interrupts the command, end of input declines, Ctrl-Z stops it until `fg`. */
import { CommandError, EXIT } from '../exit.ts'
import { writeError } from './streams.ts'

/** The error for Ctrl-C at a prompt. */
export const interrupted = (message: string): CommandError =>
  new CommandError('interrupted', EXIT.interrupted, message)

/** Until it is undone: a prompt that Ctrl-Z has stopped pauses its input when it goes on, and would read no key any more. */
export function keepReading(): () => void {
  const resume = (): void => void setImmediate(() => process.stdin.resume())
  process.on('SIGCONT', resume)
  return () => void process.off('SIGCONT', resume)
}

export interface Prompt {
  /** The typed answer. @throws CommandError 130 for Ctrl-C, 5 at the end of input */
  ask(question: string): Promise<string>
  close(): void
}

/** `message`: what did not happen, where no answer comes. */
export async function openPrompt(message: string): Promise<Prompt> {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const { promise: left, reject } = Promise.withResolvers<never>()
  left.catch(() => {})
  terminal.once('SIGINT', () => reject(interrupted(message)))
  terminal.once('close', () => reject(new CommandError('declined', EXIT.unconfirmed, message)))
  terminal.once('close', keepReading())
  return {
    async ask(question) {
      try {
        return (await Promise.race([left, terminal.question(question)])).trim()
      } catch (thrown) {
        // Separates the prompt from the error.
        writeError('\n')
        throw thrown
      }
    },
    close: () => terminal.close(),
  }
}
