/** Anthropic's thinking blocks: which they are. */
import type { ContentBlockParam } from '@anthropic-ai/sdk/resources/messages'

export const isThinkingBlock = ({ type }: ContentBlockParam): boolean =>
  type === 'thinking' || type === 'redacted_thinking'
