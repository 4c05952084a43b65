/** The gateway's error: a code, and what the caller may know. Status and type are derived from the code. */

/** Every code the gateway may answer with, its HTTP status and OpenAI error type (contract §3). */
export const ERROR_CODES = {
  invalid_json: [400, 'invalid_request_error'],
  invalid_request: [400, 'invalid_request_error'],
  unknown_parameter: [400, 'invalid_request_error'],
  unsupported_parameter: [400, 'invalid_request_error'],
  image_streaming_not_supported: [400, 'invalid_request_error'],
  unsupported_operation: [400, 'invalid_request_error'],
  unsupported_modality: [400, 'invalid_request_error'],
  invalid_image: [400, 'invalid_request_error'],
  too_many_images: [400, 'invalid_request_error'],
  context_length_exceeded: [400, 'invalid_request_error'],
  missing_api_key: [401, 'authentication_error'],
  invalid_api_key: [401, 'authentication_error'],
  api_key_revoked: [401, 'authentication_error'],
  api_key_expired: [401, 'authentication_error'],
  api_key_disabled: [401, 'authentication_error'],
  daily_spend_limit_exceeded: [402, 'insufficient_quota'],
  monthly_spend_limit_exceeded: [402, 'insufficient_quota'],
  insufficient_balance: [402, 'insufficient_quota'],
  model_not_allowed: [403, 'permission_error'],
  provisioning_key_required: [403, 'permission_error'],
  provisioning_key_not_allowed: [403, 'permission_error'],
  role_not_allowed: [403, 'permission_error'],
  model_not_found: [404, 'not_found_error'],
  key_not_found: [404, 'not_found_error'],
  account_not_found: [404, 'not_found_error'],
  provider_not_found: [404, 'not_found_error'],
  generation_not_found: [404, 'not_found_error'],
  notice_not_found: [404, 'not_found_error'],
  client_not_found: [404, 'not_found_error'],
  group_not_found: [404, 'not_found_error'],
  person_not_found: [404, 'not_found_error'],
  route_not_found: [404, 'not_found_error'],
  method_not_allowed: [405, 'invalid_request_error'],
  key_revoked: [409, 'invalid_request_error'],
  account_closed: [409, 'invalid_request_error'],
  already_exists: [409, 'invalid_request_error'],
  idempotency_conflict: [409, 'invalid_request_error'],
  request_too_large: [413, 'invalid_request_error'],
  unsupported_media_type: [415, 'invalid_request_error'],
  websocket_not_supported: [426, 'invalid_request_error'],
  rate_limit_exceeded: [429, 'rate_limit_error'],
  concurrency_limit_exceeded: [429, 'rate_limit_error'],
  spend_reserved: [429, 'rate_limit_error'],
  internal_error: [500, 'api_error'],
  upstream_error: [502, 'api_error'],
  no_image_returned: [502, 'api_error'],
  no_route_available: [503, 'api_error'],
  upstream_overloaded: [503, 'api_error'],
  unpriced_model: [503, 'api_error'],
  shutting_down: [503, 'api_error'],
  ended_by_operator: [503, 'api_error'],
  store_unavailable: [503, 'api_error'],
  gateway_overloaded: [503, 'api_error'],
  descriptors_exhausted: [503, 'api_error'],
  upstream_timeout: [504, 'api_error'],
} as const satisfies Record<string, readonly [status: number, type: string]>

export type ErrorCode = keyof typeof ERROR_CODES

export type ErrorMetadata = Readonly<
  Record<string, string | number | boolean | null | readonly string[]>
>

/**
 * Why an engine cannot write: disk full (or nearly so), no permission, damaged file, locked by another program, moved, removed or
 * replaced under the engine, or another disk error.
 */
export type StoreTrouble = 'full' | 'read_only' | 'damaged' | 'locked' | 'moved' | 'failing'

export interface ErrorDetails {
  /** Path to the offending field, as OpenAI's `param`. */
  readonly param?: string
  /** Which limit, its value, what is used, when or how it lifts. */
  readonly metadata?: ErrorMetadata
  /** Whole seconds, at least 1; sent as `Retry-After`. */
  readonly retryAfterSeconds?: number
  /** A retry cannot succeed, whatever the status suggests; sent as `x-should-retry: false`. */
  readonly permanent?: true
  /** The message in full, where it names what no caller may see; shown only by the CLI. */
  readonly told?: string
  /** The command that an operator should run next; shown only by the CLI. */
  readonly hint?: string
  /** What is wrong with the store; shown only by the CLI. */
  readonly trouble?: StoreTrouble
  /** For the operator's log; never leaves the gateway. */
  readonly cause?: unknown
}

/** `message` is for the caller; `cause` is for the operator and never leaves. */
export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause })
    this.name = 'GatewayError'
    this.code = code
    this.details = details
  }

  get status(): number {
    return ERROR_CODES[this.code][0]
  }

  get type(): string {
    return ERROR_CODES[this.code][1]
  }
}

/** The message for an operator. */
export const toldOf = ({ message, details }: GatewayError): string => details.told ?? message

/** The message of every internal error; the details are only in the operator's log. */
export const FAULT = 'the gateway failed while it handled this request'

/** Converts an unknown error at an edge, so that its text never reaches a client. */
export const toGatewayError = (thrown: unknown): GatewayError =>
  thrown instanceof GatewayError
    ? thrown
    : new GatewayError('internal_error', FAULT, { cause: thrown })
