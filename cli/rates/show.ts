/** `gatewayctl rates show`: the exchange rate to rubles, and scheduled changes. */
import { readInstant } from '#domain/clock.ts'
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { printRecord } from '../terminal/output.ts'

export const mount: Mount = (rates) =>
  rates
    .command('show')
    .description('show the exchange rate to rubles, and scheduled changes')
    .action(
      action(async (context) => {
        const rate = await call(context, 'rates.show', {})
        const now = context.clock.now()
        const later = rate.history
          .filter(({ effective_from }) => (readInstant(effective_from ?? '') ?? now) > now)
          .toReversed()
        printRecord(context, rate, rate.rub_per_usd, [
          [rate.pair, rate.rub_per_usd],
          ['since', rate.effective_from ?? 'always: the default, not set by an operator'],
          ...later.map(
            ({ rub_per_usd, effective_from }) => [`from ${effective_from}`, rub_per_usd] as const,
          ),
        ])
      }),
    )
