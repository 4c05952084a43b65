/** Converts Anthropic's signed thinking blocks to and from `reasoning_details` in OpenRouter's format. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList } from '../read-json.ts'

/** A thinking block as it must be sent back: unchanged, signed, and at its index among the message's blocks. */
export interface ThinkingBlock {
  readonly index: number
  readonly block:
    | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
    | { readonly type: 'redacted_thinking'; readonly data: string }
}

/** OpenRouter's name of the format; distinguishes these signatures from other vendors'. */
const FORMAT = 'anthropic-claude-v1'

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

/** The thinking blocks in a client's `reasoning_details`; unsigned ones and those of other vendors are left out. */
export function fromReasoningDetails(details: unknown): readonly ThinkingBlock[] {
  return readList(details).flatMap((detail, position): ThinkingBlock[] => {
    if (!isObject(detail) || detail['format'] !== FORMAT) return []
    const { text, signature, data, index: stated } = detail
    const index = typeof stated === 'number' ? stated : position
    if (detail['type'] === 'reasoning.encrypted' && typeof data === 'string') {
      return [{ index, block: { type: 'redacted_thinking', data } }]
    }
    if (typeof signature !== 'string' || signature === '') return []
    const thinking = typeof text === 'string' ? text : ''
    return [{ index, block: { type: 'thinking', thinking, signature } }]
  })
}
