/** The exchange rate to rubles. */
import * as z from 'zod/mini'
import { untilCurrent } from '#domain/catalogue.ts'
import { renderInstant } from '#domain/clock.ts'
import { readRubPerUsd, renderRubPerUsd } from '#domain/money.ts'
import { type Rate, rateAt } from '#domain/rate.ts'
import { orNull, timeField } from '#forms/fields.ts'
import { effectiveFrom } from './effective-from.ts'
import { mutation, verb } from './verb.ts'

export interface RateRecord {
  readonly pair: 'USD/RUB'
  readonly rub_per_usd: string
  readonly effective_from: string | null
  /** False while the default rate applies. */
  readonly set_by_operator: boolean
}

const render = ({ rubPerUsd, effectiveFrom, setByOperator }: Rate): RateRecord => ({
  pair: 'USD/RUB',
  rub_per_usd: renderRubPerUsd(rubPerUsd),
  effective_from: setByOperator ? renderInstant(effectiveFrom) : null,
  set_by_operator: setByOperator,
})

/** The current rate and the history, newest first. */
export const showRates = verb(z.strictObject({}), async ({ store, clock }) => {
  const catalogue = store.catalogue.current()
  return { ...render(rateAt(catalogue, clock.now())), history: catalogue.rates.map(render) }
})

const rateField = z.string().check(
  z.refine((text) => readRubPerUsd(text) !== undefined, {
    error: 'must be a positive decimal of at most 6 places such as "92.50"',
  }),
)

/** Sets the rate from a date on; past charges keep theirs. */
export const setRate = mutation(
  'rates.set',
  z.strictObject({
    pair: z.literal('USD/RUB'),
    rub_per_usd: rateField,
    from: orNull(timeField),
  }),
  ({ store, clock }, input, act) =>
    untilCurrent(async () => {
      const at = clock.now()
      const catalogue = store.catalogue.current()
      const previous = rateAt(catalogue, at)
      const rubPerUsd = readRubPerUsd(input.rub_per_usd) ?? previous.rubPerUsd
      const from = effectiveFrom(input.from, { now: at, since: previous.effectiveFrom })
      const record = render({ rubPerUsd, effectiveFrom: from, setByOperator: true })
      const before = render(previous)
      const { pair, rub_per_usd, effective_from } = record
      const changed = { rub_per_usd: { from: before.rub_per_usd, to: rub_per_usd }, effective_from }
      const { version } = catalogue
      const set = await store.rates.set(rubPerUsd, from, act(pair, changed), version)
      return set ?? { ...record, previous: before }
    }),
)
