/** A price list as JSON of decimal strings: exact, and readable by whoever opens the file. */
import type { Prices } from '#domain/model-card.ts'
import { FREE, readPrice, renderPrice, type UsdAttos } from '#domain/money.ts'

/** Every price of a list becomes a decimal string; everything else (names, sizes) stays as it is. */
export const fromPrices = (prices: Prices): string =>
  JSON.stringify(prices, (_, value) =>
    typeof value === 'bigint' ? renderPrice(value as UsdAttos) : value,
  )

const PRICE_FIELDS = new Set([
  'prompt',
  'completion',
  'cacheRead',
  'cacheWrite',
  'request',
  'searchUnit',
  'inputImage',
  'imageInputToken',
  'imageOutputToken',
  'usd',
])

/** Older lists lack them. */
const LATER_FIELDS: Pick<Prices, 'imageInputToken' | 'searchUnit'> = {
  imageInputToken: null,
  searchUnit: FREE,
}

/** @throws RangeError when a stored price is no decimal: a damaged price must not become a free one. */
export const toPrices = (stored: string): Prices => ({
  ...LATER_FIELDS,
  ...JSON.parse(stored, (field, value) => {
    if (!PRICE_FIELDS.has(field) || value === null) return value
    const price = readPrice(String(value))
    if (price === undefined) throw new RangeError(`stored price is no decimal: ${field}`)
    return price
  }),
})
