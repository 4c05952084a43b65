/** Theirs → ours: errors of all the shapes that OpenAI-compatible providers send. */
import { type FailureDetails, type FailureKind, UpstreamFailure } from '#domain/upstream.ts'
import { kindOfStatus } from '../failure.ts'
import type { Scrub } from '../scrub.ts'
import { type Problem, readProblem } from './read-problem.ts'

/** How OpenAI, Groq, DeepSeek and compatible servers word that a prompt is too long. */
const TOO_LONG =
  /maximum context length is|context_length_exceeded|exceeds? the (?:model'?s )?(?:maximum )?context (?:length|window)|reduce the length of the messages/i

const BAD_KEY = /^incorrect api key provided\b/i

/** The failure for an error status. `text` is its body, as far as it was read. */
export function fromErrorAnswer(
  status: number,
  text: string,
  retryAfterSeconds: number | undefined,
  scrub: Scrub,
): UpstreamFailure {
  const problem = readProblem(text)
  return toFailure(kindOfStatus(status), status, problem, scrub, retryAfterSeconds)
}

/** The failure for an error within a 200: an `error` member, or the data of an `event: error`. */
export function fromErrorInside(value: unknown, scrub: Scrub): UpstreamFailure {
  const problem = readProblem(value)
  const { status } = problem
  const kind = status === undefined ? kindOfWords(problem) : kindOfStatus(status)
  return toFailure(kind, status, problem, scrub)
}

function toFailure(
  kind: FailureKind,
  status: number | undefined,
  problem: Problem,
  scrub: Scrub,
  retryAfterSeconds?: number,
): UpstreamFailure {
  const message = scrub(problem.message ?? '')
  const providerCode = toProviderCode(kind, problem)
  const permanent = kind === 'overloaded' ? permanentOf(problem) : undefined
  // OpenAI's images API answers 400 when the account has no credit left, xAI for a key that it does not know.
  const isBadKey = status === 400 && BAD_KEY.test(problem.message ?? '')
  const isOperators = isQuotaCode(problem) || isBadKey
  const actualKind = kind === 'rejected' && isOperators ? 'unauthorized' : kind
  const details: FailureDetails = {
    ...(status !== undefined && { status }),
    ...(providerCode !== undefined && { providerCode }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(permanent !== undefined && { permanent }),
    ...(kind === 'rejected' && problem.param !== undefined && { param: scrub(problem.param) }),
  }
  return new UpstreamFailure(actualKind, message || defaultMessage(status), details)
}

const defaultMessage = (status: number | undefined): string =>
  status === undefined ? 'it reported an error without words' : `it answered with status ${status}`

function toProviderCode(kind: FailureKind, { code, type, message }: Problem): string | undefined {
  if (kind === 'rejected' && TOO_LONG.test(`${code ?? ''} ${message ?? ''}`)) {
    return 'context_length_exceeded'
  }
  return code ?? type
}

/** Without a status the code and type decide; unknown ones are `failed`. */
function kindOfWords({ code, type }: Problem): FailureKind {
  const words = `${code ?? ''} ${type ?? ''}`.toLowerCase()
  if (/content_filter|invalid_request|bad_request|context_length|unprocessable/.test(words)) {
    return 'rejected'
  }
  if (/rate_limit|overload|too_many|quota|capacity/.test(words)) return 'overloaded'
  if (/auth|permission|api_key|billing/.test(words)) return 'unauthorized'
  return /timeout/.test(words) ? 'timeout' : 'failed'
}

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
const isQuotaCode = ({ code, type }: Problem): boolean =>
  QUOTA_CODE.test(code ?? '') || QUOTA_CODE.test(type ?? '')

/** Why a retry cannot help; undefined when it may. */
function permanentOf(problem: Problem): FailureDetails['permanent'] {
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
