/** Reads `--output-bound`: how the bound of an answer is spelled for a provider. */
import { OUTPUT_BOUNDS, type OutputBound } from '#domain/provider.ts'
import { usageError } from '../exit.ts'

export const OUTPUT_BOUND_HELP =
  'how it takes the bound of an answer: max_tokens, max_completion_tokens, both, none; auto'

/** Null for `auto`: by type and address, or as its refusals teach. Undefined where it is not given. */
export function readOutputBound(text: string | undefined): OutputBound | null | undefined {
  if (text === undefined) return undefined
  const bound = OUTPUT_BOUNDS.find((word) => word === text) ?? null
  if (bound !== null || text === 'auto') return bound
  throw usageError(`--output-bound is one of ${OUTPUT_BOUNDS.join(', ')}, auto (got "${text}")`)
}
