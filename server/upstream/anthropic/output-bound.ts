/** The bound of an answer that must be stated, where neither the client nor the gateway states one. */
import type { UpstreamCall } from '#domain/upstream.ts'

const DEFAULT_MAX_TOKENS = 4_096

export const outputBoundOf = ({
  hop: { card },
  maxOutputTokens,
}: Pick<UpstreamCall, 'hop' | 'maxOutputTokens'>): number =>
  maxOutputTokens ?? card.maxCompletionTokens ?? DEFAULT_MAX_TOKENS
