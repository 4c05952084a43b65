/** `gatewayctl limits set`: changes the given limits from the next request on, and prints the changes. */
import { limitNamed } from '#domain/limits.ts'
import { shellWord } from '#forms/shell-word.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { usageError } from '../exit.ts'
import { addLimitFlags, type LimitFlags, readLimitFlags } from '../flags/limit-flags.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { print, printJson, printNote } from '../terminal/output.ts'

type Change = VerbRecord<'limits.set'>[number]['changes'][number]

export const mount: Mount = (limits) =>
  addLimitFlags(limits.command('set').description('change limits from the next request on'))
    .argument('<key...>', 'ids, names or shown prefixes')
    .action(
      action(async (context, keys: readonly string[], flags: LimitFlags) => {
        const words = keys.map(shellWord).join(' ')
        const stated = await readLimitFlags(context, flags, words)
        if (Object.keys(stated).length === 0) {
          throw usageError('no limit given', `gatewayctl limits set ${words} --rpm 60`)
        }
        const amended = await call(context, 'limits.set', {
          ...context.accountInput,
          ...stated,
          keys: [...keys],
        })
        if (context.json) return printJson(amended.length === 1 ? amended[0] : amended)
        for (const { id, name, changes, warnings } of amended) {
          for (const warning of warnings) printNote(context, `! ${clean(warning)}`)
          const moves = changes.map(describe).join(', ')
          print(context.quiet ? id : clean(`${name}: ${moves || 'nothing changed'}`))
        }
      }),
    )

/** "rpm 60 → 120" */
function describe({ limit, from, to }: Change): string {
  const unset = limit === 'allowed_models' ? 'all' : 'none'
  const text = (value: Change['from']): string =>
    value === null ? unset : Array.isArray(value) ? value.join(',') : String(value)
  const title = limit === 'allowed_models' ? 'models' : limitNamed(limit)?.flag
  return `${title} ${text(from)} → ${text(to)}`
}
