/** `gatewayctl keys edit`: name, note, expiry and enabled state of a key, from its next request on. */
import { definedIn } from '#domain/stated.ts'
import { shellWord } from '#forms/shell-word.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { usageError } from '../exit.ts'
import { readUntil } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { print, printJson, printNote } from '../terminal/output.ts'

interface Flags {
  readonly name?: string
  readonly note?: string
  readonly disable?: boolean
  readonly enable?: boolean
  readonly expires?: string
}

export const mount: Mount = (keys) =>
  keys
    .command('edit')
    .description('rename, annotate, disable or enable a key, or set when it expires')
    .argument('<key>', 'id, name or shown prefix')
    .option('--name <text>', 'new name')
    .option('--note <text>', "a note for yourself; '' removes it")
    .option('--disable', 'refuse its requests until it is enabled')
    .option('--enable', 'accept its requests again')
    .option('--expires <time>', 'expiry: 30d, 2026-12-01T00:00:00Z, never')
    .action(
      action(async (context, key: string, flags: Flags) => {
        if (flags.disable && flags.enable) {
          throw usageError('--disable and --enable cannot be combined')
        }
        const { name, note, expires } = flags
        const stated = definedIn({
          name,
          note: note === '' ? null : note,
          disabled: flags.disable || flags.enable ? flags.disable === true : undefined,
          expires_at: readUntil('--expires', expires, context.clock.now()),
        })
        if (Object.keys(stated).length === 0) {
          throw usageError('no change given', `gatewayctl keys edit ${shellWord(key)} --name NEW`)
        }
        const edited = await call(context, 'keys.edit', { ...context.accountInput, key, ...stated })
        if (context.json) return printJson(edited)
        for (const warning of edited.warnings) printNote(context, `! ${clean(warning)}`)
        const changes = edited.changes.map(describe).join(', ')
        print(context.quiet ? edited.id : clean(`${edited.name}: ${changes || 'nothing changed'}`))
      }),
    )

/** "name ci → ci-2", "disabled", "expires never → 2026-12-01T00:00:00Z" */
function describe({ field, from, to }: VerbRecord<'keys.edit'>['changes'][number]): string {
  if (field === 'disabled') return to ? 'disabled' : 'enabled'
  if (field === 'expires_at') return `expires ${from ?? 'never'} → ${to ?? 'never'}`
  return `${field} ${from ?? 'none'} → ${to ?? 'none'}`
}
