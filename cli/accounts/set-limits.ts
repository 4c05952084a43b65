/** `gatewayctl accounts set-limits`: what all keys of an account together may do, from the next request on. */
import { shellWord } from '#forms/shell-word.ts'
import { action, type Mount } from '../action.ts'
import { usageError } from '../exit.ts'
import { addLimitFlags, type LimitFlags, readLimitFlags } from '../flags/limit-flags.ts'
import { call } from '../gateway/operator.ts'
import { describeChange } from '../limits/describe-change.ts'
import { clean } from '../terminal/clean.ts'
import { print, printJson, printNote } from '../terminal/output.ts'

export const mount: Mount = (accounts) =>
  addLimitFlags(
    accounts
      .command('set-limits')
      .description('limit what all keys of an account together do, beside the limits of each')
      .argument('<account>', 'name or id'),
    'account',
  ).action(
    action(async (context, account: string, flags: LimitFlags) => {
      const stated = await readLimitFlags(context, flags, null)
      if (Object.keys(stated).length === 0) {
        throw usageError(
          'no limit given',
          `gatewayctl accounts set-limits ${shellWord(account)} --monthly-usd 500`,
        )
      }
      const amended = await call(context, 'accounts.set-limits', { ...stated, account })
      if (context.json) return printJson(amended)
      for (const warning of amended.warnings) printNote(context, `! ${clean(warning)}`)
      const moves = amended.changes.map(describeChange).join(', ')
      print(context.quiet ? amended.id : clean(`${amended.name}: ${moves || 'nothing changed'}`))
    }),
  )
