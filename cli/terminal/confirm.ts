/** Confirmation: a prompt at a terminal, `--yes` in a script. */
import type { Context } from '../context.ts'
import { CommandError, EXIT, usageError } from '../exit.ts'
import { openPrompt } from './prompt.ts'
import { repeatCommand } from './typed-flags.ts'

export interface Consent {
  /** "revoke prod-web? 6 requests in flight (they will finish)" */
  readonly question: string
  /** "revoke prod-web" */
  readonly act: string
}

/** Returns when the operator agrees. @throws CommandError 5 when prompts are off or the answer is no, 130 for Ctrl-C */
export async function confirm(context: Context, { question, act }: Consent): Promise<void> {
  if (context.yes) return
  if (!context.canPrompt()) throw unconfirmed(act, repeatCommand(context.typed, '--yes'))
  if (/^y(es)?$/i.test(await ask(`${question} [y/N] `, act))) return
  throw new CommandError('declined', EXIT.unconfirmed, `did not ${act}`)
}

export interface NamedConsent extends Consent {
  /** What must be typed, or given by `--confirm`; `--yes` is not enough. */
  readonly name: string
  readonly confirmed: string | undefined
}

/** For overwriting: returns when the operator has given the name. @throws CommandError 2 for another name, 5, 130 */
export async function confirmByName(context: Context, consent: NamedConsent): Promise<void> {
  const { name, confirmed, question, act } = consent
  if (confirmed === name) return
  const command = repeatCommand(context.typed, '--confirm', name)
  if (confirmed !== undefined) {
    throw usageError(`--confirm must be ${name} (got "${confirmed}")`, command)
  }
  if (!context.canPrompt()) throw unconfirmed(act, command)
  if ((await ask(`${question}\ntype ${name} to continue: `, act)) === name) return
  throw new CommandError('declined', EXIT.unconfirmed, `did not ${act}`)
}

const unconfirmed = (act: string, command: string): CommandError =>
  new CommandError(
    'confirmation_required',
    EXIT.unconfirmed,
    `refusing to ${act} without confirmation (${process.stdin.isTTY ? '--no-input' : 'stdin is not a terminal'})`,
    command,
  )

/** @throws CommandError 130 for Ctrl-C, 5 at the end of input */
async function ask(question: string, act: string): Promise<string> {
  const prompt = await openPrompt(`did not ${act}`)
  try {
    return await prompt.ask(question)
  } finally {
    prompt.close()
  }
}
