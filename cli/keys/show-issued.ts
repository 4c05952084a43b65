/** Shows a secret its one time: on standard output alone, or as lines for a shell. */
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { clean } from '../terminal/clean.ts'
import { paint, print, tell, toJson } from '../terminal/output.ts'
import { showOnce } from '../terminal/show-once.ts'
import { describeLimits } from './describe-limits.ts'
import type { SecretFile } from './secret-file.ts'
import { whereServed } from './where-served.ts'

type Issued = VerbRecord<'keys.create'>
/** On standard output, as it is or as lines for a shell, or in a file. */
type Shown = 'secret' | 'env' | SecretFile

interface Telling {
  readonly act: 'created' | 'rotated'
  /** One more line for the reader. */
  readonly note?: string
}

/** `--quiet` still prints the secret: an id alone would destroy its only copy. @throws CommandError 1 where that is lost */
export async function showIssued(
  context: Context,
  issued: Issued,
  shown: Shown,
  { act, note }: Telling = { act: 'created' },
): Promise<void> {
  const { id, key, warnings } = issued
  const name = clean(issued.name)
  const done = `${act} key ${name} (${id})`
  const help = `gatewayctl keys rotate ${id}        or: gatewayctl keys revoke ${id}`
  const isKept = typeof shown === 'object'
  if (isKept) showOnce(() => shown.keep(key), { done, help })
  for (const warning of warnings) tell(context, `! ${clean(warning)}`)
  tell(context, `${paint(context, 'green', '✓')} ${done}`)
  const result = context.json ? toJson(issued) : await resultOf(context, issued, shown)
  if (isKept) print(result)
  else showOnce(() => print(result), { done, help })
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
  if (typeof shown === 'object') return id
  return shown === 'secret'
    ? key
    : `export OPENAI_BASE_URL=${await whereServed(context)}\nexport OPENAI_API_KEY=${key}`
}
