/** Ours → theirs: temperature, top_p and top_k, as far as the model accepts them. */
import type { Sampling as Asked } from '#domain/conversation.ts'
import type { ModelCapabilities } from './model-capabilities.ts'

export interface Sampling {
  readonly temperature?: number
  readonly top_p?: number
  readonly top_k?: number
}

/**
 * Clamped to 0..1 (OpenAI allows a temperature of 2). Omitted while the model thinks and on models that refuse them. Where only
 * one is accepted, temperature takes precedence over top_p unless it is the default.
 */
export function toSampling(
  { temperature: stated, topP: statedP, topK }: Asked,
  capabilities: ModelCapabilities,
  thinks: boolean,
): Sampling {
  if (thinks || capabilities.sampling === 'none') return {}
  const temperature = toUnit(stated)
  const topP = toUnit(statedP)
  const both = temperature !== undefined && topP !== undefined && capabilities.sampling === 'one'
  const topPStays = both && temperature === 1 && topP !== 1
  return {
    ...(temperature !== undefined && !topPStays && { temperature }),
    ...(topP !== undefined && (!both || topPStays) && { top_p: topP }),
    ...(topK !== undefined && topK > 0 && { top_k: Math.round(topK) }),
  }
}

const toUnit = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : Math.min(Math.max(value, 0), 1)
