/** `gatewayctl rates set`: a new exchange rate from its date on; past charges keep their rate. */
import { readRubPerUsd } from '#domain/money.ts'
import { action, type Mount } from '../action.ts'
import { usageError } from '../exit.ts'
import { readStart } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { confirm } from '../terminal/confirm.ts'
import { print, printJson } from '../terminal/output.ts'

/** A larger change is more likely a typing error, and needs confirmation. */
const LARGE_MOVE_PERCENT = 10

export const mount: Mount = (rates) =>
  rates
    .command('set')
    .description('set the exchange rate to rubles')
    .argument('<pair>', 'USD/RUB')
    .argument('<rate>', 'rubles per dollar, such as 92.50')
    .option('--from <time>', 'when it takes effect; default: now')
    .action(
      action(async (context, pair: string, rate: string, flags: { from?: string }) => {
        if (pair !== 'USD/RUB') {
          throw usageError(
            `the only pair is USD/RUB (got "${pair}")`,
            `gatewayctl rates set USD/RUB ${rate}`,
          )
        }
        if (readRubPerUsd(rate) === undefined) {
          throw usageError(
            `the rate must be rubles per dollar such as 92.50: more than 0, up to 1000000, at most 6 places (got "${rate}")`,
          )
        }
        const from = readStart('--from', flags.from, context.clock.now())
        const before = await call(context, 'rates.show', {})
        const percent = (Number(rate) / Number(before.rub_per_usd) - 1) * 100
        if (before.set_by_operator && Math.abs(percent) > LARGE_MOVE_PERCENT) {
          await confirm(context, {
            question: `move USD/RUB from ${before.rub_per_usd} to ${rate} (${signed(percent)})?`,
            act: `move USD/RUB by ${signed(percent)}`,
          })
        }
        const record = await call(context, 'rates.set', {
          pair,
          rub_per_usd: rate,
          from,
        })
        if (context.json) return printJson(record)
        if (context.quiet) return print(record.rub_per_usd)
        const when = flags.from === undefined ? 'now' : record.effective_from
        print(
          `USD/RUB ${record.previous.rub_per_usd} → ${record.rub_per_usd} (${signed(percent)}), effective ${when}. Charges already in the ledger keep their rate.`,
        )
      }),
    )

const signed = (percent: number): string => `${percent < 0 ? '' : '+'}${percent.toFixed(1)}%`
