/** Theirs → ours: a count in disjoint classes. On this wire they are disjoint already; only reasoning stands inside the output. */
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import { isObject, readObject } from '../read-json.ts'

/** No answer has more tokens than this; a larger count is a fault, and must not become a charge. */
const MOST_TOKENS = 1_000_000_000

function readCount(value: unknown): number | undefined {
  if (typeof value !== 'number' || Number.isNaN(value)) return undefined
  return Math.min(Math.max(0, Math.round(value)), MOST_TOKENS)
}

/**
 * Undefined when nothing was counted. Counts are cumulative, so a later statement replaces an earlier one; what it leaves
 * out (the prompt, in the last word of many servers) holds as it was `before`.
 * @example input 4, cache read 1163, output 202 → a prompt of 1167 tokens
 */
export function fromUsage(value: unknown, before?: Usage): Usage | undefined {
  if (!isObject(value)) return undefined
  const input = readCount(value['input_tokens'])
  const output = readCount(value['output_tokens'])
  if (input === undefined && output === undefined) return undefined
  const known = before ?? NO_USAGE
  const outputTokens = output ?? known.outputTokens
  const thinking = readCount(readObject(value['output_tokens_details'])['thinking_tokens'])
  return {
    ...known,
    inputTokens: input ?? known.inputTokens,
    cacheReadTokens: readCount(value['cache_read_input_tokens']) ?? known.cacheReadTokens,
    cacheWriteTokens: readCount(value['cache_creation_input_tokens']) ?? known.cacheWriteTokens,
    outputTokens,
    reasoningTokens: Math.min(thinking ?? known.reasoningTokens, outputTokens),
  }
}
