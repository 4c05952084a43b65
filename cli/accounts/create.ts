/** `gatewayctl accounts create`: another owner of keys and a balance. */
import { shellWord } from '#forms/shell-word.ts'
import { action, type Mount } from '../action.ts'
import { addLimitFlags, type LimitFlags, readLimitFlags } from '../flags/limit-flags.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { noteDone, print, printJson, printNote } from '../terminal/output.ts'

export const mount: Mount = (accounts) =>
  addLimitFlags(
    accounts
      .command('create')
      .description('create an account with an empty balance and no key')
      .argument('<name>', 'name of the account'),
    'account',
  ).action(
    action(async (context, text: string, flags: LimitFlags) => {
      const limits = await readLimitFlags(context, flags, null)
      const record = await call(context, 'accounts.create', { ...limits, name: text })
      if (context.json) return printJson(record)
      const name = clean(record.name)
      noteDone(context, `created account ${name}`)
      print(record.id)
      const word = shellWord(name)
      printNote(context, `next: gatewayctl balance top-up 50 --account ${word}`)
      printNote(context, `      gatewayctl keys create NAME --account ${word}`)
    }),
  )
