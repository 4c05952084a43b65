/** `gatewayctl balance top-up`: adds money, once per reference. */
import { dollars } from '#domain/money.ts'
import { action, type Mount } from '../action.ts'
import { readAmount } from '../flags/read-amount.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { paint, print, printJson, printNote } from '../terminal/output.ts'

interface Flags {
  readonly ref?: string
  readonly note?: string
}

export const mount: Mount = (balance) =>
  balance
    .command('top-up')
    .description('add money to the balance')
    .argument('<amount>', 'dollars: 50, 50.00 or $50; or rubles at the current rate: 1850rub')
    .option('--ref <id>', 'your own reference; each one is applied only once')
    .option('--note <text>', 'a note for the ledger')
    .action(
      action(async (context, amount: string, flags: Flags) => {
        const record = await call(context, 'balance.top-up', {
          ...context.accountInput,
          amount_usd: await readAmount(context, 'the amount', amount),
          ref: flags.ref,
          note: flags.note,
        })
        if (context.json) return printJson(record)
        if (context.quiet) return print(record.entry.id)
        printNote(
          context,
          record.applied
            ? `${paint(context, 'green', '✓')} topped up by ${dollars(record.entry.amount_usd)} (${record.entry.id})`
            : `! reference ${clean(record.entry.ref ?? '')} was already applied (${record.entry.id}); nothing changed`,
        )
        print(`balance ${dollars(record.balance_usd)}`)
      }),
    )
