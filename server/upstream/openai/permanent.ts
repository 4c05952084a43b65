/** Finds the refusals for want of quota that no waiting lifts: OpenAI and its followers answer them with a 429 like any other. */
import type { FailureDetails } from '#domain/upstream.ts'
import type { Problem } from './read-problem.ts'

/** OpenAI's own codes, and Moonshot's. */
const QUOTA_CODE =
  /^(?:insufficient_quota|billing_hard_limit_reached|billing_not_active|exceeded_current_quota_error)$/
/** Where the code says less: Moonshot, xAI, z.ai (in either language). */
const QUOTA_MESSAGE =
  /insufficient balance|余额不足|used all available credits|reached its monthly spending limit/i
/** Alibaba says `insufficient_quota` of a limit per minute too, and then links to this. */
const ALIBABA_THROTTLED = /#token-limit|allocated quota/i
/** "Limit 30000, Requested 37313", also with "Used 12," in between. */
const LIMIT_AND_REQUESTED = /\blimit:? ([\d,]+),? (?:used:? [\d,]+,? )?requested:? ([\d,]+)/i

/** Whether the operator's account with the provider has nothing left to spend, by its code alone. */
export const isQuotaCode = ({ code, type }: Problem): boolean =>
  QUOTA_CODE.test(code ?? '') || QUOTA_CODE.test(type ?? '')

/** Why waiting does not help with what was refused as too much; undefined where it may. */
export function permanentOf(problem: Problem): FailureDetails['permanent'] {
  const message = problem.message ?? ''
  if (isOversize(message)) return 'request'
  if (ALIBABA_THROTTLED.test(message)) return undefined
  return isQuotaCode(problem) || QUOTA_MESSAGE.test(message) ? 'account' : undefined
}

/** A request for more tokens than a whole minute has. */
function isOversize(message: string): boolean {
  const [, limit, requested] = LIMIT_AND_REQUESTED.exec(message) ?? []
  return limit !== undefined && requested !== undefined && toCount(requested) > toCount(limit)
}

const toCount = (digits: string): number => Number(digits.replaceAll(',', ''))
