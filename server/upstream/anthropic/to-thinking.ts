/** Ours → theirs: reasoning effort as a token budget or as adaptive thinking, depending on the model. */
import type { OutputConfig, ThinkingConfigParam } from '@anthropic-ai/sdk/resources/messages'
import {
  ANSWER_TOKENS,
  ANTHROPIC_BUDGETS,
  ANTHROPIC_MIN_BUDGET,
  type Reasoning,
  type ThinkingBudget,
  thinkingBudgetOf,
} from '#domain/thinking.ts'
import { rejected } from '../rejected.ts'
import { capabilitiesOf, type ModelCapabilities } from './model-capabilities.ts'

export interface Thinking {
  readonly thinking?: ThinkingConfigParam
  readonly effort?: NonNullable<OutputConfig['effort']>
}

type Effort = NonNullable<OutputConfig['effort']> | 'minimal'

/**
 * Anthropic's own configuration is passed through. Empty when the client asks for nothing, when a tool is forced (thinking is
 * not allowed then), or when no budget fits.
 * @throws UpstreamFailure `rejected` for an unknown effort
 */
export function toThinking(
  reasoning: Reasoning | null,
  upstreamName: string,
  maxTokens: number,
  toolForced: boolean,
): Thinking {
  if (toolForced || reasoning === null) return {}
  if (reasoning.native) return { thinking: reasoning.native as never }
  const capabilities = capabilitiesOf(upstreamName)
  if (reasoning.effort === 'none') return capabilities.thinksByDefault ? { effort: 'low' } : {}
  const effort = reasoning.effort === undefined ? undefined : readEffort(reasoning.effort)
  if (capabilities.thinking === 'adaptive') return toAdaptive(effort, capabilities)
  const budget = thinkingBudgetOf(reasoning, 'anthropic', upstreamName)
  return budget === null ? {} : toBudget(budget, maxTokens)
}

function readEffort(word: string): Effort {
  if (Object.hasOwn(ANTHROPIC_BUDGETS, word)) return word as Effort
  throw rejected('reasoning_effort', `must be none, ${Object.keys(ANTHROPIC_BUDGETS).join(', ')}`)
}

function toAdaptive(effort: Effort | undefined, { maxEffort }: ModelCapabilities): Thinking {
  // Models that know more than "high" omit thinking from the answer unless `display` asks for it.
  const display = maxEffort === 'max' ? ({ display: 'summarized' } as const) : {}
  const thinking = { type: 'adaptive', ...display } as const
  if (effort === undefined) return { thinking }
  if (effort === 'minimal') return { thinking, effort: 'low' }
  const beyond = effort === 'xhigh' || effort === 'max'
  return { thinking, effort: beyond && maxEffort === 'high' ? 'high' : effort }
}

/** An effort leaves room for an answer; a stated budget stays where the API accepts it, which is below `max_tokens`. */
function toBudget({ tokens, isStated }: ThinkingBudget, maxTokens: number): Thinking {
  if (maxTokens <= ANTHROPIC_MIN_BUDGET) return {}
  const room = Math.max(ANTHROPIC_MIN_BUDGET, maxTokens - ANSWER_TOKENS)
  const wanted = Math.max(tokens, ANTHROPIC_MIN_BUDGET)
  const budget = isStated && wanted < maxTokens ? wanted : Math.min(wanted, room)
  return { thinking: { type: 'enabled', budget_tokens: budget } }
}
