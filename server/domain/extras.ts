/** Extras: what a request asks for that its vendor bills beside the usual prices, or in their place (contract §8). */
import type { JsonObject } from './chat.ts'
import { GatewayError } from './errors.ts'
import type { Modifier, Prices } from './model-card.ts'
import { type Factor, isExactBy, type UsdAttos } from './money.ts'
import type { Family } from './provider.ts'
import type { ServerCalls } from './usage.ts'

export interface Extra {
  /** Path to the field. */
  readonly param: string
  /** What the vendor bills, as a sentence begins. */
  readonly what: string
  readonly need: Need
}

/** What a card has to have a price for. */
export type Need =
  | { readonly kind: 'cache-write-1h' }
  | { readonly kind: 'modifier'; readonly field: string; readonly value: string }
  /** `mostCalls`: as many are held for each choice. */
  | { readonly kind: 'server-tool'; readonly tool: string; readonly mostCalls: number }

/** Held for each choice of an answer where the request states no `max_uses`. */
export const USUAL_MOST_CALLS = 10

export const NO_MODIFIERS: readonly Modifier[] = []

const toModifierName = (field: string, value: string): string => `${field}=${value}`

/** The fields that may be modifiers. */
export const MODIFIER_FIELDS = ['service_tier', 'speed', 'inference_geo'] as const

/** What a family's requests have of a chat; another's would be paid and not sent. */
const SENT_BY: Readonly<Record<Family, ReadonlySet<string>>> = {
  openai: new Set(['cache-write-1h', 'server-tool', ...MODIFIER_FIELDS]),
  anthropic: new Set(['cache-write-1h', 'speed', 'inference_geo']),
  gemini: new Set(),
  cohere: new Set(),
  voyage: new Set(),
  demo: new Set(),
}

/** Whether requests to this family carry them. */
export const sends = (family: Family, extras: readonly Extra[]): boolean =>
  extras.every(({ need }) => SENT_BY[family].has(need.kind === 'modifier' ? need.field : need.kind))

/** @throws unsupported_parameter for the first that the model has no price for */
export function checkExtras(extras: readonly Extra[], model: string, prices: Prices): void {
  for (const extra of extras) {
    if (!isPriced(extra.need, prices)) throw unpricedExtra(extra, `${model} has no price for that`)
  }
}

export function isPriced(need: Need, prices: Prices): boolean {
  switch (need.kind) {
    case 'cache-write-1h':
      return [prices, ...prices.tiers].every(({ cacheWrite1h }) => cacheWrite1h !== null)
    case 'server-tool':
      return prices.serverTools.some(({ tool }) => tool === need.tool)
    case 'modifier':
      return modifierOf(prices, need.field, need.value) !== undefined
  }
}

const modifierOf = (prices: Prices, field: string, value: string): Modifier | undefined =>
  prices.modifiers.find(({ name }) => name === toModifierName(field, value))

/** The refusal of an extra; `why` ends its sentence. */
export const unpricedExtra = (
  { param, what }: Pick<Extra, 'param' | 'what'>,
  why: string,
): GatewayError =>
  new GatewayError('unsupported_parameter', `${param}: ${what}, and ${why}; leave it out`, {
    param,
  })

export const asksForLongCaching = (extras: readonly Extra[]): boolean =>
  extras.some(({ need }) => need.kind === 'cache-write-1h')

/** One call of each tool for each choice, where the vendor does not count them; null where no tool was asked for. */
export function estimateCalls(extras: readonly Extra[], choices: number): ServerCalls | null {
  const calls: Record<string, number> = {}
  for (const { need } of extras) if (need.kind === 'server-tool') calls[need.tool] = choices
  return Object.keys(calls).length === 0 ? null : calls
}

/** The factors that are held. */
export function askedModifiers(
  extras: readonly Extra[] | undefined,
  prices: Prices,
): readonly Modifier[] {
  return extras === undefined ? NO_MODIFIERS : chargedModifiers(extras, prices, NOTHING_SAID)
}
const NOTHING_SAID: JsonObject = {}

/**
 * The factors that are charged. `served` has what the vendor says it served, by field: where that is another value than was
 * asked for, the lower of the two is charged, 1 for a value without a factor of its own.
 */
export function chargedModifiers(
  extras: readonly Extra[],
  prices: Prices,
  served: JsonObject,
): readonly Modifier[] {
  const charged: Modifier[] = []
  for (const { need } of extras) {
    if (need.kind !== 'modifier') continue
    const asked = modifierOf(prices, need.field, need.value)
    if (asked === undefined) continue
    const lower = lowerOf(asked, prices, need.field, served[need.field])
    if (lower !== null) charged.push(lower)
  }
  return charged
}

/** Null for the price without a factor. */
function lowerOf(asked: Modifier, prices: Prices, field: string, served: unknown): Modifier | null {
  if (typeof served !== 'string' || asked.name === toModifierName(field, served)) return asked
  const other = modifierOf(prices, field, served)
  if (other !== undefined) return other.factor < asked.factor ? other : asked
  return asked.factor > UNCHANGED ? null : asked
}
const UNCHANGED = 1_000_000n

/** The first price that times the factors is no whole number of atto-dollars; undefined where every charge is exact. */
export function findInexact(prices: Prices): { price: UsdAttos; factors: string } | undefined {
  const byField = Map.groupBy(prices.modifiers, ({ name }) => name.slice(0, name.indexOf('=')))
  const combinations = [...byField.values()].reduce<readonly (readonly Modifier[])[]>(
    (found, ofField) => found.flatMap((one) => [one, ...ofField.map((next) => [...one, next])]),
    [[]],
  )
  for (const combination of combinations) {
    const factors: readonly Factor[] = combination.map(({ factor }) => factor)
    const price = pricesIn(prices).find((one) => !isExactBy(one, factors))
    if (price !== undefined) {
      return { price, factors: combination.map(({ name }) => name).join(' and ') }
    }
  }
  return undefined
}

const pricesIn = (prices: Prices): readonly UsdAttos[] =>
  [
    ...[prices, ...prices.tiers].flatMap((list) => [
      list.prompt,
      list.completion,
      list.cacheRead,
      list.cacheWrite,
      list.cacheWrite1h,
    ]),
    prices.request,
    prices.searchUnit,
    prices.inputImage,
    prices.imageInputToken,
    prices.imageOutputToken,
    ...prices.imagePrices.map(({ usd }) => usd),
    ...prices.serverTools.map(({ usd }) => usd),
  ].filter((price) => price !== null)
