/** Shows a secret its one time: on standard output alone, or as lines for a shell. */
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { clean } from '../terminal/clean.ts'
import { paint, print, printJson, tell } from '../terminal/output.ts'
import { describeLimits } from './describe-limits.ts'
import { whereServed } from './where-served.ts'

type Issued = VerbRecord<'keys.create'>
type Shown = 'secret' | 'env' | 'file'

interface Telling {
  readonly act: 'created' | 'rotated'
  /** One more line for the reader. */
  readonly note?: string
}

/** `--quiet` still prints the secret: an id alone would destroy its only copy. `file`: it is kept there already. */
export async function showIssued(
  context: Context,
  issued: Issued,
  shown: Shown,
  { act, note }: Telling = { act: 'created' },
): Promise<void> {
  for (const warning of issued.warnings) tell(context, `! ${clean(warning)}`)
  const name = clean(issued.name)
  tell(context, `${paint(context, 'green', '✓')} ${act} key ${name} (${issued.id})`)
  if (context.json) printJson(issued)
  else print(await resultOf(context, issued, shown))
  if (note !== undefined) tell(context, note)
  if (shown !== 'secret' || context.quiet || context.json) return
  tell(
    context,
    [
      '  Shown once; only its hash is stored.',
      `  limits  ${describeLimits(issued)}`,
      `next: export OPENAI_BASE_URL=${await whereServed(context)} OPENAI_API_KEY=if-…`,
      `      gatewayctl keys show ${name}`,
    ].join('\n'),
  )
}

async function resultOf(context: Context, { id, key }: Issued, shown: Shown): Promise<string> {
  if (shown === 'file') return id
  return shown === 'secret'
    ? key
    : `export OPENAI_BASE_URL=${await whereServed(context)}\nexport OPENAI_API_KEY=${key}`
}
