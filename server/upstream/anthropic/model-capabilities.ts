/** What a model of this wire accepts, told by the generation in its name: the wire has changed under one version number. */

export interface ModelCapabilities {
  /** Whether thinking has a budget in tokens, or the model decides and is told how much effort to make. */
  readonly thinking: 'budget' | 'adaptive'
  /** Whether it thinks when nothing is said about it. */
  readonly thinksByDefault: boolean
  /** Whether `temperature` and `top_p` may both be sent, one of them, or neither. */
  readonly sampling: 'both' | 'one' | 'none'
  /** Whether a tool's schema can be enforced. */
  readonly strictTools: boolean
  /** The effort words beyond `high` that it knows. */
  readonly maxEffort: 'high' | 'max'
}

/** Servers of other vendors took over the wire as it was with the first Claude 4. */
const OTHER_VENDORS: ModelCapabilities = {
  thinking: 'budget',
  thinksByDefault: false,
  sampling: 'both',
  strictTools: false,
  maxEffort: 'high',
}

/** `claude-3-5-sonnet-20240620`, `claude-opus-4-7`, `claude-sonnet-5`: major, minor; a date is no minor. */
const GENERATION = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/i
const NEWEST = 99

/** Reads `upstreamName`; a Claude whose name says no generation is taken for a new one. */
export function capabilitiesOf(upstreamName: string): ModelCapabilities {
  if (!/claude/i.test(upstreamName)) return OTHER_VENDORS
  const [, major, minor] = GENERATION.exec(upstreamName) ?? []
  const generation = major === undefined ? NEWEST : Number(major) + Number(minor ?? 0) / 100
  return {
    thinking: generation >= 4.06 ? 'adaptive' : 'budget',
    thinksByDefault: generation >= 5,
    sampling: generation >= 4.07 ? 'none' : generation >= 4.01 ? 'one' : 'both',
    strictTools: generation >= 4.01,
    maxEffort: generation >= 4.07 ? 'max' : 'high',
  }
}
