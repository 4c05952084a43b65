/** What a model accepts, by the generation in its name: the API has changed without a new version number. */
import { ADAPTIVE_THINKING, claudeGeneration } from '#domain/thinking.ts'

export interface ModelCapabilities {
  /** Whether thinking takes a budget in tokens, or is adaptive and takes an effort. */
  readonly thinking: 'budget' | 'adaptive'
  /** Whether it thinks when the request does not mention thinking. */
  readonly thinksByDefault: boolean
  /** How many of `temperature` and `top_p` may be sent. */
  readonly sampling: 'both' | 'one' | 'none'
  /** Whether a tool's schema can be enforced. */
  readonly strictTools: boolean
  /** The highest effort that it accepts. */
  readonly maxEffort: 'high' | 'max'
}

/** Servers of other vendors implement the API as of the first Claude 4. */
const OTHER_VENDORS: ModelCapabilities = {
  thinking: 'budget',
  thinksByDefault: false,
  sampling: 'both',
  strictTools: false,
  maxEffort: 'high',
}

export function capabilitiesOf(upstreamName: string): ModelCapabilities {
  const generation = claudeGeneration(upstreamName)
  if (generation === 0) return OTHER_VENDORS
  return {
    thinking: generation >= ADAPTIVE_THINKING ? 'adaptive' : 'budget',
    thinksByDefault: generation >= 5,
    sampling: generation >= 4.07 ? 'none' : generation >= 4.01 ? 'one' : 'both',
    strictTools: generation >= 4.01,
    maxEffort: generation >= 4.07 ? 'max' : 'high',
  }
}
