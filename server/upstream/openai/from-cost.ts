/** Theirs → ours: the cost to the operator that a provider states. It is compared with the charge and never changes it. */
import { addUsd, readUsdNumber, type UsdNanos } from '#domain/money.ts'
import { isObject, readObject } from '../read-json.ts'

/** A tick of xAI is 1e-10 dollars. */
const TICK_PLACES = 10

/**
 * Reads from `usage`: OpenRouter's `cost` (dollars), Perplexity's `cost.total_cost`, or xAI's `cost_in_usd_ticks`. Undefined when
 * there is none or it is invalid.
 */
export function fromCost(usage: unknown): UsdNanos | undefined {
  if (!isObject(usage)) return undefined
  const { cost } = usage
  if (usage['is_byok'] === true) return ofOwnKey(cost, usage['cost_details'])
  // Perplexity's is zero until its last chunk.
  const dollars = isObject(cost) ? cost['total_cost'] || undefined : cost
  return readDollars(dollars) ?? readDollars(usage['cost_in_usd_ticks'], TICK_PLACES)
}

/**
 * When OpenRouter uses the operator's own key with the vendor (BYOK), `cost` is only its fee (often 0) and the vendor bills
 * `upstream_inference_cost`: the operator pays the sum. Undefined when either is missing. Without BYOK that field repeats `cost`
 * or is null.
 */
function ofOwnKey(cost: unknown, details: unknown): UsdNanos | undefined {
  const fee = readDollars(cost)
  const bill = readDollars(readObject(details)['upstream_inference_cost'])
  return fee === undefined || bill === undefined ? undefined : addUsd(fee, bill)
}

const readDollars = (value: unknown, places?: number): UsdNanos | undefined =>
  typeof value === 'number' ? readUsdNumber(value, places) : undefined
