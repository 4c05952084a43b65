/** Decides whether thinking is enabled and whether earlier thinking blocks are sent: the API refuses inconsistent requests. */
import type { ModelCapabilities } from './model-capabilities.ts'
import { isThinkingBlock } from './thinking-blocks.ts'
import type { Message } from './to-messages.ts'
import type { Thinking } from './to-thinking.ts'

export interface ResolvedThinking {
  readonly thinking: Thinking
  readonly messages: readonly Message[]
}

/**
 * With a budget, an unfinished tool exchange must start with its thinking blocks; when the client has lost them, thinking is
 * disabled for this request. With thinking disabled no thinking blocks are sent. Models with adaptive thinking accept both.
 */
export function resolveThinking(
  thinking: Thinking,
  messages: readonly Message[],
  capabilities: ModelCapabilities,
): ResolvedThinking {
  const type = thinking.thinking?.type ?? (capabilities.thinksByDefault ? 'adaptive' : 'disabled')
  if (type === 'disabled') return { thinking, messages: withoutThinking(messages) }
  if (type !== 'enabled' || startsWithThinking(messages)) return { thinking, messages }
  return { thinking: {}, messages: withoutThinking(messages) }
}

const withoutThinking = (messages: readonly Message[]): readonly Message[] =>
  messages.map(({ role, content }) => ({
    role,
    content: content.filter((block) => !isThinkingBlock(block)),
  }))

/** Whether the unfinished answer, if there is one, starts with a thinking block. */
function startsWithThinking(messages: readonly Message[]): boolean {
  let first: Message | undefined
  for (const message of messages.toReversed()) {
    const goesOn = message.role === 'assistant' || message.content[0]?.type === 'tool_result'
    if (!goesOn) break
    if (message.role === 'assistant') first = message
  }
  const [opening] = first?.content ?? []
  return opening === undefined || isThinkingBlock(opening)
}
