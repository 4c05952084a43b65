/** Prices whose factors would leave a fraction of an atto-dollar are refused, so that every charge is exact (contract §1). */
import { GatewayError } from '#domain/errors.ts'
import { findInexact } from '#domain/extras.ts'
import type { Prices } from '#domain/model-card.ts'
import { renderPrice } from '#domain/money.ts'

/** @throws invalid_request */
export function demandExact(prices: Prices): Prices {
  const inexact = findInexact(prices)
  if (inexact === undefined) return prices
  throw new GatewayError(
    'invalid_request',
    `a price of $${renderPrice(inexact.price)} a unit by ${inexact.factors} has more than 18 decimal places: state it with fewer`,
    { param: 'modifiers' },
  )
}
