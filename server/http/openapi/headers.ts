/** Every response header, and which responses have it (contract §4). */
import type { JsonSchema } from './notes.ts'

interface Header {
  readonly description: string
  readonly schema: JsonSchema
  /** Whether it is always present in the responses that list it. */
  readonly required?: true
}

const TEXT = { type: 'string' } as const
const SECONDS = { type: 'integer', minimum: 0 } as const
const COUNT = SECONDS
const exactly = (...words: readonly string[]): JsonSchema => ({ type: 'string', enum: [...words] })

const always = (description: string, schema: JsonSchema): Header => ({
  description,
  schema,
  required: true,
})

const HEADERS = {
  'X-Request-Id': always(
    'The id of the request: yours where it is acceptable, else a new one. It is in the log, and sent to the provider',
    TEXT,
  ),
  'X-Content-Type-Options': always('Browsers must not guess the content type', exactly('nosniff')),
  Server: always('The server software', exactly('gatewayctl')),
  'Access-Control-Allow-Origin': always(
    'Any page may call, because a call carries its own key',
    exactly('*'),
  ),
  'Access-Control-Expose-Headers': always('The headers that a page may read', TEXT),
  'Access-Control-Allow-Methods': always('In a preflight: the allowed methods', TEXT),
  'Access-Control-Allow-Headers': always('In a preflight: the headers that were asked for', TEXT),
  'Access-Control-Max-Age': always('In a preflight: how long it may be cached', SECONDS),
  Vary: always('In a preflight', exactly('Access-Control-Request-Headers')),
  'X-RateLimit-Limit-Minute': {
    description: 'Requests per minute; absent without a limit',
    schema: COUNT,
  },
  'X-RateLimit-Remaining-Minute': {
    description: 'Requests left in the window, after this one',
    schema: COUNT,
  },
  'X-RateLimit-Reset-Minute': {
    description: 'Seconds until the oldest request leaves the window; 0 when it is empty',
    schema: SECONDS,
  },
  'X-RateLimit-Limit-Day': {
    description: 'Requests per day; absent without a limit',
    schema: COUNT,
  },
  'X-RateLimit-Remaining-Day': {
    description: 'Requests left in the window, after this one',
    schema: COUNT,
  },
  'X-RateLimit-Reset-Day': {
    description: 'Seconds until the oldest request leaves the window; 0 when it is empty',
    schema: SECONDS,
  },
  'Request-Id': {
    description: "As `X-Request-Id`, under the name that Anthropic's libraries read",
    schema: TEXT,
  },
  'X-Upstream-Request-Id': {
    description: 'By what the provider names the request in its own log',
    schema: TEXT,
  },
  'X-Generation-Id': {
    description: 'The id of this generation; for a refused request, the id of its line in the log',
    schema: { type: 'string', pattern: '^gen-' },
  },
  'X-Gateway-Model': {
    description: 'The id of the model that serves; absent where no provider has answered yet',
    schema: { type: 'string' },
  },
  'X-Gateway-Provider': {
    description: 'The provider that serves; absent where none has answered yet',
    schema: { type: 'string' },
  },
  'X-Gateway-Max-Output-Tokens': {
    description:
      'The bound of the answer in tokens, if it is lower than the one you stated, or than the maximum of the model if you stated none',
    schema: { type: 'integer', minimum: 1 },
  },
  'Idempotent-Replayed': {
    description: 'The answer was kept under this `Idempotency-Key`; it was not charged again',
    schema: exactly('true'),
  },
  'Cache-Control': {
    description: '`no-cache, no-transform` for a stream, `no-store` for a secret',
    schema: exactly('no-cache, no-transform', 'no-store'),
  },
  'X-Accel-Buffering': {
    description: 'In a stream: proxies must not buffer it',
    schema: exactly('no'),
  },
  'Retry-After': { description: 'Whole seconds to wait', schema: { type: 'integer', minimum: 1 } },
  'X-Should-Retry': {
    description: 'Whether a retry may help, whatever the status says; client libraries obey it',
    schema: exactly('true', 'false'),
  },
  'WWW-Authenticate': always('How to authenticate', exactly('Bearer')),
  Connection: always(
    'The connection closes, because the rest of the body was not read',
    exactly('close'),
  ),
  Upgrade: always('What is spoken in the place of a WebSocket', exactly('HTTP/1.1')),
  Allow: always('The methods that this path supports', TEXT),
} satisfies Readonly<Record<string, Header>>

export type HeaderName = keyof typeof HEADERS

const EVERYWHERE: readonly HeaderName[] = [
  'X-Request-Id',
  'X-Content-Type-Options',
  'Server',
  'Access-Control-Allow-Origin',
  'Access-Control-Expose-Headers',
]

/** On every response to a known key. */
export const RATE_HEADERS: readonly HeaderName[] = [
  'X-RateLimit-Limit-Minute',
  'X-RateLimit-Remaining-Minute',
  'X-RateLimit-Reset-Minute',
  'X-RateLimit-Limit-Day',
  'X-RateLimit-Remaining-Day',
  'X-RateLimit-Reset-Day',
]

/** Additional headers by status. */
export const STATUS_HEADERS: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  402: ['X-Should-Retry'],
  405: ['Allow'],
  409: ['X-Should-Retry'],
  413: ['Connection'],
  426: ['Upgrade'],
  429: ['Retry-After', 'X-Should-Retry'],
  502: ['X-Should-Retry'],
  503: ['Retry-After', 'X-Should-Retry'],
  529: ['Retry-After', 'X-Should-Retry'],
  504: ['X-Should-Retry'],
}

/** `components.headers`. */
export const renderHeaders = (): Readonly<Record<string, Header>> => HEADERS

/** The `headers` of one response: the common ones and these. */
export const headersOf = (names: readonly HeaderName[]) =>
  Object.fromEntries(
    [...EVERYWHERE, ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  )
