/** `gatewayctl balance show`: what is left to spend. */
import { dollars } from '#domain/money.ts'
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { printRecord } from '../terminal/output.ts'

export const mount: Mount = (balance) =>
  balance
    .command('show')
    .description('show the balance')
    .action(
      action(async (context) => {
        const record = await call(context, 'balance.show', context.accountInput)
        printRecord(context, record, record.balance_usd, [
          ['account', record.account],
          ['balance', dollars(record.balance_usd)],
          ['in rubles', `${record.balance_rub} ₽ at ${record.rub_per_usd}`],
        ])
      }),
    )
