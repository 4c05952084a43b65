/** Ours → theirs: reasoning effort as a token budget or as adaptive thinking, depending on the model. */
import type { OutputConfig, ThinkingConfigParam } from '@anthropic-ai/sdk/resources/messages'
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readObject } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import type { ModelCapabilities } from './model-capabilities.ts'

export interface Thinking {
  readonly thinking?: ThinkingConfigParam
  readonly effort?: NonNullable<OutputConfig['effort']>
}

/** The API's minimum. */
const MIN_BUDGET = 1_024
/** Reserved for the answer when `max_tokens` allows it. */
const ANSWER_TOKENS = 1_024

const BUDGETS = {
  minimal: MIN_BUDGET,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_000,
  max: 32_000,
} as const

type Effort = keyof typeof BUDGETS

/**
 * Reads `reasoning_effort`, OpenRouter's `reasoning`, or Anthropic's own `thinking`, which is passed through. Empty when the
 * client asks for nothing, when a tool is forced (thinking is not allowed then), or when no budget fits.
 * @throws UpstreamFailure `rejected` for an unknown effort
 */
export function toThinking(
  body: JsonObject,
  capabilities: ModelCapabilities,
  maxTokens: number,
  toolForced: boolean,
): Thinking {
  if (toolForced) return {}
  if (isObject(body['thinking'])) return { thinking: body['thinking'] as never }
  const { effort: word, max_tokens: tokens, enabled } = readObject(body['reasoning'])
  const stated = body['reasoning_effort'] ?? word ?? (enabled === true ? 'medium' : undefined)
  if (stated === 'none' || enabled === false)
    return capabilities.thinksByDefault ? { effort: 'low' } : {}
  const effort = stated === undefined ? undefined : readEffort(stated)
  const wanted = typeof tokens === 'number' ? tokens : effort && BUDGETS[effort]
  if (wanted === undefined) return {}
  return capabilities.thinking === 'adaptive'
    ? toAdaptive(effort, capabilities)
    : toBudget(Math.round(wanted), maxTokens)
}

function readEffort(word: unknown): Effort {
  if (typeof word === 'string' && Object.hasOwn(BUDGETS, word)) return word as Effort
  throw rejected('reasoning_effort', `must be none, ${Object.keys(BUDGETS).join(', ')}`)
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

function toBudget(wanted: number, maxTokens: number): Thinking {
  if (maxTokens <= MIN_BUDGET) return {}
  const room = Math.max(MIN_BUDGET, maxTokens - ANSWER_TOKENS)
  const budget = Math.min(Math.max(wanted, MIN_BUDGET), room)
  return { thinking: { type: 'enabled', budget_tokens: budget } }
}
