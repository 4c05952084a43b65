/** `gatewayctl accounts close`: revokes the keys of an account and ends it; its books stay. */
import { dollars } from '#domain/money.ts'
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { noteDone, print, printJson } from '../terminal/output.ts'

export const mount: Mount = (accounts) =>
  accounts
    .command('close')
    .description('revoke all keys of an account and end it; its books stay')
    .argument('<account>', 'name or id')
    .action(
      action(async (context, account: string) => {
        const { name, id, keys, balance_usd } = await call(context, 'accounts.show', {
          name: account,
        })
        const what = clean(name)
        await confirm(context, {
          question: `close account ${what}? ${keys === 1 ? 'Its key is' : `Its ${keys} keys are`} revoked, ${dollars(balance_usd)} stay in its books. This cannot be undone.`,
          act: `close ${what}`,
        })
        const closed = await call(context, 'accounts.close', { account: id })
        if (context.json) return printJson(closed)
        noteDone(context, `closed ${what}; keys revoked: ${closed.revoked_keys}`)
        if (context.quiet) print(closed.id)
      }),
    )
