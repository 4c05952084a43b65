/** `gatewayctl accounts edit`: what an account allows its members. */
import { action, type Mount } from '../action.ts'
import { usageError } from '../exit.ts'
import { readAmount } from '../flags/read-amount.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { print, printJson } from '../terminal/output.ts'

export const mount: Mount = (accounts) =>
  accounts
    .command('edit')
    .description('set what each key that a member makes may spend in a day at most')
    .argument('<account>', 'name or id')
    .option('--member-daily-usd <usd>', '"default" is $5.00')
    .action(
      action(async (context, account: string, flags: { readonly memberDailyUsd?: string }) => {
        const { memberDailyUsd: text } = flags
        if (text === undefined) throw usageError('edit needs --member-daily-usd')
        const record = await call(context, 'accounts.edit', {
          account,
          member_daily_usd:
            text === 'default' ? null : await readAmount(context, '--member-daily-usd', text),
        })
        if (context.json) return printJson(record)
        if (context.quiet) return print(record.id)
        const [from, to] = [record.previous.member_daily_usd, record.member_daily_usd]
        print(
          clean(
            `${record.name}: ${from === to ? 'nothing changed' : `member_daily_usd ${from} → ${to}`}`,
          ),
        )
      }),
    )
