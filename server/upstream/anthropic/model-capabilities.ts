/** What a model accepts, by the generation in its name: the API has changed without a new version number. */

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

/** `claude-3-5-sonnet-20240620`, `claude-opus-4-7`, `claude-sonnet-5`: major and minor; a date is not a minor version. */
const GENERATION = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/i
const NEWEST = 99

/** A Claude model without a generation in its name is treated as the newest. */
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
