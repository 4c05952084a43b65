/** Theirs → ours: errors, as `{type: "error", error: {type, message}}` or as plain text from a proxy. */
import { type FailureDetails, type FailureKind, UpstreamFailure } from '#domain/upstream.ts'
import { readRetryAfter } from '#outbound/retry-after.ts'
import { kindOfStatus } from '../failure.ts'
import { type Problem, readProblem } from '../openai/read-problem.ts'
import type { Reply } from '../reply.ts'
import type { Scrub } from '../scrub.ts'

const TOO_LONG = /prompt is too long|exceeds? (?:the )?context (?:limit|window)/i
/** Sent with status 400, although the operator's account is out of credit or disabled. */
const ACCOUNT_PROBLEM = /credit balance is too low|organization has been disabled/i
/** The id of the operator's organization, which only this API puts into messages. */
const ORGANIZATION = /\b(org(?:anization)?[: (]+)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi

const KINDS: Readonly<Record<string, FailureKind>> = {
  invalid_request_error: 'rejected',
  not_found_error: 'rejected',
  request_too_large: 'rejected',
  authentication_error: 'unauthorized',
  permission_error: 'unauthorized',
  billing_error: 'unauthorized',
  rate_limit_error: 'overloaded',
  overloaded_error: 'overloaded',
  timeout_error: 'timeout',
}

/** The failure for an error status. `text` is its body, as far as it was read. */
export function fromErrorAnswer(
  status: number,
  text: string,
  headers: Reply['headers'],
  scrub: Scrub,
): UpstreamFailure {
  const retryAfterSeconds = readRetryAfter(headers)
  // The prompt exceeds the rate limit itself: no wait is stated, and `x-should-retry` is false.
  const permanent =
    status === 429 &&
    retryAfterSeconds === undefined &&
    headers.get('x-should-retry')?.trim().toLowerCase() === 'false'
  return toFailure(kindOfStatus(status), readProblem(text), scrub, {
    status,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(permanent && { permanent: 'request' }),
  })
}

/** The failure for an error within a 200: an `error` event, or a body of that type. Unknown types are `failed`. */
export function fromErrorInside(value: unknown, scrub: Scrub): UpstreamFailure {
  const problem = readProblem(value)
  return toFailure(KINDS[problem.type ?? ''] ?? 'failed', problem, scrub, {})
}

function toFailure(
  kind: FailureKind,
  { message = '', type }: Problem,
  scrub: Scrub,
  known: FailureDetails,
): UpstreamFailure {
  const tooLong = kind === 'rejected' && TOO_LONG.test(message)
  // Around plain text the type is only "error".
  const code = type === 'error' ? undefined : type
  const providerCode = tooLong ? 'context_length_exceeded' : code
  const details = { ...known, ...(providerCode !== undefined && { providerCode }) }
  const said = scrub(message.replace(ORGANIZATION, '$1removed'))
  const actualKind = ACCOUNT_PROBLEM.test(message) ? 'unauthorized' : kind
  return new UpstreamFailure(actualKind, said || defaultMessage(known.status), details)
}

const defaultMessage = (status: number | undefined): string =>
  status === undefined ? 'it reported an error without words' : `it answered with status ${status}`
