/** Shows a secret its one time: on standard output alone, as shell lines, or in a file of its own. */
import { writeFileSync } from 'node:fs'
import type { VerbRecord } from '#operator/verbs.ts'
import { clean } from '../clean.ts'
import { readBaseUrl } from '../config.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT } from '../exit.ts'
import { paint, print, printJson, tell } from '../output.ts'
import { describeLimits } from './describe-limits.ts'

export interface SecretOutFlags {
  readonly env?: boolean
  readonly out?: string
}

type Issued = VerbRecord<'keys.create'>

/** `--quiet` still prints the secret: an id alone would destroy its only copy. */
export async function showIssued(
  context: Context,
  issued: Issued,
  { env, out }: SecretOutFlags,
): Promise<void> {
  for (const warning of issued.warnings) tell(context, `! ${clean(warning)}`)
  if (out !== undefined) writeSecret(out, issued)
  if (context.json) return printJson(issued)
  const name = clean(issued.name)
  tell(context, `${paint(context, 'green', '✓')} created key ${name} (${issued.id})`)
  if (out !== undefined) return print(issued.id)
  const baseUrl = readBaseUrl(context)
  if (env) {
    return print(`export OPENAI_BASE_URL=${baseUrl}/v1\nexport OPENAI_API_KEY=${issued.key}`)
  }
  if (context.isTerminal) tell(context, '')
  print(context.isTerminal && !context.quiet ? `  ${issued.key}` : issued.key)
  if (context.isTerminal) tell(context, '')
  tell(
    context,
    [
      '  Shown once; only its hash is stored.',
      `  limits  ${describeLimits(issued)}`,
      `next: export OPENAI_BASE_URL=${baseUrl}/v1 OPENAI_API_KEY=if-…`,
      `      gatewayctl keys show ${name}`,
    ].join('\n'),
  )
}

/** A new file of 0600; an existing one is not overwritten, and the secret then stays visible in the error's place. */
function writeSecret(path: string, { key, id }: Issued): void {
  try {
    writeFileSync(path, `${key}\n`, { mode: 0o600, flag: 'wx' })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CommandError(
      'unwritable',
      EXIT.failed,
      `the key was created, but its secret could not be written: ${why}`,
      `gatewayctl keys revoke ${id} --yes, then create it again`,
    )
  }
}
