/** Decides whether thinking may be on, and whether old thoughts travel: this wire refuses a request that has it half. */
import type { ContentBlockParam } from '@anthropic-ai/sdk/resources/messages'
import type { ModelHabits } from './model-habits.ts'
import type { Turn } from './to-messages.ts'
import type { Thinking } from './to-thinking.ts'

export interface Thoughtful {
  readonly thinking: Thinking
  readonly turns: readonly Turn[]
}

/**
 * With a budget, an exchange with tools that is still going on must begin with the thoughts it began with: where a client
 * has lost them, this request goes without thinking. Without thinking no thoughts are sent. Models that set their own
 * measure take a conversation with or without.
 */
export function keepThoughts(
  thinking: Thinking,
  turns: readonly Turn[],
  habits: ModelHabits,
): Thoughtful {
  const type = thinking.thinking?.type ?? (habits.thinksUnasked ? 'adaptive' : 'disabled')
  if (type === 'disabled') return { thinking, turns: withoutThoughts(turns) }
  if (type !== 'enabled' || beginsThoughtfully(turns)) return { thinking, turns }
  return { thinking: {}, turns: withoutThoughts(turns) }
}

const isThought = ({ type }: ContentBlockParam): boolean =>
  type === 'thinking' || type === 'redacted_thinking'

const withoutThoughts = (turns: readonly Turn[]): readonly Turn[] =>
  turns.map(({ role, content }) => ({
    role,
    content: content.filter((block) => !isThought(block)),
  }))

/** Whether the answer under way, if there is one, began with a thought. */
function beginsThoughtfully(turns: readonly Turn[]): boolean {
  let first: Turn | undefined
  for (const turn of turns.toReversed()) {
    const goesOn = turn.role === 'assistant' || turn.content[0]?.type === 'tool_result'
    if (!goesOn) break
    if (turn.role === 'assistant') first = turn
  }
  const [opening] = first?.content ?? []
  return opening === undefined || isThought(opening)
}
