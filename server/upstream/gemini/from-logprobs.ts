/** Theirs → ours: log probabilities in OpenAI's shape. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject } from '#domain/json.ts'

/** Undefined when there are none. */
export function fromLogprobs(value: unknown): JsonObject | undefined {
  if (!isObject(value)) return undefined
  const tops = readList(value['topCandidates'])
  const content = readList(value['chosenCandidates']).map((chosen, index) => ({
    ...toToken(chosen),
    top_logprobs: readList(readObject(tops[index])['candidates']).map(toToken),
  }))
  return content.length > 0 ? { content, refusal: null } : undefined
}

function toToken(value: unknown): JsonObject {
  const { token, logProbability } = readObject(value)
  const text = typeof token === 'string' ? token : ''
  // Google's JSON omits zero, the logarithm of probability one.
  const logprob = typeof logProbability === 'number' ? logProbability : 0
  return { token: text, logprob, bytes: [...ENCODER.encode(text)] }
}

const ENCODER = new TextEncoder()
