/** `gatewayctl accounts show`: one account, its balance, its keys, and its low-balance threshold. */
import { dollars } from '#domain/money.ts'
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { describeLimits } from '../keys/describe-limits.ts'
import { usageFields } from '../limits/usage-fields.ts'
import { printRecord } from '../terminal/output.ts'
import { thresholdFields } from '../thresholds/threshold-fields.ts'

export const mount: Mount = (accounts) =>
  accounts
    .command('show')
    .description('show one account')
    .argument('<name>', 'name or id')
    .action(
      action(async (context, name: string) => {
        const account = await call(context, 'accounts.show', { name })
        printRecord(context, account, account.id, [
          ['name', account.name],
          ['id', account.id],
          ['closed', account.closed_at],
          ['balance', dollars(account.balance_usd)],
          ['keys', account.keys],
          ['members', account.members],
          ...account.owners.map((email) => ['owner', email] as const),
          ['member keys', `at most $${account.member_daily_usd} a day each`],
          ['limits', describeLimits(account)],
          ...usageFields(account),
          ['created', account.created_at],
          ...thresholdFields(context, account),
        ])
      }),
    )
