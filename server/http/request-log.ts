/** The request log: one line per request, with numbers and names; never a body, a header or a secret. */
import { CLIENT_CLOSED_REQUEST } from '#domain/activity.ts'
import { type Clock, renderInstant, sinceArrivalMs } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { renderUsd, subtractUsd } from '#domain/money.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { completionTokens, NO_USAGE, promptTokens } from '#domain/usage.ts'
import type { RequestContext } from './request-context.ts'

export interface RequestLine {
  readonly ts: string
  readonly level: 'info' | 'warn' | 'error'
  readonly msg: 'request'
  readonly route: string
  readonly request_id: string
  readonly generation_id: string | null
  /** The key's id, never its label. */
  readonly key: string | null
  /** The surface that it came to; null before it was read. */
  readonly surface: string | null
  /** As the client names it. */
  readonly session: string | null
  readonly model: string | null
  readonly provider: string | null
  readonly status: number
  readonly code: string | null
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly images: number
  /** Null if the client disconnected before the charge was known here; the activity log has it. */
  readonly cost_usd: string | null
  /** By how much the charge exceeds what was held for it: the provider counted more than it was bound to. */
  readonly beyond_hold_usd?: string
  /** Time to the first content; null if there was none. */
  readonly ttft_ms: number | null
  readonly total_ms: number
  /** Of several that share the store. */
  readonly node?: string
  /** Method and path, without the query, where no route is at the address. */
  readonly method?: string
  readonly path?: string
  /** The internal error, for the operator only. */
  readonly fault?: string
}

export type RequestLog = (line: RequestLine) => void

/** The line for a request that ended. */
export function toRequestLine(
  context: RequestContext,
  status: number,
  error: GatewayError | null,
  clock: Clock,
): RequestLine {
  const { walk, generation } = context
  const charge = walk?.charge ?? null
  const usage = charge?.usage ?? NO_USAGE
  const hold = walk?.grant?.hold ?? null
  const line: Draft = {
    ts: renderInstant(clock.now()),
    level: status === 500 ? 'error' : status >= 500 ? 'warn' : 'info',
    msg: 'request',
    route: context.route,
    request_id: strikeOut(context.requestId),
    generation_id: generation?.generationId ?? null,
    key: context.key?.id ?? null,
    surface: walk?.request.dialect ?? null,
    session: strikeOutAny(walk?.request.session),
    model: modelOf(context),
    provider: generation?.head?.provider ?? null,
    status,
    code: error?.code ?? null,
    prompt_tokens: promptTokens(usage),
    completion_tokens: completionTokens(usage),
    images: usage.outputImages,
    cost_usd: charge ? renderUsd(charge.amount) : status === CLIENT_CLOSED_REQUEST ? null : '0',
    ttft_ms: walk?.firstEventMs ?? null,
    total_ms: sinceArrivalMs(clock, context),
  }
  if (charge !== null && hold !== null && charge.amount > hold) {
    line.beyond_hold_usd = renderUsd(subtractUsd(charge.amount, hold))
  }
  if (context.route === UNKNOWN_ROUTE) {
    line.method = cut(context.request.method)
    line.path = cut(strikeOut(pathOf(context.request.url)))
  }
  if (error !== null) noteFault(line, error)
  return line
}

type Draft = { -readonly [Field in keyof RequestLine]: RequestLine[Field] }

/** What it resolved to, where it did. */
const modelOf = ({ generation, model, walk }: RequestContext): string | null =>
  strikeOutAny(generation?.head?.model ?? walk?.claim?.model ?? model)

/** The name of the route where there is none. */
export const UNKNOWN_ROUTE = 'unknown'

/** A client writes them, and may write a thousand a second. */
const MAX_PATH_CHARS = 200

const cut = (text: string): string =>
  text.length > MAX_PATH_CHARS ? `${text.slice(0, MAX_PATH_CHARS - 1)}…` : text

/** Of a URL that may be malformed. */
const pathOf = (url: string): string =>
  url.replace(/^[a-z]+:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '')

/** An internal error; or the internal cause of a provider's failure, such as an unreadable credential. */
function noteFault(line: Draft, error: GatewayError): void {
  const { cause } = error.details
  const inner = cause instanceof UpstreamFailure ? cause.details.cause : undefined
  if (error.code === 'internal_error') line.fault = renderFault(cause ?? error)
  else if (inner instanceof GatewayError) line.fault = renderFault(inner)
}

/** Complete secrets, in text that a client chooses; text that only begins like one is kept. */
const WHOLE_SECRETS =
  /(?:if-(?:pk-)?[0-9A-Za-z]{40}|(?:sk-|whsec_|AIza|eyJ)[\w.+/=-]{16})[\w.+/=-]*/g

const strikeOut = (text: string): string =>
  text.length < MIN_SECRET_CHARS ? text : text.replaceAll(WHOLE_SECRETS, '[struck out]')

const strikeOutAny = (text: string | null | undefined): string | null =>
  text ? strikeOut(text) : null

const MIN_SECRET_CHARS = 19

const MAX_FAULT_CHARS = 2_000
const SECRETS = /\b(?:if-(?:pk-)?|sk-|whsec_|AIza)[\w-]{6,}|(?<=bearer )\S+/gi

/** The text of an internal error, with anything that looks like a secret removed. */
function renderFault(cause: unknown): string {
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
  return text.slice(0, MAX_FAULT_CHARS).replace(SECRETS, '[struck out]')
}
