/** Theirs → ours: Gemini's usage in disjoint classes, so that each token is priced exactly once. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject } from '#domain/json.ts'
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import { isImpossible, readCount, readPart } from '../read-json.ts'

const COUNTS = [
  'promptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'totalTokenCount',
  'toolUsePromptTokenCount',
] as const

/**
 * Undefined when there is no count of prompt or candidates (a total alone does not say of which it is), or an impossible one.
 * Cached tokens are part of the prompt; tokens of tool prompts and of thoughts are counted besides prompt and candidates, and
 * billed. A missing `promptTokenCount` or `candidatesTokenCount` follows from the total.
 * @example prompt 9622 of which 9609 cached, candidates 35, thoughts 136 → input 13, cache read 9609, output 171
 */
export function fromUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  if (COUNTS.some((name) => isImpossible(value[name]))) return undefined
  const statedPrompt = readCount(value['promptTokenCount'])
  const statedCandidates = readCount(value['candidatesTokenCount'])
  if (statedPrompt === undefined && statedCandidates === undefined) return undefined
  const count = (name: string): number => readCount(value[name]) ?? 0
  const ofTools = count('toolUsePromptTokenCount')
  const thoughts = count('thoughtsTokenCount')
  const ofBoth = Math.max(0, count('totalTokenCount') - ofTools - thoughts)
  const prompt = statedPrompt ?? Math.max(0, ofBoth - (statedCandidates ?? 0))
  const candidates = statedCandidates ?? Math.max(0, ofBoth - prompt)
  const cacheReadTokens = readPart(value['cachedContentTokenCount'], prompt)
  const uncached = prompt - cacheReadTokens
  const imageInputTokens = Math.min(
    readPart(imageTokens(value, 'promptTokensDetails'), prompt),
    uncached,
  )
  const imageOutputTokens = readPart(imageTokens(value, 'candidatesTokensDetails'), candidates)
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

/** Whether only the prompt or only the output was counted, and no total. */
export function isOneSided(value: unknown): boolean {
  const usage = readObject(value)
  const counts = (name: string): boolean => readCount(usage[name]) !== undefined
  if (counts('totalTokenCount')) return false
  return (
    counts('promptTokenCount') !== (counts('candidatesTokenCount') || counts('thoughtsTokenCount'))
  )
}

const imageTokens = (
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
