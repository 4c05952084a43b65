/** `gatewayctl balance adjust`: corrects a balance either way; the ledger keeps the reason. */
import { dollars } from '#domain/money.ts'
import { shellWord } from '#forms/shell-word.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readAmount } from '../flags/read-amount.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { noteDone, print, printJson } from '../terminal/output.ts'

export const mount: Mount = (balance) =>
  balance
    .command('adjust')
    .description('correct the balance, up or down; the ledger keeps the reason')
    .argument('<amount>', 'with a sign: +2.50 or -2.50 dollars, or -185rub at the current rate')
    .requiredOption('--note <text>', 'reason')
    .action(
      action(async (context, amount: string, { note }: { note: string }) => {
        const [sign, size] = await readSigned(context, amount)
        const { account, balance_usd } = await call(context, 'balance.show', context.accountInput)
        if (sign === '-') {
          await confirm(context, {
            question: `subtract $${size} from the balance of ${clean(account)}, now ${dollars(balance_usd)}? This cannot be undone.`,
            act: `subtract $${size} from the balance of ${clean(account)}`,
          })
        }
        const amount_usd = `${sign}${size}`
        const record = await call(context, 'balance.adjust', {
          ...context.accountInput,
          amount_usd,
          note,
        })
        if (context.json) return printJson(record)
        if (context.quiet) return print(record.entry.id)
        noteDone(context, `adjusted by ${dollars(record.entry.amount_usd)} (${record.entry.id})`)
        print(`balance ${dollars(record.balance_usd)}`)
      }),
    )

/** Requires a sign: a missing one is more likely a mistake. */
async function readSigned(
  context: Context,
  text: string,
): Promise<readonly [sign: '+' | '-', dollars: string]> {
  const sign = text[0]
  if (sign === '+' || sign === '-') {
    return [sign, await readAmount(context, 'the amount', text.slice(1))]
  }
  throw usageError(
    `the amount needs a sign, such as +2.50 or -2.50 (got "${text}")`,
    `to add money: gatewayctl balance top-up ${shellWord(text)}`,
  )
}
