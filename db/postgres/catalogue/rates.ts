/** Changes of the exchange rate in PostgreSQL. */
import { renderRubPerUsd } from '#domain/money.ts'
import type { Rates } from '#domain/rate.ts'
import type { HeldCatalogue } from './catalogue.ts'

export const createRates = (catalogue: HeldCatalogue): Rates => ({
  async set(rubPerUsd, effectiveFrom, act, expected) {
    const written = await catalogue.change(act, expected, async ({ tx }) => {
      const { at } = act
      const isAhead = effectiveFrom > at
      if (!isAhead) await tx.run('DELETE FROM rates WHERE effective_from > ? AND ahead = 0', at)
      await tx.run(
        `INSERT INTO rates (effective_from, rub_per_usd, ahead) VALUES (?, ?, ?)
         ON CONFLICT (effective_from) DO UPDATE SET rub_per_usd = excluded.rub_per_usd, ahead = excluded.ahead`,
        ...[effectiveFrom, renderRubPerUsd(rubPerUsd), Number(isAhead)],
      )
    })
    return written === 'stale' ? 'stale' : undefined
  },
})
