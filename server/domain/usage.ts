/** Usage: the units that a generation consumed, in disjoint classes, so that each token is priced exactly once. */

/**
 * The classes do not overlap: `inputTokens` excludes cache reads and writes and image tokens, `outputTokens` excludes image
 * tokens but includes reasoning, however the provider counts it. `reasoningTokens` is the part of the output that was
 * reasoning.
 */
export interface Usage {
  readonly inputTokens: number
  readonly cacheReadTokens: number
  /** Written for five minutes, or for a time that the provider does not tell. */
  readonly cacheWriteTokens: number
  /** Written for an hour, which has a price of its own. */
  readonly cacheWrite1hTokens: number
  /** Tokens of input images, where the provider reports them; cached ones count as cache reads. */
  readonly imageInputTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
  readonly imageOutputTokens: number
  /** Images in the prompt. */
  readonly inputImages: number
  /** Images received. */
  readonly outputImages: number
  /** Of a model that ranks documents, where the provider bills by them. */
  readonly searchUnits: number
  /** Calls of tools that the vendor runs; null where nobody counted any. */
  readonly serverCalls: ServerCalls | null
}

/** How often each tool was called, by its name without a date: `web_search`. */
export type ServerCalls = Readonly<Record<string, number>>

/** A provider that counts them has counted none. */
export const NO_CALLS: ServerCalls = {}

export const NO_USAGE: Usage = {
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  imageInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  imageOutputTokens: 0,
  inputImages: 0,
  outputImages: 0,
  searchUnits: 0,
  serverCalls: null,
}

export const promptTokens = (usage: Usage): number =>
  usage.inputTokens +
  usage.cacheReadTokens +
  usage.cacheWriteTokens +
  usage.cacheWrite1hTokens +
  usage.imageInputTokens

/** However long they are kept. */
export const cacheWriteTokens = (usage: Usage): number =>
  usage.cacheWriteTokens + usage.cacheWrite1hTokens

export const completionTokens = (usage: Usage): number =>
  usage.outputTokens + usage.imageOutputTokens
