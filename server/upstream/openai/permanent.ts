/** Detects 429 errors that no retry can resolve: an exhausted quota, or a request larger than the limit. */
import type { FailureDetails } from '#domain/upstream.ts'
import type { Problem } from './read-problem.ts'

/** Codes of OpenAI and Moonshot. */
const QUOTA_CODE =
  /^(?:insufficient_quota|billing_hard_limit_reached|billing_not_active|exceeded_current_quota_error)$/
/** Messages of providers whose code is less specific: Moonshot, xAI, z.ai (in two languages). */
const QUOTA_MESSAGE =
  /insufficient balance|余额不足|used all available credits|reached its monthly spending limit/i
/** Alibaba sends `insufficient_quota` for per-minute limits too, with a link to this. */
const ALIBABA_THROTTLED = /#token-limit|allocated quota/i
/** "Limit 30000, Requested 37313", also with "Used 12," in between. */
const LIMIT_AND_REQUESTED = /\blimit:? ([\d,]+),? (?:used:? [\d,]+,? )?requested:? ([\d,]+)/i

/** Whether the code says that the operator's account has no credit or quota left. */
export const isQuotaCode = ({ code, type }: Problem): boolean =>
  QUOTA_CODE.test(code ?? '') || QUOTA_CODE.test(type ?? '')

/** Why a retry cannot help; undefined when it may. */
export function permanentOf(problem: Problem): FailureDetails['permanent'] {
  const message = problem.message ?? ''
  if (isOversize(message)) return 'request'
  if (ALIBABA_THROTTLED.test(message)) return undefined
  return isQuotaCode(problem) || QUOTA_MESSAGE.test(message) ? 'account' : undefined
}

/** A request for more tokens than the limit per minute. */
function isOversize(message: string): boolean {
  const [, limit, requested] = LIMIT_AND_REQUESTED.exec(message) ?? []
  return limit !== undefined && requested !== undefined && toCount(requested) > toCount(limit)
}

const toCount = (digits: string): number => Number(digits.replaceAll(',', ''))
