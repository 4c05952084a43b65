/** Prints a new secret once: alone on standard output, as lines for a shell, or into a file. */
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { clean, toJson } from '../terminal/clean.ts'
import { noteDone, print, printNote } from '../terminal/output.ts'
import { showOnce } from '../terminal/show-once.ts'
import { describeLimits } from './describe-limits.ts'
import type { SecretFile } from './secret-file.ts'
import { servedBaseUrl } from './served-base-url.ts'

type Issued = VerbRecord<'keys.create'>
/** Where the secret goes: standard output, export lines, or a file. */
type Shown = 'secret' | 'env' | SecretFile

interface IssueMessage {
  readonly act: 'created' | 'rotated'
  /** An additional line. */
  readonly note?: string
}

/** `--quiet` still prints the secret: an id alone would lose its only copy. @throws CommandError 1 where it cannot be written */
export async function showIssued(
  context: Context,
  issued: Issued,
  shown: Shown,
  { act, note }: IssueMessage = { act: 'created' },
): Promise<void> {
  const { id, key, warnings } = issued
  const name = clean(issued.name)
  const done = `${act} key ${name} (${id})`
  const help = `gatewayctl keys rotate ${id}        or: gatewayctl keys revoke ${id}`
  const isKept = typeof shown === 'object'
  if (isKept) showOnce(() => shown.keep(key), { done, help })
  for (const warning of warnings) printNote(context, `! ${clean(warning)}`)
  noteDone(context, done)
  const result = context.json ? toJson(issued) : await resultOf(context, issued, shown)
  if (isKept) print(result)
  else showOnce(() => print(result), { done, help })
  if (note !== undefined) printNote(context, note)
  if (shown !== 'secret' || context.quiet || context.json) return
  const address = await servedBaseUrl(context)
  const isOrdinary = issued.kind === 'ordinary'
  printNote(
    context,
    [
      '  Shown once; only its hash is stored.',
      isOrdinary
        ? `  limits  ${describeLimits(issued)}`
        : '  manages the keys of its account, calls no models',
      isOrdinary
        ? `next: export OPENAI_BASE_URL=${address} OPENAI_API_KEY=if-…`
        : `next: curl -H 'Authorization: Bearer if-…' ${address}/keys`,
      // The id, as the name may be shared with another key or need quoting.
      `      gatewayctl keys show ${issued.id}`,
    ].join('\n'),
  )
}

/** `--env` is only for keys that call models. @throws CommandError 2 */
export function demandEnvFits(kind: string | undefined): void {
  if (kind !== 'provisioning') return
  throw usageError('--env prints variables for an application; a provisioning key calls no models')
}

async function resultOf(context: Context, { id, key }: Issued, shown: Shown): Promise<string> {
  if (typeof shown === 'object') return id
  return shown === 'secret'
    ? key
    : `export OPENAI_BASE_URL=${await servedBaseUrl(context)}\nexport OPENAI_API_KEY=${key}`
}
