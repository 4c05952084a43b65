/** Theirs → ours: a google.rpc.Status, alone or in a list, with the reason and the delay in its details. */
import type { JsonObject } from '#domain/chat.ts'
import { type FailureDetails, type FailureKind, UpstreamFailure } from '#domain/upstream.ts'
import { readRetryAfter } from '#outbound/retry-after.ts'
import { kindOfStatus } from '../failure.ts'
import { isObject, readList, readText } from '../read-json.ts'
import type { Scrub } from '../scrub.ts'

const TOO_LONG = /token count.{0,80}exceeds|exceeds the maximum number of tokens/i
const BAD_KEY = /^API_KEY_|^(?:CREDENTIALS_MISSING|ACCESS_TOKEN_|SERVICE_DISABLED|BILLING_DISABLED)/

/** What an answer with a bad status means. `text` is its body, as far as it was read. */
export function fromErrorAnswer(
  status: number,
  text: string,
  retryAfterSeconds: number | undefined,
  scrub: Scrub,
): UpstreamFailure {
  return toFailure(status, readStatus(parse(text)), text, retryAfterSeconds, scrub)
}

/** The error that a chunk or a body under a 200 carries; null when it carries none. */
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

/** Some streams wrap their only chunk, an error, in a list. */
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

/** A body that is no JSON is the word of some proxy; a page for human eyes has nothing for the caller. */
const plain = (text: string, isJson: boolean): string =>
  isJson || /^\s*[<[{]/.test(text) ? '' : text.trim()

/** A bad key is a 400 here, and so is an account that may not call from where it stands: both are the operator's. */
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
 * `QuotaFailure`: a quota of a day, or one of nothing (a model that the account's tier may not ask), which only the words tell,
 * because a zero is left out of Google's JSON. The seconds in `RetryInfo` are of no use with either.
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
