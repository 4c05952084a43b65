/** The request log: one line per request, of numbers and names; never a body, a header or a secret. */
import { CLIENT_CLOSED_REQUEST } from '#domain/activity.ts'
import { type Instant, renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { renderUsd } from '#domain/money.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { completionTokens, promptTokens } from '#domain/usage.ts'
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
  readonly model: string | null
  readonly provider: string | null
  readonly status: number
  readonly code: string | null
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly images: number
  /** Null where a client left before it could be told; the activity log has it. */
  readonly cost_usd: string | null
  /** Until the first content; null when none came. */
  readonly ttft_ms: number | null
  readonly total_ms: number
  /** What broke inside the gateway, for the operator alone. */
  readonly fault?: string
}

export type RequestLog = (line: RequestLine) => void

/** How a request ended, as one line. */
export function toRequestLine(
  context: RequestContext,
  status: number,
  error: GatewayError | null,
  now: Instant,
): RequestLine {
  const { charge, firstEventAt, arrivedAt } = context
  const line: RequestLine & { fault?: string } = {
    ts: renderInstant(now),
    level: status === 500 ? 'error' : status >= 500 ? 'warn' : 'info',
    msg: 'request',
    route: context.route,
    request_id: strikeOut(context.requestId),
    generation_id: context.generationId,
    key: context.key?.id ?? null,
    model: context.model && strikeOut(context.model),
    provider: context.provider,
    status,
    code: error?.code ?? null,
    prompt_tokens: charge ? promptTokens(charge.usage) : 0,
    completion_tokens: charge ? completionTokens(charge.usage) : 0,
    images: charge?.usage.outputImages ?? 0,
    cost_usd: charge ? renderUsd(charge.amount) : status === CLIENT_CLOSED_REQUEST ? null : '0',
    ttft_ms: firstEventAt === null ? null : firstEventAt - arrivedAt,
    total_ms: now - arrivedAt,
  }
  const fault = error && faultOf(error)
  if (fault !== null) line.fault = fault
  return line
}

/** A fault of the gateway, and a provider's failure that the gateway itself caused: its credential could not be read, say. */
function faultOf(error: GatewayError): string | null {
  const { cause } = error.details
  if (error.code === 'internal_error') return renderFault(cause ?? error)
  const inner = cause instanceof UpstreamFailure ? cause.details.cause : undefined
  return inner instanceof GatewayError ? renderFault(inner) : null
}

/** Whole secrets, in what a client may write at will: a name that merely begins like one stays as it is. */
const WHOLE_SECRETS =
  /(?:if-(?:pk-)?[0-9A-Za-z]{40}|(?:sk-|whsec_|AIza|eyJ)[\w.+/=-]{16})[\w.+/=-]*/g

const strikeOut = (text: string): string =>
  text.length < SHORTEST_SECRET_CHARS ? text : text.replaceAll(WHOLE_SECRETS, '[struck out]')

const SHORTEST_SECRET_CHARS = 19

const MOST_FAULT_CHARS = 2_000
const SECRETS = /\b(?:if-(?:pk-)?|sk-|whsec_|AIza)[\w-]{6,}|(?<=bearer )\S+/gi

/** A fault's own words with anything that looks like a secret struck out. */
function renderFault(cause: unknown): string {
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
  return text.slice(0, MOST_FAULT_CHARS).replace(SECRETS, '[struck out]')
}
