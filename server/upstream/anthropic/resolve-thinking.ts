/** Decides whether thinking is enabled and whether earlier thinking blocks are sent: the API refuses inconsistent requests. */
import type { ContentBlockParam } from '@anthropic-ai/sdk/resources/messages'
import type { ModelCapabilities } from './model-capabilities.ts'
import type { Turn } from './to-messages.ts'
import type { Thinking } from './to-thinking.ts'

export interface ResolvedThinking {
  readonly thinking: Thinking
  readonly turns: readonly Turn[]
}

/**
 * With a budget, an unfinished tool exchange must start with its thinking blocks; when the client has lost them, thinking is
 * disabled for this request. With thinking disabled no thinking blocks are sent. Models with adaptive thinking accept both.
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

/** Whether the unfinished answer, if there is one, starts with a thinking block. */
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
