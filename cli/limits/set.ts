/** `gatewayctl limits set`: changes the given limits from the next request on, and prints the changes. */
import { shellWord } from '#forms/shell-word.ts'
import { action, type Mount } from '../action.ts'
import { usageError } from '../exit.ts'
import { addLimitFlags, type LimitFlags, readLimitFlags } from '../flags/limit-flags.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { print, printJson, printNote } from '../terminal/output.ts'
import { describeChange } from './describe-change.ts'

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
          const moves = changes.map(describeChange).join(', ')
          print(context.quiet ? id : clean(`${name}: ${moves || 'nothing changed'}`))
        }
      }),
    )
