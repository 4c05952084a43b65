/** Theirs → ours: a refusal or a fault; `{type: "error", error: {type, message}}`, or plain text from whatever stands in between. */
import { type FailureDetails, type FailureKind, UpstreamFailure } from '#domain/upstream.ts'
import { readRetryAfter } from '#outbound/retry-after.ts'
import { kindOfStatus } from '../failure.ts'
import { type Problem, readProblem } from '../openai/read-problem.ts'
import type { Reply } from '../reply.ts'
import type { Scrub } from '../scrub.ts'

const TOO_LONG = /prompt is too long|exceeds? (?:the )?context (?:limit|window)/i
/** Told as a 400, though it is the operator's account that is empty or closed. */
const ACCOUNT_PROBLEM = /credit balance is too low|organization has been disabled/i
/** The account's own number, which only this wire puts into its words. */
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

/** What an answer with a bad status means. `text` is its body, as far as it was read. */
export function fromErrorAnswer(
  status: number,
  text: string,
  headers: Reply['headers'],
  scrub: Scrub,
): UpstreamFailure {
  const retryAfterSeconds = readRetryAfter(headers)
  // A prompt larger than the limit itself: no wait is named, and a retry is advised against.
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

/** What an error inside a 200 means: an `error` event, or a body of that type. In doubt the provider is broken. */
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
  // An envelope around mere text says no more of its type than that it is an error.
  const code = type === 'error' ? undefined : type
  const providerCode = tooLong ? 'context_length_exceeded' : code
  const details = { ...known, ...(providerCode !== undefined && { providerCode }) }
  const said = scrub(message.replace(ORGANIZATION, '$1removed'))
  const actualKind = ACCOUNT_PROBLEM.test(message) ? 'unauthorized' : kind
  return new UpstreamFailure(actualKind, said || defaultMessage(known.status), details)
}

const defaultMessage = (status: number | undefined): string =>
  status === undefined ? 'it reported an error without words' : `it answered with status ${status}`
