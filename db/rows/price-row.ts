/** A price list as JSON of decimal strings: exact, and readable by whoever opens the file. */
import type { Prices, PriceTier } from '#domain/model-card.ts'
import {
  FREE,
  readFactor,
  readPrice,
  renderFactor,
  renderPrice,
  type UsdAttos,
} from '#domain/money.ts'

/** Every price of a list, and every factor, becomes a decimal string; everything else (names, sizes) stays as it is. */
export const fromPrices = ({ modifiers, ...prices }: Prices): string =>
  JSON.stringify(
    {
      ...prices,
      modifiers: modifiers.map(({ name, factor }) => ({ name, factor: renderFactor(factor) })),
    },
    (_, value) => (typeof value === 'bigint' ? renderPrice(value as UsdAttos) : value),
  )

const PRICE_FIELDS = new Set([
  'prompt',
  'completion',
  'cacheRead',
  'cacheWrite',
  'cacheWrite1h',
  'request',
  'searchUnit',
  'inputImage',
  'imageInputToken',
  'imageOutputToken',
  'usd',
])

/** Older lists lack them. */
const LATER_FIELDS: Pick<
  Prices,
  'imageInputToken' | 'searchUnit' | 'cacheWrite1h' | 'serverTools' | 'modifiers'
> = { imageInputToken: null, searchUnit: FREE, cacheWrite1h: null, serverTools: [], modifiers: [] }

/** @throws RangeError when a stored price is no decimal: a damaged price must not become a free one. */
export function toPrices(stored: string): Prices {
  const prices: Prices = { ...LATER_FIELDS, ...JSON.parse(stored, revive) }
  return { ...prices, tiers: prices.tiers.map(toTier) }
}

function revive(field: string, value: unknown): unknown {
  if (value === null) return value
  const isFactor = field === 'factor'
  if (!isFactor && !PRICE_FIELDS.has(field)) return value
  const read = isFactor ? readFactor(String(value)) : readPrice(String(value))
  if (read === undefined) throw new RangeError(`stored price is no decimal: ${field}`)
  return read
}

const toTier = (tier: PriceTier): PriceTier => ({
  ...tier,
  cacheWrite1h: tier.cacheWrite1h ?? null,
})
