/** Money is an integer whose type has the unit, so that dollars, rubles and floats cannot be mixed. */

declare const unit: unique symbol

/** Nano-dollars, 1e-9 USD: the unit of the ledger, of balances, ceilings and holds (contract §1). */
export type UsdNanos = bigint & { readonly [unit]: 'usd-nanos' }

/** Micro-rubles, 1e-6 RUB: a view of a charge at the rate stamped on it, never summed into a balance. */
export type RubMicros = bigint & { readonly [unit]: 'rub-micros' }

/** Rubles per dollar in millionths: "92.50" is 92_500_000n. */
export type RubPerUsd = bigint & { readonly [unit]: 'rub-per-usd-millionths' }

/** What prices are multiplied by, in millionths: "1.5" is 1_500_000n. */
export type Factor = bigint & { readonly [unit]: 'factor-millionths' }

/** Atto-dollars, 1e-18 USD: an exact unit price or an unrounded sum of units times prices. */
export type UsdAttos = bigint & { readonly [unit]: 'usd-attos' }

/** The price of what costs nothing. */
export const FREE = 0n as UsdAttos

export const NO_MONEY = 0n as UsdNanos

/**
 * The largest amount an account or a charge may reach: about nine million dollars, so that every engine may keep it
 * as a 53-bit integer without losing a digit.
 */
export const MAX_USD_NANOS = 9_007_199_254_740_991n as UsdNanos

const NANO_PLACES = 9
const MICRO_PLACES = 6
const ATTO_PLACES = 18
const ATTOS_PER_NANO = 1_000_000_000n
/** nano-dollars × millionths of a ruble per dollar = 1e-15 RUB; a micro-ruble is 1e-6. */
const RATE_PRODUCTS_PER_RUB_MICRO = 1_000_000_000n
/** Half of either divisor. */
const HALF = 500_000_000n

/** Reads a plain decimal ("20", "0.5") into an integer of 10^-places, or undefined: no sign, no exponent, no rounding. */
function readScaled(text: string, places: number): bigint | undefined {
  const match = /^(\d{1,15})(?:\.(\d+))?$/.exec(text)
  if (!match) return undefined
  const fraction = (match[2] ?? '').replace(/0+$/, '')
  if (fraction.length > places) return undefined
  return BigInt((match[1] ?? '') + fraction.padEnd(places, '0'))
}

const ZERO = 0x30
/** The largest integer that a double represents exactly. */
const MAX_EXACT = BigInt(Number.MAX_SAFE_INTEGER)

/** The beginning of a fraction: the point and its leading zeros. Spread: the first `Array.from` of a process costs its start. */
const LEADS = [...'0'.repeat(ATTO_PLACES)].map((_, zeros) => `0.${'0'.repeat(zeros)}`)

/** On the hot path: every answer renders five amounts, so no regular expression and few temporary strings. */
function renderScaled(amount: bigint, places: number, leastPlaces: number): string {
  if (amount === 0n) return '0'
  if (amount < 0n) return `-${renderScaled(-amount, places, leastPlaces)}`
  // Converting a number is faster than a bigint, and the runtime caches recent results.
  const digits = amount <= MAX_EXACT ? String(Number(amount)) : amount.toString()
  // Zero or negative where the amount is less than one.
  const point = digits.length - places
  let end = digits.length
  while (end > point + leastPlaces && digits.charCodeAt(end - 1) === ZERO) end--
  if (point <= 0) return `${LEADS[-point]}${digits.slice(0, end)}`
  const whole = digits.slice(0, point)
  return end === point ? whole : `${whole}.${digits.slice(point, end)}`
}

/** `dividend / divisor`, halves away from zero: the only rounding of money. */
function divideHalfUp(dividend: bigint, divisor: bigint, half = divisor / 2n): bigint {
  return dividend < 0n ? -((-dividend + half) / divisor) : (dividend + half) / divisor
}

export const addUsd = (a: UsdNanos, b: UsdNanos): UsdNanos => (a + b) as UsdNanos
export const subtractUsd = (a: UsdNanos, b: UsdNanos): UsdNanos => (a - b) as UsdNanos
export const negateUsd = (a: UsdNanos): UsdNanos => -a as UsdNanos

/** Reads a dollar amount of at most nine decimal places; undefined if it is malformed or too large. */
export function readUsd(text: string): UsdNanos | undefined {
  const nanos = readScaled(text, NANO_PLACES)
  return nanos === undefined || nanos > MAX_USD_NANOS ? undefined : (nanos as UsdNanos)
}

/**
 * Reads a JSON number of dollars, or of 10^-`places` dollars, by its shortest decimal representation, rounded half up to
 * nano-dollars; undefined if it is negative, not finite, or too large. @example 0.0387262, 2733250 at 10
 */
