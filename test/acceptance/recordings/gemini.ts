/** Gemini's wire, read in the plainest way: one response, or the chunks of a stream. */
import type { Count, Heard, Heardable, Wire } from './heard.ts'

const FINISHES: Readonly<Record<string, string>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
}

export function hearGemini({ wire }: Heardable): Heard {
  const candidates: Wire[] = wire.flatMap((one) => one.candidates ?? [])
  const parts: Wire[] = candidates.flatMap((one) => one.content?.parts ?? [])
  const calls = parts.flatMap(({ functionCall }) => functionCall ?? [])
  const word = candidates.map(({ finishReason }) => finishReason).find((said) => said)
  const isBlocked = wire.some(({ promptFeedback }) => promptFeedback?.blockReason)
  const usage = wire.map(({ usageMetadata }) => usageMetadata).findLast((one) => one)
  return {
    said: {
      text: parts.map(({ text, thought }) => (thought ? '' : (text ?? ''))).join(''),
      reasoning: parts.map(({ text, thought }) => (thought ? text : '')).join(''),
      refusal: '',
      calls: calls.map(({ id, name, args }) => ({
        id: id ?? null,
        name,
        arguments: JSON.stringify(args),
      })),
      images: parts
        .flatMap(({ inlineData }) => inlineData ?? [])
        .map(({ mimeType, data }) => `data:${mimeType};base64,${data}`),
    },
    finish: isBlocked
      ? 'content_filter'
      : word === 'STOP' && calls.length > 0
        ? 'tool_calls'
        : word
          ? (FINISHES[word] ?? 'unknown')
          : null,
    hasEnded: isBlocked || word !== undefined,
    count: usage ? countOf(usage) : null,
    error: null,
  }
}

/** Cached tokens stand inside the prompt, thoughts beside the candidates; a count of zero is left out of their JSON. */
function countOf(usage: Wire): Count {
  const thoughts = usage.thoughtsTokenCount ?? 0
  const images = (usage.candidatesTokensDetails ?? []).find((of: Wire) => of.modality === 'IMAGE')
  return {
    prompt: (usage.promptTokenCount ?? 0) + (usage.toolUsePromptTokenCount ?? 0),
    cached: usage.cachedContentTokenCount ?? 0,
    written: 0,
    completion: (usage.candidatesTokenCount ?? 0) + thoughts,
    imageTokens: images?.tokenCount ?? 0,
    reasoning: thoughts,
  }
}
