/** Theirs → ours: a refusal or a fault, in whatever shape the provider wrapped it. */

import type { JsonObject } from '#domain/chat.ts'
import { type FailureDetails, type FailureKind, UpstreamFailure } from '#domain/upstream.ts'
import { kindOfStatus } from '../failure.ts'
import { isObject } from '../read-json.ts'
import type { Scrub } from '../scrub.ts'
import { isQuotaCode, permanentOf } from './permanent.ts'
import { type Problem, readProblem } from './read-problem.ts'

/** Wordings by which OpenAI, Groq, DeepSeek and the servers built after them say that a prompt is too long. */
const TOO_LONG =
  /maximum context length is|context_length_exceeded|exceeds? the (?:model'?s )?(?:maximum )?context (?:length|window)|reduce the length of the messages/i

/** What an answer with a bad status means. `text` is its body, as far as it was read. */
export function fromErrorAnswer(
  status: number,
  text: string,
  retryAfterSeconds: number | undefined,
  scrub: Scrub,
): UpstreamFailure {
  const problem = readProblem(text)
  return toFailure(kindOfStatus(status), status, problem, scrub, retryAfterSeconds)
}

/** What an error inside a 200 means: an `error` member, or the data of an `event: error`. */
export function fromErrorInside(value: unknown, scrub: Scrub): UpstreamFailure {
  const problem = readProblem(value)
  const { status } = problem
  const kind = status === undefined ? kindOfWords(problem) : kindOfStatus(status)
  return toFailure(kind, status, problem, scrub)
}

/** The error that a chunk or a body under a 200 carries: its own, one of its choices', or Groq's beside them. */
export function findError(body: JsonObject, scrub: Scrub): UpstreamFailure | null {
  if (isSet(body['error']) || body['object'] === 'error') return fromErrorInside(body, scrub)
  const groq = body['x_groq']
  if (isObject(groq) && isSet(groq['error'])) return fromErrorInside(groq['error'], scrub)
  const choices = body['choices']
  if (!Array.isArray(choices)) return null
  for (const choice of choices) {
    if (isObject(choice) && isSet(choice['error'])) return fromErrorInside(choice['error'], scrub)
  }
  return null
}

const isSet = (error: unknown): boolean =>
  error !== undefined && error !== null && error !== '' && error !== false

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
  // OpenAI's images API tells a spent account as a 400.
  const actualKind = kind === 'rejected' && isQuotaCode(problem) ? 'unauthorized' : kind
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

/** Where no status is said, the code's own words decide; in doubt the provider is broken. */
function kindOfWords({ code, type }: Problem): FailureKind {
  const words = `${code ?? ''} ${type ?? ''}`.toLowerCase()
  if (/content_filter|invalid_request|bad_request|context_length|unprocessable/.test(words)) {
    return 'rejected'
  }
  if (/rate_limit|overload|too_many|quota|capacity/.test(words)) return 'overloaded'
  if (/auth|permission|api_key|billing/.test(words)) return 'unauthorized'
  return /timeout/.test(words) ? 'timeout' : 'failed'
}
