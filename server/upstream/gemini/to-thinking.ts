/** Ours → theirs: reasoning effort. Gemini 2.5 takes a token budget, later models a level. */
import type { JsonObject } from '#domain/chat.ts'
import { readObject } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import type { ThinkingConfig } from './wire.ts'

/** As in Google's OpenAI-compatible API. Pro models cannot disable thinking: `none` is their minimum. */
const BUDGETS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
}
const MIN_OF_PRO = 128

const LEVELS: Readonly<Record<string, 'MINIMAL' | 'LOW' | 'MEDIUM' | 'HIGH'>> = {
  none: 'MINIMAL',
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'HIGH',
}

/** The range that all models with a budget accept; Flash-Lite accepts 512 or more, or none. */
const MIN_BUDGET = 512
const MAX_BUDGET = 24_576

/**
 * Reads `reasoning_effort` (none, minimal, low, medium, high, xhigh), else OpenRouter's `reasoning`; undefined leaves it to the
 * model. Thoughts are included unless the effort is `none`. @throws UpstreamFailure `rejected` for another value
 */
export function toThinking(body: JsonObject, model: string): ThinkingConfig | undefined {
  const own = body['reasoning_effort'] ?? undefined
  const asked = own === undefined ? readObject(body['reasoning']) : {}
  const { effort: word, max_tokens: tokens, enabled } = asked
  const stated = own ?? (enabled === false ? 'none' : word)
  const budget = typeof tokens === 'number' && stated !== 'none' ? toBudget(tokens) : undefined
  const effort = stated ?? budget?.effort ?? (enabled === true ? 'medium' : undefined)
  if (effort === undefined) return undefined
  if (typeof effort !== 'string' || !Object.hasOwn(BUDGETS, effort)) {
    throw rejected('reasoning_effort', `must be one of ${Object.keys(BUDGETS).join(', ')}`)
  }
  const amount = /(?:^|\/)gemini-[12]\b/.test(model)
    ? { thinkingBudget: budget?.tokens ?? budgetOf(effort, model) }
    : { thinkingLevel: levelOf(effort, model) }
  return { ...amount, ...(effort !== 'none' && { includeThoughts: true }) }
}

/** A client's token budget within the range, and the effort that corresponds to it. */
function toBudget(stated: number): { readonly tokens: number; readonly effort: string } {
  const tokens = Math.round(Math.min(Math.max(stated, MIN_BUDGET), MAX_BUDGET))
  if (tokens < 8_192) return { tokens, effort: 'low' }
  return { tokens, effort: tokens < MAX_BUDGET ? 'medium' : 'high' }
}

const isPro = (model: string): boolean => /-pro\b/.test(model)

function budgetOf(effort: string, model: string): number {
  const budget = BUDGETS[effort] ?? 0
  return isPro(model) ? Math.max(budget, MIN_OF_PRO) : budget
}

function levelOf(effort: string, model: string) {
  const level = LEVELS[effort] ?? 'LOW'
  if (level === 'MINIMAL' && isPro(model)) return 'LOW'
  // Gemini 3 Pro has only two levels.
  return level === 'MEDIUM' && /gemini-3-pro\b/.test(model) ? 'HIGH' : level
}
