/** Consent: a person is asked, a script must have said `--yes`. */
import type { Context } from './context.ts'
import { CommandError, EXIT } from './exit.ts'

export interface Consent {
  /** "revoke prod-web? 6 requests in flight (they will finish)" */
  readonly question: string
  /** "revoke prod-web" */
  readonly act: string
  /** The same command with `--yes`. */
  readonly command: string
}

/** Returns when the operator agrees. @throws CommandError 5 when nobody may be asked, or the answer is no */
export async function confirm(
  context: Context,
  { question, act, command }: Consent,
): Promise<void> {
  if (context.yes) return
  if (!context.mayAsk()) {
    throw new CommandError(
      'confirmation_required',
      EXIT.unconfirmed,
      `refusing to ${act} without confirmation (${process.stdin.isTTY ? '--no-input' : 'stdin is not a terminal'})`,
      command,
    )
  }
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${question} [y/N] `)
  terminal.close()
  if (/^y(es)?$/i.test(answer.trim())) return
  throw new CommandError('declined', EXIT.unconfirmed, `did not ${act}`)
}
