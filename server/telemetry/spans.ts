/** The spans of one chat request in OTLP JSON: the request, and a child span for the inference. */
import type { ActivityEntry, FailedAttempt } from '#domain/activity.ts'
import { renderUsd } from '#domain/money.ts'
import { cacheWriteTokens, completionTokens, promptTokens } from '#domain/usage.ts'
import { semanticName } from './semantic-names.ts'
import type { TraceParent } from './traceparent.ts'

type AttributeValue =
  | { readonly stringValue: string }
  | { readonly intValue: string }
  | { readonly boolValue: boolean }
  | { readonly arrayValue: { readonly values: readonly AttributeValue[] } }

export interface Attribute {
  readonly key: string
  readonly value: AttributeValue
}

export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly events?: readonly SpanEvent[]
  readonly status: { readonly code: number }
}

interface SpanEvent {
  readonly timeUnixNano: string
  readonly name: string
  readonly attributes: readonly Attribute[]
}

const SERVER = 2
const CLIENT = 3
const UNSET = 0
const ERROR = 2

const randomId = (bytes: number): string => crypto.getRandomValues(new Uint8Array(bytes)).toHex()

/** Contains no text of prompts or answers, no secret, no key name and no end user. */
export function toSpans(entry: ActivityEntry, parent: TraceParent | null): readonly Span[] {
  const traceId = parent?.traceId ?? randomId(16)
  const request = requestSpan(entry, traceId, parent)
  return entry.endedBy === 'refused'
    ? [request]
    : [request, inferenceSpan(entry, traceId, request.spanId)]
}

const requestSpan = (entry: ActivityEntry, traceId: string, parent: TraceParent | null): Span => ({
  traceId,
  spanId: randomId(8),
  ...(parent && { parentSpanId: parent.spanId }),
  name: 'POST /v1/chat/completions',
  kind: SERVER,
  startTimeUnixNano: nanos(entry.startedAt),
  endTimeUnixNano: nanos(entry.startedAt + entry.totalMs),
  attributes: attributes({
    'http.request.method': 'POST',
    'http.route': '/v1/chat/completions',
    'http.response.status_code': entry.status,
    'error.type': entry.code,
    'gateway.generation.id': entry.generationId,
    'gateway.request.id': entry.requestId,
    'gateway.key.id': entry.keyId,
    'gateway.account.id': entry.accountId,
    'gateway.ended_by': entry.endedBy,
    'gateway.stream': entry.stream,
    'gateway.queued_ms': entry.queuedMs,
    'gateway.cost_usd': renderUsd(entry.cost),
  }),
  status: { code: entry.status >= 500 ? ERROR : UNSET },
})

/** One span by OpenTelemetry's conventions for generative AI, fallbacks and retries included. */
function inferenceSpan(entry: ActivityEntry, traceId: string, parentSpanId: string): Span {
  const { model, provider, usage } = entry
  const startedMs = entry.startedAt + entry.queuedMs
  return {
    traceId,
    spanId: randomId(8),
    parentSpanId,
    name: `chat ${model}`,
    kind: CLIENT,
    startTimeUnixNano: nanos(startedMs),
    endTimeUnixNano: nanos(entry.startedAt + entry.totalMs),
    attributes: attributes({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': provider && semanticName(provider),
      'gen_ai.request.model': model,
      'gen_ai.response.model': model,
      'gen_ai.response.id': entry.generationId,
      'gen_ai.response.finish_reasons': entry.finishReason && [entry.finishReason],
      'gen_ai.output.type': usage.outputImages > 0 ? 'image' : 'text',
      'gen_ai.usage.input_tokens': promptTokens(usage),
      'gen_ai.usage.output_tokens': completionTokens(usage),
      'gen_ai.usage.cache_read.input_tokens': usage.cacheReadTokens,
      'gen_ai.usage.cache_creation.input_tokens': cacheWriteTokens(usage),
      'gateway.surface': entry.surface,
      'gen_ai.conversation.id': entry.session,
      'gateway.usage.reasoning_tokens': usage.reasoningTokens,
      'gateway.usage.images': usage.outputImages,
      'gateway.time_to_first_token_ms': entry.firstEventMs,
      'error.type': entry.code,
    }),
    events: attemptEvents(entry.failedAttempts, startedMs),
    status: { code: entry.code === null ? UNSET : ERROR },
  }
}

/** Timestamped at the end of each attempt; pauses between attempts are not known. */
function attemptEvents(attempts: readonly FailedAttempt[], begun: number): readonly SpanEvent[] {
  let at = begun
  return attempts.map(({ model, provider, outcome, status, ms }) => {
    at += ms
    return {
      timeUnixNano: nanos(at),
      name: 'gateway.attempt_failed',
      attributes: attributes({
        'gen_ai.provider.name': semanticName(provider),
        'gen_ai.request.model': model,
        'error.type': outcome,
        'http.response.status_code': status,
      }),
    }
  })
}

const nanos = (epochMs: number): string => String(BigInt(epochMs) * 1_000_000n)

type Plain = string | number | boolean | readonly string[] | null

/** Null values are left out. */
export const attributes = (plain: Readonly<Record<string, Plain>>): readonly Attribute[] =>
  Object.entries(plain).flatMap(([key, value]) =>
    value === null ? [] : [{ key, value: toValue(value) }],
  )

function toValue(value: NonNullable<Plain>): AttributeValue {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return { intValue: String(value) }
  return { arrayValue: { values: value.map((text) => ({ stringValue: text })) } }
}
