/** Theirs → ours: what a provider says that an answer cost the operator. It is compared with the charge, and never changes it. */
import { addUsd, readUsdNumber, type UsdNanos } from '#domain/money.ts'
import { isObject, readObject } from '../read-json.ts'

/** xAI's ticks are 1e-10 dollars. */
const TICK_PLACES = 10

/**
 * Of a `usage`: OpenRouter's `cost` (a number of dollars), Perplexity's (an object with a total), or xAI's `cost_in_usd_ticks`.
 * Undefined where there is none, or none that can be one.
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
 * Where OpenRouter uses a key of the operator's own with the vendor, `cost` is only its fee (often 0), and the vendor bills the
 * `upstream_inference_cost` beside it: the operator pays both. Without its second half the sum would be wrong, so there is
 * none. Of any other request that field repeats `cost`, or is null.
 */
function ofOwnKey(cost: unknown, details: unknown): UsdNanos | undefined {
  const fee = readDollars(cost)
  const bill = readDollars(readObject(details)['upstream_inference_cost'])
  return fee === undefined || bill === undefined ? undefined : addUsd(fee, bill)
}

const readDollars = (value: unknown, places?: number): UsdNanos | undefined =>
  typeof value === 'number' ? readUsdNumber(value, places) : undefined
