/** Drift: the difference between our charges for a model and the costs that its providers state (quirks §1). */
import { subtractUsd, type UsdNanos } from './money.ts'

/** One model over a period; requests without a charge, or without a cost stated by the provider, are excluded. */
export interface Drift {
  readonly model: string
  readonly requests: number
  readonly charged: UsdNanos
  readonly stated: UsdNanos
}

type Costs = Pick<Drift, 'charged' | 'stated'>

/** Positive where the provider charges more than we do. */
export const driftUsd = ({ charged, stated }: Costs): UsdNanos => subtractUsd(stated, charged)

/** The same in hundredths of a percent of what we charge; null where we charge nothing. */
export const driftBasisPoints = (costs: Costs): number | null =>
  costs.charged === 0n
    ? null
    : Math.round(Number((driftUsd(costs) * 1_000_000n) / costs.charged) / 100)
