/** Ours → theirs: reasoning effort as a token budget or as adaptive thinking, depending on the model. */
import type { OutputConfig, ThinkingConfigParam } from '@anthropic-ai/sdk/resources/messages'
import type { JsonObject } from '#domain/chat.ts'
import {
  ANSWER_TOKENS,
  ANTHROPIC_BUDGETS,
  ANTHROPIC_MIN_BUDGET,
  readReasoning,
  type ThinkingBudget,
  thinkingBudgetOf,
} from '#domain/thinking.ts'
import { isObject } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import { capabilitiesOf, type ModelCapabilities } from './model-capabilities.ts'

export interface Thinking {
  readonly thinking?: ThinkingConfigParam
  readonly effort?: NonNullable<OutputConfig['effort']>
}

type Effort = NonNullable<OutputConfig['effort']> | 'minimal'

/**
 * Reads `reasoning_effort`, OpenRouter's `reasoning`, or Anthropic's own `thinking`, which is passed through. Empty when the
 * client asks for nothing, when a tool is forced (thinking is not allowed then), or when no budget fits.
 * @throws UpstreamFailure `rejected` for an unknown effort
 */
export function toThinking(
  body: JsonObject,
  upstreamName: string,
  maxTokens: number,
  toolForced: boolean,
): Thinking {
  if (toolForced) return {}
  if (isObject(body['thinking'])) return { thinking: body['thinking'] as never }
  const capabilities = capabilitiesOf(upstreamName)
  const { effort: word, max_tokens: tokens, enabled } = readReasoning(body)
  const stated = body['reasoning_effort'] ?? word ?? (enabled === true ? 'medium' : undefined)
  if (stated === 'none' || enabled === false)
    return capabilities.thinksByDefault ? { effort: 'low' } : {}
  const effort = stated === undefined ? undefined : readEffort(stated)
  if (capabilities.thinking === 'adaptive') {
    return effort || typeof tokens === 'number' ? toAdaptive(effort, capabilities) : {}
  }
  const budget = thinkingBudgetOf(body, 'anthropic', upstreamName)
  return budget === null ? {} : toBudget(budget, maxTokens)
}

function readEffort(word: unknown): Effort {
  if (typeof word === 'string' && Object.hasOwn(ANTHROPIC_BUDGETS, word)) return word as Effort
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
