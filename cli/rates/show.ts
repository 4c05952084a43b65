/** `gatewayctl rates show`: the exchange rate to rubles. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { printRecord } from '../terminal/output.ts'

export const mount: Mount = (rates) =>
  rates
    .command('show')
    .description('show the exchange rate to rubles')
    .action(
      action(async (context) => {
        const rate = await call(context, 'rates.show', {})
        printRecord(context, rate, rate.rub_per_usd, [
          [rate.pair, rate.rub_per_usd],
          ['since', rate.effective_from ?? 'always: the default, nobody has set it'],
        ])
      }),
    )
