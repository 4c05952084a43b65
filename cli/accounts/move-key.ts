/** `gatewayctl accounts move-key`: a key becomes another account's, with its secret and its limits. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { print, printJson } from '../terminal/output.ts'

export const mount: Mount = (accounts) =>
  accounts
    .command('move-key')
    .description('give a key to another account, from its next request on')
    .argument('<key>', 'id, name or shown prefix')
    .argument('<account>', 'name or id of the account that gets it')
    .action(
      action(async (context, key: string, to: string) => {
        const found = await call(context, 'keys.show', { ...context.accountInput, key })
        const target = await call(context, 'accounts.show', { name: to })
        const name = clean(found.name)
        await confirm(context, {
          question: `move ${name} from account ${clean(found.account)} to ${clean(target.name)}? Its requests are then paid from there.`,
          act: `move ${name}`,
        })
        const moved = await call(context, 'accounts.move-key', { key: found.id, to: target.id })
        if (context.json) return printJson(moved)
        const { id, moved_from, account } = moved
        print(context.quiet ? id : clean(`${moved.name}: account ${moved_from} → ${account}`))
      }),
    )
