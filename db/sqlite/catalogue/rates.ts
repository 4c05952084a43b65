/** Changes of the exchange rate in SQLite. */
import type { Instant } from '#domain/clock.ts'
import { renderRubPerUsd } from '#domain/money.ts'
import type { Rates } from '#domain/rate.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import type { HeldCatalogue } from './catalogue.ts'

export function createRates({ database }: Connection, catalogue: HeldCatalogue): Rates {
  const overtake = statement<unknown, [Instant]>(
    database,
    'DELETE FROM rates WHERE effective_from > ? AND ahead = 0',
  )
  const write = statement<unknown, [Instant, string, number]>(
    database,
    `INSERT INTO rates (effective_from, rub_per_usd, ahead) VALUES (?, ?, ?)
     ON CONFLICT (effective_from) DO UPDATE SET rub_per_usd = excluded.rub_per_usd, ahead = excluded.ahead`,
  )
  return {
    async set(rubPerUsd, effectiveFrom, act, expected) {
      if (catalogue.isStale(expected)) return 'stale'
      await catalogue.change(act, () => {
        const { at } = act
        const isAhead = effectiveFrom > at
        if (!isAhead) overtake().run(at)
        write().run(effectiveFrom, renderRubPerUsd(rubPerUsd), Number(isAhead))
      })
      return undefined
    },
  }
}