export function readUsdNumber(value: number, places = 0): UsdNanos | undefined {
  const match = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value))
  if (!match) return undefined
  const [, whole = '', fraction = '', exponent = '0'] = match
  const power = NANO_PLACES - places - fraction.length + Number(exponent)
  const digits = BigInt(whole + fraction)
  const nanos =
    power < 0 ? divideHalfUp(digits, 10n ** BigInt(-power)) : digits * 10n ** BigInt(power)
  return nanos > MAX_USD_NANOS ? undefined : (nanos as UsdNanos)
}

/** Renders dollars as a decimal string, cents at least: "5.00", "0.000085", "0". Null stays null. */
export function renderUsd(amount: UsdNanos): string
export function renderUsd(amount: UsdNanos | null): string | null
export function renderUsd(amount: UsdNanos | null): string | null {
  return amount === null ? null : renderScaled(amount, NANO_PLACES, 2)
}

/** With its sign in front, as people write it: "$5.00", "-$0.001". */
export const dollars = (amount: string): string => amount.replace(/^-?/, '$&$$')

/** Reads a unit price in dollars of at most eighteen decimal places. */
export const readPrice = (text: string): UsdAttos | undefined =>
  readScaled(text, ATTO_PLACES) as UsdAttos | undefined

/** Renders a unit price or an unrounded part of a charge: "0.0000003", "0". */
export const renderPrice = (price: UsdAttos): string => renderScaled(price, ATTO_PLACES, 0)

/** Converts a price per million units to a price per unit; undefined if that is not exact. */
export function perMillion(price: UsdAttos): UsdAttos | undefined {
  return price % 1_000_000n === 0n ? ((price / 1_000_000n) as UsdAttos) : undefined
}

/** Converts a price per thousand units to a price per unit; undefined if that is not exact. */
export const perThousand = (price: UsdAttos): UsdAttos | undefined =>
  price % 1_000n === 0n ? ((price / 1_000n) as UsdAttos) : undefined

export const renderPerThousand = (price: UsdAttos): string =>
  renderPrice((price * 1_000n) as UsdAttos)

const MAX_FACTOR = 1_000_000_000n
const ONE = 1_000_000n

/** Reads a factor such as "1.5"; undefined when it is not a positive decimal of at most six places and a thousand. */
export function readFactor(text: string): Factor | undefined {
  const factor = readScaled(text, MICRO_PLACES)
  return factor === undefined || factor === 0n || factor > MAX_FACTOR
    ? undefined
    : (factor as Factor)
}

export const renderFactor = (factor: Factor): string => renderScaled(factor, MICRO_PLACES, 0)

/** A price, or an unrounded sum of units times prices, by a factor; exact for what `isExactBy` has passed. */
export const timesFactor = (price: UsdAttos, factor: Factor): UsdAttos =>
  ((price * factor) / ONE) as UsdAttos

/** Whether a price times each of these, one after the other, is still a whole number of atto-dollars. */
export function isExactBy(price: UsdAttos, factors: readonly Factor[]): boolean {
  let product: bigint = price
  let divisor = 1n
  for (const factor of factors) {
    product *= factor
    divisor *= ONE
  }
  return product % divisor === 0n
}

export const renderPerMillion = (price: UsdAttos): string =>
  renderPrice((price * 1_000_000n) as UsdAttos)

/** Rounds a finished sum to the ledger's unit. Call it once per charge, after every multiplication. */
export const roundToNanos = (sum: UsdAttos): UsdNanos =>
  divideHalfUp(sum, ATTOS_PER_NANO, HALF) as UsdNanos

/** At most a million rubles per dollar; above that, the ruble view of a charge could exceed 53 bits. */
const MAX_RUB_PER_USD = 1_000_000_000_000n

/** Reads a rate such as "92.50"; undefined when it is not a positive decimal of at most six places and a million. */
export function readRubPerUsd(text: string): RubPerUsd | undefined {
  const rate = readScaled(text, MICRO_PLACES)
  return rate === undefined || rate === 0n || rate > MAX_RUB_PER_USD
    ? undefined
    : (rate as RubPerUsd)
}

/** Every answer has the rate, which changes once a day at most, so the last rendering is cached. */
let lastRate = 0n
let lastRateText = '0'

export function renderRubPerUsd(rate: RubPerUsd): string {
  if (rate !== lastRate) {
    lastRateText = renderScaled(rate, MICRO_PLACES, 0)
    lastRate = rate
  }
  return lastRateText
}

/** The ruble view of an amount at a rate, rounded once to 1e-6 RUB (contract §1). */
export const toRub = (amount: UsdNanos, rate: RubPerUsd): RubMicros =>
  divideHalfUp(amount * rate, RATE_PRODUCTS_PER_RUB_MICRO, HALF) as RubMicros

/**
 * Rubles as the JSON number of `*_rub` fields. Dividing two exact integers rounds once, so for amounts within 53 bits this is
 * the same double that parsing the decimal would give.
 */
export const renderRub = (amount: RubMicros): number => Number(amount) / 1e6

/** Dollars as the JSON number of OpenRouter's `cost` field: a view for display, never read back. */
export const renderUsdNumber = (amount: UsdNanos): number => Number(amount) / 1e9
