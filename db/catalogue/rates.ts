/** Changes of the exchange rate. */
import { renderRubPerUsd } from '#domain/money.ts'
import type { Rates } from '#domain/rate.ts'
import { run } from '../statements.ts'
import type { HeldCatalogue } from './held.ts'

export const createRates = (catalogue: HeldCatalogue): Rates => ({
  set: (rubPerUsd, effectiveFrom, act, expected) =>
    catalogue.change(act, expected, function* () {
      const { at } = act
      const isAhead = effectiveFrom > at
      if (!isAhead) yield* run('DELETE FROM rates WHERE effective_from > $at AND ahead = 0', { at })
      yield* run(
        `INSERT INTO rates (effective_from, rub_per_usd, ahead) VALUES ($effectiveFrom, $rubPerUsd, $ahead)
         ON CONFLICT (effective_from) DO UPDATE SET rub_per_usd = excluded.rub_per_usd, ahead = excluded.ahead`,
        { effectiveFrom, rubPerUsd: renderRubPerUsd(rubPerUsd), ahead: Number(isAhead) },
      )
      return undefined
    }),
})
