/** `gatewayctl accounts rename`: another name for an account; its id, keys, money and history stay. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { print, printJson, printNote } from '../terminal/output.ts'

export const mount: Mount = (accounts) =>
  accounts
    .command('rename')
    .description('give an account another name; its id, keys and money stay')
    .argument('<account>', 'name or id')
    .argument('<name>', 'new name')
    .action(
      action(async (context, account: string, name: string) => {
        const record = await call(context, 'accounts.rename', { account, name })
        if (context.json) return printJson(record)
        const changes =
          record.previous === record.name
            ? 'nothing changed'
            : `name ${record.previous} → ${record.name}`
        print(context.quiet ? record.id : clean(`${record.previous}: ${changes}`))
        printNote(context, 'a file for `gatewayctl apply` has to say the new name too')
      }),
    )
