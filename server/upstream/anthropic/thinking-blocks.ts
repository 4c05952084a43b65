/** Thinking on both wires: their signed blocks, and `reasoning_details` in the shape that OpenRouter gave them. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList } from '../read-json.ts'

/** A block of thinking as it has to be sent back: unchanged, signed, and where it stood among the blocks of its message. */
export interface ThinkingBlock {
  readonly index: number
  readonly block:
    | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
    | { readonly type: 'redacted_thinking'; readonly data: string }
}

/** Tells our own signatures from another wire's; OpenRouter's word for them. */
const FORMAT = 'anthropic-claude-v1'

/** An entry of `reasoning_details`. */
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

/** The thoughts in a client's `reasoning_details`; what another wire signed, or nobody did, is left out. */
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
