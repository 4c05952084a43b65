/** Theirs → ours: errors as google.rpc.Status, alone or in a list, with reason and retry delay in `details`. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readText } from '#domain/json.ts'
import { type FailureDetails, type FailureKind, UpstreamFailure } from '#domain/upstream.ts'
import { readRetryAfter } from '#outbound/retry-after.ts'
import { kindOfStatus } from '../failure.ts'
import type { Scrub } from '../scrub.ts'

const TOO_LONG = /token count.{0,80}exceeds|exceeds the maximum number of tokens/i
const BAD_KEY = /^API_KEY_|^(?:CREDENTIALS_MISSING|ACCESS_TOKEN_|SERVICE_DISABLED|BILLING_DISABLED)/

/** The failure for an error status. `text` is its body, as far as it was read. */
export function fromErrorAnswer(
  status: number,
  text: string,
  retryAfterSeconds: number | undefined,
  scrub: Scrub,
): UpstreamFailure {
  return toFailure(status, readStatus(parse(text)), text, retryAfterSeconds, scrub)
}

/** The error within a chunk or body of a 200; null when there is none. */
export function findError(chunk: JsonObject, scrub: Scrub): UpstreamFailure | null {
  const { error } = chunk
  if (error === undefined || error === null) return null
  const problem = isObject(error) ? error : { message: error }
  return toFailure(undefined, problem, '', undefined, scrub)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Some streams send an error as a list of one. */
function readStatus(body: unknown): JsonObject | undefined {
  const [chunk] = Array.isArray(body) ? body : [body]
  if (!isObject(chunk)) return undefined
  return isObject(chunk['error']) ? chunk['error'] : chunk
}

function toFailure(
  answered: number | undefined,
  problem: JsonObject | undefined,
  text: string,
  retryAfterSeconds: number | undefined,
  scrub: Scrub,
): UpstreamFailure {
  const code = problem?.['code']
  const status = answered ?? (typeof code === 'number' && code >= 400 && code < 600 ? code : null)
  const details = readList(problem?.['details']).filter(isObject)
  const word = readText(problem?.['status'])
  const message = readText(problem?.['message']) ?? plain(text, problem !== undefined)
  const kind = status === null ? 'failed' : kindOf(status, word, details, message)
  const isQuotaExhausted = kind === 'overloaded' && hasNoQuota(details, message)
  const wait = readDelay(details) ?? retryAfterSeconds
  const tooLong = kind === 'rejected' && TOO_LONG.test(message)
  const providerCode = tooLong ? 'context_length_exceeded' : (reasonOf(details) ?? word)
  const facts: FailureDetails = {
    ...(status !== null && { status }),
    ...(providerCode !== undefined && { providerCode }),
    ...(wait !== undefined && { retryAfterSeconds: wait }),
    ...(isQuotaExhausted && { permanent: 'account' }),
  }
  const said = scrub(message)
  return new UpstreamFailure(
    kind,
    said || (status === null ? 'it reported an error' : `it answered with status ${status}`),
    facts,
  )
}

/** A body that is not JSON comes from a proxy; an HTML page is not passed on. */
const plain = (text: string, isJson: boolean): string =>
  isJson || /^\s*[<[{]/.test(text) ? '' : text.trim()

/** Gemini answers an invalid key, or an account in an unsupported region, with 400: both are the operator's to fix. */
function kindOf(
  status: number,
  word: string | undefined,
  details: readonly JsonObject[],
  message: string,
): FailureKind {
  const kind = kindOfStatus(status)
  if (kind !== 'rejected') return kind
  const operators =
    BAD_KEY.test(reasonOf(details) ?? '') ||
    word === 'FAILED_PRECONDITION' ||
    /^API key (?:not valid|expired)/i.test(message)
  return operators ? 'unauthorized' : kind
}

const reasonOf = (details: readonly JsonObject[]): string | undefined =>
  details.map(({ reason }) => readText(reason)).find((reason) => reason !== undefined)

/**
 * `QuotaFailure`: a daily quota, or a quota of zero (a model that the account's tier does not include). The zero appears only in
 * the message, because Google's JSON omits it. `RetryInfo` is useless for both.
 */
const hasNoQuota = (details: readonly JsonObject[], message: string): boolean =>
  /\blimit: 0(?![\d.,]*\d)/.test(message) ||
  details
    .flatMap(({ violations }) => readList(violations))
    .some((violation) => isObject(violation) && /PerDay/.test(readText(violation['quotaId']) ?? ''))

/** `RetryInfo`: a duration in decimal seconds, `"34.07s"`. */
function readDelay(details: readonly JsonObject[]): number | undefined {
  for (const { retryDelay } of details) {
    const seconds = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(readText(retryDelay) ?? '')?.[1]
    if (seconds !== undefined) return readRetryAfter(new Headers({ 'retry-after': seconds }))
  }
  return undefined
}
