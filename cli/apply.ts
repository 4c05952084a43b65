/** `gatewayctl apply`: makes the gateway match a file; prints the plan first, and deletes only with `--prune`. */
import { GatewayError } from '#domain/errors.ts'
import type { VerbInput, VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from './action.ts'
import { countSteps, renderSteps } from './apply/render-plan.ts'
import type { Context } from './context.ts'
import { CommandError, EXIT, usageError } from './exit.ts'
import { fileFault } from './file-fault.ts'
import { readInput } from './flags/read-input.ts'
import { call } from './gateway/operator.ts'
import { reserveFile, type SecretFile } from './keys/secret-file.ts'
import { clean } from './terminal/clean.ts'
import { confirm } from './terminal/confirm.ts'
import { noteDone, print, printJson, printNote } from './terminal/output.ts'
import { showOnce } from './terminal/show-once.ts'
import { inFile, lineOf, lineOfFault } from './toml-lines.ts'

interface Flags {
  readonly file: string
  readonly dryRun?: boolean
  readonly prune?: boolean
  readonly secretsOut?: string
}

type PlanInput = VerbInput<'plan'>
type Plan = VerbRecord<'plan'>
type Applied = VerbRecord<'apply'>

export const mount: Mount = (root) =>
  root
    .command('apply')
    .description('make keys, limits, accounts, providers, models … match a file')
    .requiredOption(
      '-f, --file <file>',
      'TOML as written by `gatewayctl export`; - is standard input',
    )
    .option('--dry-run', 'show the plan and change nothing')
    .option('--prune', 'also remove what the sections of the file do not list')
    .option('--secrets-out <file>', 'write secrets of new keys and clients to a new file (0600)')
    .action(
      action(async (context, flags: Flags) => {
        const text = await readText(flags.file)
        const file: ReadFile = { path: flags.file, text }
        const input: PlanInput = { document: parse(file), prune: flags.prune === true }
        const plan = await withPlaceInFile(file, () => call(context, 'plan', input))
        if (flags.dryRun) return showDryRun(context, plan)
        for (const line of renderSteps(context, plan.steps)) printNote(context, line)
        if (plan.steps.length === 0) {
          if (context.json)
            printJson({ ...plan, done: 0, secrets: [], warnings: [], failure: null })
          noteDone(context, 'nothing to change')
          return
        }
        const credentials = readCredentials(context, plan)
        await confirm(context, {
          question: `${countSteps(plan.steps)}: continue?`,
          act: `apply ${flags.file}`,
        })
        const secrets = flags.secretsOut === undefined ? null : reserveFile(flags.secretsOut)
        try {
          const applied = await withPlaceInFile(file, () =>
            call(context, 'apply', { ...input, plan: plan.plan, credentials }),
          )
          showApplied(context, applied, secrets)
        } finally {
          secrets?.close()
        }
      }),
    )

function showDryRun(context: Context, plan: Plan): void {
  if (context.json) printJson(plan)
  else for (const line of renderSteps(context, plan.steps)) print(line)
  printNote(context, plan.steps.length === 0 ? 'nothing to change' : countSteps(plan.steps))
}

/** A file with a hundred thousand keys. */
const MAX_DOCUMENT_BYTES = 32 * 1024 * 1024

interface ReadFile {
  readonly path: string
  readonly text: string
}

const readText = (path: string): Promise<string> =>
  readInput(path, MAX_DOCUMENT_BYTES).catch((cause: unknown) => {
    if (cause instanceof CommandError) throw cause
    throw new CommandError('unreadable', EXIT.failed, `cannot read ${path}: ${fileFault(cause)}`)
  })

function parse({ path, text }: ReadFile): PlanInput['document'] {
  try {
    return Bun.TOML.parse(text) as PlanInput['document']
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : cause
    throw usageError(`${inFile(path, lineOfFault(text))} is not TOML: ${why}`)
  }
}

/** Turns a refusal into an error that names the place in the file. */
async function withPlaceInFile<Answer>(
  { path, text }: ReadFile,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask()
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.code !== 'invalid_request') throw thrown
    const place = thrown.details.param?.replace(/^document\.?/, '') ?? ''
    const words = thrown.message.replace(/^document\.?[^:]*: /, '')
    throw new CommandError(
      thrown.code,
      EXIT.failed,
      `${inFile(path, place === '' ? null : lineOf(text, place.split('.')))}: ${place === '' || words.startsWith(place) ? '' : `${place}: `}${words}`,
      thrown.details.hint ?? 'docs/operator/file.md',
    )
  }
}

/** Reads credentials before anything is changed. @throws CommandError 2 when a variable is not set */
function readCredentials({ env }: Context, { credentials }: Plan): Record<string, string> {
  return Object.fromEntries(
    credentials.map(({ provider, from_env }) => {
      const credential = env[from_env]?.trim()
      if (credential) return [provider, credential]
      throw usageError(
        `provider ${provider} takes its credential from ${from_env}, which is not set`,
        `export ${from_env}=…`,
      )
    }),
  )
}

function showApplied(context: Context, applied: Applied, file: SecretFile | null): void {
  const { secrets, warnings, failure, done, steps } = applied
  const lines = secrets.map(({ kind, name, id, secret }) =>
    [kind, name, id ?? '', secret].join('\t'),
  )
  const copy = {
    done: `created ${secrets.map(({ kind, name }) => `${kind} ${clean(name)}`).join(', ')}`,
    help: 'gatewayctl keys rotate KEY, or gatewayctl clients rotate-secret ID, for each of them',
  }
  if (file && lines.length > 0) showOnce(() => file.keep(lines.join('\n')), copy)
  for (const warning of warnings) printNote(context, `! ${clean(warning)}`)
  if (context.json) {
    if (file) printJson({ ...applied, secrets: secrets.map(({ secret: _, ...rest }) => rest) })
    else if (lines.length > 0) showOnce(() => printJson(applied), copy)
    else printJson(applied)
  } else if (!file) {
    if (lines.length > 0) showOnce(() => print(lines.join('\n')), copy)
    if (lines.length > 0) printNote(context, '  Shown once; only hashes are stored.')
  }
  if (failure) {
    const { step, code, message } = failure
    throw new CommandError(
      code,
      EXIT.failed,
      `${done} of ${steps.length} steps are done; ${step.kind} ${clean(step.name)} failed: ${message}`,
      'fix that and apply again: completed steps are not repeated',
    )
  }
  noteDone(context, countSteps(steps, true))
}
