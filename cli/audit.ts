/** `gatewayctl audit`: recomputes every balance, day and month from the ledger; exit 1 on any difference. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from './action.ts'
import type { Context } from './context.ts'
import { EXIT, endWith } from './exit.ts'
import { call } from './gateway/operator.ts'
import { clean } from './terminal/clean.ts'
import { count } from './terminal/count.ts'
import { paint, print, printJson } from './terminal/output.ts'

export const mount: Mount = (root) =>
  root
    .command('audit')
    .description('recompute every balance, day and month from the ledger; exit 1 on any difference')
    .action(
      action(async (context) => {
        const audit = await call(context, 'audit', {})
        if (!audit.clean) endWith(EXIT.failed)
        if (context.json) return printJson(audit)
        if (context.quiet) return
        for (const { message } of audit.findings) {
          print(`${paint(context, 'red', '✖')} ${clean(message)}`)
        }
        if (audit.found > audit.findings.length) {
          print(`… and ${audit.found - audit.findings.length} more`)
        }
        printBeyondHold(context, audit)
        print(summaryOf(audit))
      }),
    )

/** Charges that nothing is wrong with in the books, but with the provider. */
function printBeyondHold(context: Context, audit: VerbRecord<'audit'>): void {
  const { beyond_hold: some, latest_beyond_hold: latest } = audit
  if (some === 0) return
  const charges = count(some, 'charge')
  print(
    `${paint(context, 'yellow', '!')} ${charges} beyond what was held, because a provider counted more than it was bound to:`,
  )
  for (const { id, cost_usd: cost, held_usd: held } of latest) {
    print(`  ${clean(id)}  $${cost}, held $${held}`)
  }
  if (some > latest.length) print(`  and ${some - latest.length} older`)
}

function summaryOf(audit: VerbRecord<'audit'>): string {
  const what = [
    count(audit.entries, 'entry', 'entries'),
    count(audit.accounts, 'account'),
    count(audit.key_days, 'key day'),
    count(audit.end_user_days, 'end-user day'),
    `${count(audit.open_holds, 'hold')} in progress`,
  ].join(', ')
  return audit.clean
    ? `audit clean: ${what}`
    : `audit found ${count(audit.found, 'difference')} in ${what}`
}
