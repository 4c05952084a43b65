/** The tokens that a request lets a model think with, as the wire of its provider states them (contract §8). */
import type { JsonObject } from './chat.ts'
import type { Family } from './provider.ts'

export interface ThinkingBudget {
  readonly tokens: number
  /** False when it is what an effort becomes: then it may be lowered to fit the bound of the answer. */
  readonly isStated: boolean
}

/** The least tokens that an answer gets beside its thinking. */
export const ANSWER_TOKENS = 1_024

/** Anthropic's minimum. */
export const ANTHROPIC_MIN_BUDGET = 1_024

export const ANTHROPIC_BUDGETS: Readonly<Record<string, number>> = {
  minimal: ANTHROPIC_MIN_BUDGET,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_000,
  max: 32_000,
}

/** As in Google's OpenAI-compatible API. */
export const GEMINI_BUDGETS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}

/** The range that all Gemini models with a budget accept; Flash-Lite accepts 512 or more, or none. */
export const GEMINI_MIN_BUDGET = 512
const GEMINI_MAX_BUDGET = 24_576

/** How a client wants a model to think, whichever its dialect. */
export interface Reasoning {
  /** `none`, or more or less of it: the client's word, of which families know different ones. */
  readonly effort?: string
  /** Tokens that the client states. */
  readonly budget?: number
  /** Anthropic's own configuration, which goes before the others there. */
  readonly native?: JsonObject
}

/** The budget that a provider of this family is sent for the model, before it is fitted to a bound. Null: none is sent. */
export function thinkingBudgetOf(
  reasoning: Reasoning | null,
  family: Family,
  upstreamName: string,
): ThinkingBudget | null {
  if (reasoning === null) return null
  switch (family) {
    case 'anthropic':
      return anthropicBudget(reasoning, upstreamName)
    case 'gemini':
      return geminiBudget(reasoning, upstreamName)
    case 'openai':
      return toStated(reasoning.budget)
    case 'cohere':
    case 'voyage':
    case 'demo':
      return null
  }
}

const toStated = (tokens: unknown): ThinkingBudget | null =>
  typeof tokens === 'number' ? { tokens: Math.round(tokens), isStated: true } : null

function toEffort(
  budgets: Readonly<Record<string, number>>,
  effort: string | undefined,
): ThinkingBudget | null {
  const tokens = effort !== undefined && Object.hasOwn(budgets, effort) ? budgets[effort] : 0
  return tokens ? { tokens, isStated: false } : null
}

function anthropicBudget(
  { native, effort, budget }: Reasoning,
  upstreamName: string,
): ThinkingBudget | null {
  if (native !== undefined) return toStated(native['budget_tokens'])
  if (effort === 'none' || isAdaptive(upstreamName)) return null
  return toStated(budget) ?? toEffort(ANTHROPIC_BUDGETS, effort)
}

const isAdaptive = (upstreamName: string): boolean =>
  claudeGeneration(upstreamName) >= ADAPTIVE_THINKING

/** From Claude 4.6 on thinking takes an effort instead of a budget. */
export const ADAPTIVE_THINKING = 4.06

/** `claude-3-5-sonnet-20240620`, `claude-opus-4-7`, `claude-sonnet-5`: major and minor; a date is not a minor version. */
const GENERATION = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/i
const NEWEST = 99

/** 4.06 is Claude 4.6. A Claude model without a generation in its name is the newest; 0: a model of another vendor. */
export function claudeGeneration(upstreamName: string): number {
  if (!/claude/i.test(upstreamName)) return 0
  const [, major, minor] = GENERATION.exec(upstreamName) ?? []
  return major === undefined ? NEWEST : Number(major) + Number(minor ?? 0) / 100
}

/** Up to Gemini 2.5; later models take a level. */
function geminiBudget({ effort, budget }: Reasoning, upstreamName: string): ThinkingBudget | null {
  if (effort === 'none' || !takesGeminiBudget(upstreamName)) return null
  if (budget === undefined) return toEffort(GEMINI_BUDGETS, effort)
  return toStated(Math.min(Math.max(budget, GEMINI_MIN_BUDGET), GEMINI_MAX_BUDGET))
}

export const takesGeminiBudget = (upstreamName: string): boolean =>
  /(?:^|\/)gemini-[12]\b/.test(upstreamName)
