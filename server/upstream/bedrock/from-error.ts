/** Theirs → ours: errors of AWS, whose name is in a header, and whose text may name accounts and roles. */
import { type FailureKind, UpstreamFailure } from '#domain/upstream.ts'
import { readRetryAfter } from '#outbound/retry-after.ts'
import { kindOfStatus } from '../failure.ts'
import { readProblem } from '../openai/read-problem.ts'
import type { Reply } from '../reply.ts'
import type { Scrub } from '../scrub.ts'

const KINDS: Readonly<Record<string, FailureKind>> = {
  ValidationException: 'rejected',
  ThrottlingException: 'overloaded',
  TooManyRequestsException: 'overloaded',
  ServiceQuotaExceededException: 'overloaded',
  ModelNotReadyException: 'overloaded',
  ServiceUnavailableException: 'overloaded',
  ModelTimeoutException: 'timeout',
  AccessDeniedException: 'unauthorized',
  ExpiredTokenException: 'unauthorized',
  IncompleteSignatureException: 'unauthorized',
  InvalidSignatureException: 'unauthorized',
  MissingAuthenticationTokenException: 'unauthorized',
  UnrecognizedClientException: 'unauthorized',
}

const TOO_LONG = /(?:input|prompt) is too long|exceeds? (?:the )?context (?:limit|window)/i

/**
 * A ValidationException, although only the operator can do something about it: a model that is not served in this region, or
 * only through an inference profile.
 */
const OPERATORS =
  /on-demand throughput isn.t supported|model identifier is invalid|Operation not allowed/i

/** The failure for an error status. `text` is its body, as far as it was read. */
export function fromErrorAnswer(
  status: number,
  text: string,
  headers: Reply['headers'],
  scrub: Scrub,
): UpstreamFailure {
  // `ValidationException:http://…`
  const [name = ''] = (headers.get('x-amzn-errortype') ?? '').split(':')
  const { message = '' } = readProblem(text)
  const kind = KINDS[name] ?? kindOfStatus(status)
  const retryAfterSeconds = readRetryAfter(headers)
  const tooLong = kind === 'rejected' && TOO_LONG.test(message)
  return new UpstreamFailure(
    kind === 'rejected' && OPERATORS.test(message) ? 'failed' : kind,
    scrub(message) || `it answered with status ${status}`,
    {
      status,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      ...((tooLong || name !== '') && {
        providerCode: tooLong ? 'context_length_exceeded' : name,
      }),
    },
  )
}
