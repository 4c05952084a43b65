/** Asks a vendor's API for what it billed, page by page, with a key that is used here and kept nowhere. */
import { pause } from '#domain/clock.ts'
import { DocumentFault, fieldsAt } from '#domain/document-fault.ts'
import { parseAsWritten } from '#domain/json.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { type BillBuilder, textOf } from '#operator/bill/bill-builder.ts'
import type { BillingVendor, BillScope, ReportRequest } from '#operator/bill/vendor.ts'
import { readRetryAfter } from '#outbound/retry-after.ts'
import { openPost } from '#upstream/http1/post.ts'
import { readProblem } from '#upstream/openai/read-problem.ts'
import { requestText, type TextReply } from '#upstream/request-text.ts'
import { createScrub } from '#upstream/scrub.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT } from '../exit.ts'
import { printNote } from '../terminal/output.ts'

export interface Asked {
  readonly context: Context
  /** As the provider is asked for models. */
  readonly baseUrl: string
  readonly credential: string
  readonly scope: BillScope
}

const TIMEOUT_MS = 60_000
const MAX_PAGE_BYTES = 32 * 1_024 * 1_024
/** Of one report: a year, a day a page, twice over. */
const MAX_PAGES = 1_000
const MAX_TRIES = 6
const USUAL_WAIT_SECONDS = 5
/** A longer wait is left to the operator. */
const MAX_WAIT_SECONDS = 120

/** @throws CommandError 6 where the vendor does not answer, refuses, or answers with something else */
export async function fetchBill(
  vendor: BillingVendor,
  asked: Asked,
  bill: BillBuilder,
): Promise<void> {
  for (const request of vendor.requests(asked.scope)) {
    let cursor: string | null = null
    for (let number = 1; ; number++) {
      const page = fieldsAt(await fetchPage(vendor, asked, request, cursor), [])
      const { project } = asked.scope
      try {
        vendor.page(page, { path: [], project, kind: request.kind }, bill)
      } catch (thrown) {
        if (!(thrown instanceof DocumentFault)) throw thrown
        throw failed(
          `${request.path} answered with ${thrown.path.join('.')} that ${thrown.message}`,
        )
      }
      const next = page['has_more'] === true ? textOf(page['next_page']) : null
      if (next === null) break
      if (next === cursor || number === MAX_PAGES) throw failed(`${request.path} has no end`)
      cursor = next
    }
  }
}

async function fetchPage(
  vendor: BillingVendor,
  { context, baseUrl, credential }: Asked,
  { path, query }: ReportRequest,
  cursor: string | null,
): Promise<unknown> {
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}${path}`)
  for (const [name, value] of query) url.searchParams.append(name, value)
  if (cursor !== null) url.searchParams.set('page', cursor)
  const headers = { ...vendor.headers(credential), accept: 'application/json' }
  const scrub = createScrub('', credential)
  for (let tries = 1; ; tries++) {
    const reply = await get(url, headers).catch((thrown: unknown) => String(wordsOf(thrown)))
    if (typeof reply !== 'string' && reply.status === 200) return parse(reply, path)
    const wait = waitAfter(reply)
    if (wait === null || tries === MAX_TRIES) throw refused(reply, url, path, scrub)
    printNote(context, `! ${url.host} ${statusOf(reply)}: asking again in ${wait} s`)
    await pause(wait * 1_000)
  }
}

const get = (url: URL, headers: Readonly<Record<string, string>>): Promise<TextReply> =>
  requestText(
    openPost(url.href, 'GET'),
    { headers, body: '' },
    AbortSignal.timeout(TIMEOUT_MS),
    MAX_PAGE_BYTES,
  )

function wordsOf(thrown: unknown): unknown {
  if (thrown instanceof UpstreamFailure) return thrown.message
  const { name, code, message } = thrown as Readonly<Record<string, unknown>>
  return name === 'TimeoutError' ? 'no answer in time' : (code ?? message)
}

function parse({ text }: TextReply, path: string): unknown {
  try {
    return parseAsWritten(text)
  } catch {
    throw failed(`${path} answered with no JSON`)
  }
}

/** In seconds; null where asking again would not help. */
function waitAfter(reply: TextReply | string): number | null {
  if (typeof reply === 'string') return 1
  const { status, headers } = reply
  if (status !== 429 && status < 500) return null
  const seconds = readRetryAfter(headers) ?? (status === 429 ? USUAL_WAIT_SECONDS : 1)
  return seconds <= MAX_WAIT_SECONDS ? seconds : null
}

const statusOf = (reply: TextReply | string): string =>
  typeof reply === 'string' ? `does not answer (${reply})` : `answers ${reply.status}`

function refused(
  reply: TextReply | string,
  { host }: URL,
  path: string,
  scrub: (text: string) => string,
): CommandError {
  const said = typeof reply === 'string' ? '' : scrub(readProblem(reply.text).message ?? '')
  const words = said === '' ? '' : `: ${said}`
  if (typeof reply !== 'string' && [401, 403].includes(reply.status)) {
    return failed(
      `${host} does not let this key read bills (${reply.status})${words}`,
      'an admin key is needed (OpenRouter: a management key), not one that models are asked with',
    )
  }
  return failed(`${path}: ${host} ${statusOf(reply)}${words}`)
}

const failed = (message: string, hint: string | null = null): CommandError =>
  new CommandError('no_bill', EXIT.unhealthy, message, hint)
