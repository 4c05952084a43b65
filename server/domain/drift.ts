/** Drift: how far our price of a model is from what its providers say that they charge (quirks: OpenRouter, xAI). */
import { subtractUsd, type UsdNanos } from './money.ts'

/** One model over some time; requests whose provider stated nothing, or that nobody was charged for, are not in it. */
export interface Drift {
  readonly model: string
  readonly requests: number
  readonly charged: UsdNanos
  readonly stated: UsdNanos
}

type Costs = Pick<Drift, 'charged' | 'stated'>

/** Positive where the provider takes more than we do. */
export const driftUsd = ({ charged, stated }: Costs): UsdNanos => subtractUsd(stated, charged)

/** The same in hundredths of a percent of what we charge; null where we charge nothing. */
export const driftBasisPoints = (costs: Costs): number | null =>
  costs.charged === 0n
    ? null
    : Math.round(Number((driftUsd(costs) * 1_000_000n) / costs.charged) / 100)
