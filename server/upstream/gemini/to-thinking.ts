/** Ours → theirs: reasoning effort. Gemini 2.5 takes a token budget, later models a level. */
import {
  ANSWER_TOKENS,
  GEMINI_BUDGETS,
  GEMINI_MIN_BUDGET,
  type Reasoning,
  type ThinkingBudget,
  takesGeminiBudget,
  thinkingBudgetOf,
} from '#domain/thinking.ts'
import { rejected } from '../rejected.ts'
import type { ThinkingConfig } from './wire.ts'

/** Pro models cannot disable thinking: `none` is their minimum. */
const MIN_OF_PRO = 128

const LEVELS: Readonly<Record<string, 'MINIMAL' | 'LOW' | 'MEDIUM' | 'HIGH'>> = {
  none: 'MINIMAL',
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'HIGH',
  max: 'HIGH',
}

/**
 * Undefined leaves it to the model. Thoughts are included unless the effort is `none`.
 * @throws UpstreamFailure `rejected` for an unknown effort
 */
export function toThinking(
  reasoning: Reasoning | null,
  model: string,
  maxOutputTokens: number | null,
): ThinkingConfig | undefined {
  const { effort: stated, budget: tokens } = reasoning ?? {}
  const effort = stated ?? (tokens === undefined ? undefined : effortOf(tokens))
  if (effort === undefined) return undefined
  if (!Object.hasOwn(GEMINI_BUDGETS, effort)) {
    throw rejected('reasoning_effort', `must be one of ${Object.keys(GEMINI_BUDGETS).join(', ')}`)
  }
  if (!takesGeminiBudget(model)) {
    return { thinkingLevel: levelOf(effort, model), ...(effort !== 'none' && THOUGHTS) }
  }
  const thinkingBudget = toBudget(reasoning, model, maxOutputTokens)
  return { thinkingBudget, ...(effort !== 'none' && thinkingBudget > 0 && THOUGHTS) }
}

const THOUGHTS = { includeThoughts: true }

/** The effort that corresponds to a client's token budget. */
function effortOf(tokens: number): string {
  if (tokens < 8_192) return 'low'
  return tokens < 24_576 ? 'medium' : 'high'
}

const isPro = (model: string): boolean => /-pro\b/.test(model)

/** Thoughts count towards `maxOutputTokens`: an effort leaves room for an answer, a stated budget stays. */
function toBudget(
  reasoning: Reasoning | null,
  model: string,
  maxOutputTokens: number | null,
): number {
  const { tokens, isStated } = thinkingBudgetOf(reasoning, 'gemini', model) ?? NO_BUDGET
  const room = isStated || maxOutputTokens === null ? tokens : maxOutputTokens - ANSWER_TOKENS
  const budget = Math.min(tokens, room)
  return Math.max(budget < GEMINI_MIN_BUDGET ? 0 : budget, isPro(model) ? MIN_OF_PRO : 0)
}

const NO_BUDGET: ThinkingBudget = { tokens: 0, isStated: false }

function levelOf(effort: string, model: string) {
  const level = LEVELS[effort] ?? 'LOW'
  if (level === 'MINIMAL' && isPro(model)) return 'LOW'
  // Gemini 3 Pro has only two levels.
  return level === 'MEDIUM' && /gemini-3-pro\b/.test(model) ? 'HIGH' : level
}
