/** Decides whether thinking may be on, and whether old thoughts travel: this wire refuses a request that has it half. */
import type { ContentBlockParam } from '@anthropic-ai/sdk/resources/messages'
import type { ModelCapabilities } from './model-capabilities.ts'
import type { Turn } from './to-messages.ts'
import type { Thinking } from './to-thinking.ts'

export interface ResolvedThinking {
  readonly thinking: Thinking
  readonly turns: readonly Turn[]
}

/**
 * With a budget, an exchange with tools that is still going on must begin with the thoughts it began with: where a client
 * has lost them, this request goes without thinking. Without thinking no thoughts are sent. Models that set their own
 * measure take a conversation with or without.
 */
export function resolveThinking(
  thinking: Thinking,
  turns: readonly Turn[],
  capabilities: ModelCapabilities,
): ResolvedThinking {
  const type = thinking.thinking?.type ?? (capabilities.thinksByDefault ? 'adaptive' : 'disabled')
  if (type === 'disabled') return { thinking, turns: withoutThinking(turns) }
  if (type !== 'enabled' || startsWithThinking(turns)) return { thinking, turns }
  return { thinking: {}, turns: withoutThinking(turns) }
}

const isThinkingBlock = ({ type }: ContentBlockParam): boolean =>
  type === 'thinking' || type === 'redacted_thinking'

const withoutThinking = (turns: readonly Turn[]): readonly Turn[] =>
  turns.map(({ role, content }) => ({
    role,
    content: content.filter((block) => !isThinkingBlock(block)),
  }))

/** Whether the answer under way, if there is one, began with a thought. */
function startsWithThinking(turns: readonly Turn[]): boolean {
  let first: Turn | undefined
  for (const turn of turns.toReversed()) {
    const goesOn = turn.role === 'assistant' || turn.content[0]?.type === 'tool_result'
    if (!goesOn) break
    if (turn.role === 'assistant') first = turn
  }
  const [opening] = first?.content ?? []
  return opening === undefined || isThinkingBlock(opening)
}
