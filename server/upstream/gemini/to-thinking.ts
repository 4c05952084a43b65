/** Ours → theirs: how much a model should think. Gemini 2.5 takes a budget of tokens, every later one a level. */
import type { JsonObject } from '#domain/chat.ts'
import { readObject } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import type { ThinkingConfig } from './wire.ts'

/** As Google's own OpenAI surface counts them. The Pro models cannot but think: none is their least. */
const BUDGETS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
}
const LEAST_OF_PRO = 128

const LEVELS: Readonly<Record<string, 'MINIMAL' | 'LOW' | 'MEDIUM' | 'HIGH'>> = {
  none: 'MINIMAL',
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'HIGH',
}

/** What every model takes that can be told how much; the smallest of them takes no less but nothing. */
const LEAST_BUDGET = 512
const MOST_BUDGET = 24_576

/**
 * `reasoning_effort` (one of none, minimal, low, medium, high, xhigh), else OpenRouter's `reasoning`; undefined leaves it to
 * the model. Thoughts are shown unless there should be none. @throws UpstreamFailure `rejected` for another word
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

/** A budget of the client's own, and the effort that comes nearest to it from below. */
function toBudget(stated: number): { readonly tokens: number; readonly effort: string } {
  const tokens = Math.round(Math.min(Math.max(stated, LEAST_BUDGET), MOST_BUDGET))
  if (tokens < 8_192) return { tokens, effort: 'low' }
  return { tokens, effort: tokens < MOST_BUDGET ? 'medium' : 'high' }
}

const isPro = (model: string): boolean => /-pro\b/.test(model)

function budgetOf(effort: string, model: string): number {
  const budget = BUDGETS[effort] ?? 0
  return isPro(model) ? Math.max(budget, LEAST_OF_PRO) : budget
}

function levelOf(effort: string, model: string) {
  const level = LEVELS[effort] ?? 'LOW'
  if (level === 'MINIMAL' && isPro(model)) return 'LOW'
  // The first Pro of the third generation knows two levels only.
  return level === 'MEDIUM' && /gemini-3-pro\b/.test(model) ? 'HIGH' : level
}
