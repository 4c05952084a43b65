/** Theirs → ours: usage in disjoint classes. This API's classes are disjoint; only thinking tokens are part of the output. */
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import { isImpossible, isObject, readCount, readObject } from '../read-json.ts'

/** Counts that are charged; when one of them is impossible, the whole usage is ignored. */
const CHARGED = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const

/**
 * Undefined when there is no count or an impossible one. Counts are cumulative, so a later usage replaces an earlier one; counts
 * that it omits or sends as zero (the prompt, in the last event of many servers) keep their value of `before`.
 * @example input 4, cache read 1163, output 202 → a prompt of 1167 tokens
 */
export function fromUsage(value: unknown, before?: Usage): Usage | undefined {
  if (!isObject(value) || CHARGED.some((name) => isImpossible(value[name]))) return undefined
  const input = readCount(value['input_tokens'])
  const output = readCount(value['output_tokens'])
  if (input === undefined && output === undefined) return undefined
  const known = before ?? NO_USAGE
  const outputTokens = output ?? known.outputTokens
  const thinking = readCount(readObject(value['output_tokens_details'])['thinking_tokens'])
  return {
    ...known,
    inputTokens: input || known.inputTokens,
    cacheReadTokens: readCount(value['cache_read_input_tokens']) || known.cacheReadTokens,
    cacheWriteTokens: readCount(value['cache_creation_input_tokens']) || known.cacheWriteTokens,
    outputTokens,
    reasoningTokens: Math.min(thinking ?? known.reasoningTokens, outputTokens),
  }
}
