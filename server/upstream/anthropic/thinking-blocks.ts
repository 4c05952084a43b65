/** Anthropic's thinking blocks: which they are, and, theirs → ours, the signed ones as `reasoning_details`. */
import type { ContentBlockParam } from '@anthropic-ai/sdk/resources/messages'
import type { JsonObject } from '#domain/chat.ts'
import { DETAIL_FORMATS } from '#domain/reasoning-details.ts'

/** A thinking block as it must be sent back: unchanged, signed, and at its index among the message's blocks. */
export interface ThinkingBlock {
  readonly index: number
  readonly block:
    | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
    | { readonly type: 'redacted_thinking'; readonly data: string }
}

const FORMAT = DETAIL_FORMATS.anthropic

export const toReasoningDetail = ({ index, block }: ThinkingBlock): JsonObject =>
  block.type === 'thinking'
    ? {
        type: 'reasoning.text',
        text: block.thinking,
        signature: block.signature,
        format: FORMAT,
        index,
      }
    : { type: 'reasoning.encrypted', data: block.data, format: FORMAT, index }

export const isThinkingBlock = ({ type }: ContentBlockParam): boolean =>
  type === 'thinking' || type === 'redacted_thinking'
