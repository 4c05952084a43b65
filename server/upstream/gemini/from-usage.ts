/** Theirs → ours: Gemini's count in disjoint classes, so that each token is priced exactly once. */
import type { JsonObject } from '#domain/chat.ts'
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import { isObject, readList } from '../read-json.ts'

/** No answer has more tokens than this; a larger count is a fault, and must not become a charge. */
const MOST_TOKENS = 1_000_000_000

/** A count, bounded to 0..1e9 and made whole; undefined when there is no number. */
const readCount = (value: unknown): number | undefined =>
  typeof value === 'number' && !Number.isNaN(value)
    ? Math.min(Math.max(0, Math.round(value)), MOST_TOKENS)
    : undefined

const COUNTS = [
  'promptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'totalTokenCount',
] as const

/**
 * Undefined when nothing was counted. Cached tokens stand inside the prompt, tokens of tool prompts and of thoughts stand
 * outside prompt and candidates and are billed; `candidatesTokenCount` may be absent, then the total tells it.
 * @example prompt 9622 of which 9609 cached, candidates 35, thoughts 136 → input 13, cache read 9609, output 171
 */
export function fromUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  if (COUNTS.every((name) => readCount(value[name]) === undefined)) return undefined
  const count = (name: string): number => readCount(value[name]) ?? 0
  const prompt = count('promptTokenCount')
  const ofTools = count('toolUsePromptTokenCount')
  const thoughts = count('thoughtsTokenCount')
  const candidates =
    readCount(value['candidatesTokenCount']) ??
    Math.max(0, count('totalTokenCount') - prompt - ofTools - thoughts)
  const cacheReadTokens = Math.min(count('cachedContentTokenCount'), prompt)
  const uncached = prompt - cacheReadTokens
  const imageInputTokens = Math.min(ofPictures(value, 'promptTokensDetails'), uncached)
  const imageOutputTokens = Math.min(ofPictures(value, 'candidatesTokensDetails'), candidates)
  return {
    ...NO_USAGE,
    inputTokens: uncached - imageInputTokens + ofTools,
    cacheReadTokens,
    imageInputTokens,
    outputTokens: candidates - imageOutputTokens + thoughts,
    reasoningTokens: thoughts,
    imageOutputTokens,
  }
}

const ofPictures = (
  usage: JsonObject,
  side: 'promptTokensDetails' | 'candidatesTokensDetails',
): number =>
  readList(usage[side]).reduce<number>(
    (sum, detail) =>
      isObject(detail) && detail['modality'] === 'IMAGE'
        ? sum + (readCount(detail['tokenCount']) ?? 0)
        : sum,
    0,
  )
