/** Upstream: the port through which a walk calls a provider, and the kinds of failure. */
import type { CancelSignal } from './cancel.ts'
import type { ChatEvents } from './chat.ts'
import { type ErrorMetadata, GatewayError } from './errors.ts'
import type { Hop } from './hop.ts'
import type { Settings } from './settings.ts'
import type { Work } from './work.ts'

/** How far a request has got, as the client of the provider notes it (`server/upstream/watchdog.ts`). */
export interface Sending {
  /** Whether any of it was handed to an established connection: from then on the provider may work on it, and bill it. */
  isSent: boolean
  /** While a list is asked in parts: the tokens of those answered, and by estimate of the one that is sent. */
  partTokens?: number | undefined
  /** By what the provider names the request in its own log, for a client that asked in the provider's dialect. */
  providerRequestId?: string | null
}

export interface UpstreamCall {
  readonly request: Work
  readonly hop: Hop
  /** Output tokens that the answer may have at most, whatever the client stated; null sends no bound. */
  readonly maxOutputTokens: number | null
  readonly requestId: string
  readonly timeouts: Omit<Settings, 'reserveOutputTokens' | 'reserveWaitMs' | 'memoryBudgetBytes'>
  readonly sending: Sending
  /** Aborted when the client disconnects or the request times out; the connection to the provider is then closed at once. */
  readonly signal: CancelSignal
  /** Of a quote: written as it would be sent, and not sent. The answer has no events. */
  readonly isDry?: true
}

/** The answer to a dry call. */
export async function* noEvents(): AsyncGenerator<ChatEvents, void> {}

/** Port: one wire family. */
export interface Upstream {
  /**
   * Sends the request and waits for a successful status. The events end when the answer is complete; they throw
   * `UpstreamFailure` when the provider breaks off.
   */
  ask(call: UpstreamCall): Promise<AsyncIterable<ChatEvents>>
  /** The provider's own answer to how many tokens a prompt has; null where it is not asked for that. @throws UpstreamFailure */
  count?(call: UpstreamCall): Promise<string | null>
}

/**
 * `rejected`: an error of the caller; `unauthorized`: of the operator; `overloaded`: temporarily no capacity; `failed`: any
 * other error; `timeout`: no answer in time; `no-image`: an answer without the requested image.
 */
export type FailureKind =
  | 'rejected'
  | 'unauthorized'
  | 'overloaded'
  | 'failed'
  | 'timeout'
  | 'no-image'

export interface FailureDetails {
  /** The provider's own status, where one came. */
  readonly status?: number
  /** The provider's own error code, if it sent one. */
  readonly providerCode?: string
  /** Path to the offending field, if known. */
  readonly param?: string
  readonly retryAfterSeconds?: number
  /**
   * Waiting does not help: the `request` exceeds the provider's limit by itself, or the operator's `account` with the
   * provider has no credit left.
   */
  readonly permanent?: 'request' | 'account'
  readonly cause?: unknown
}

/** A provider's failure, to which the walk reacts; a client never sees it directly. */
export class UpstreamFailure extends Error {
  readonly kind: FailureKind
  readonly details: FailureDetails

  /** `message`: the provider's own, with addresses and credentials removed. */
  constructor(kind: FailureKind, message: string, details: FailureDetails = {}) {
    super(message, { cause: details.cause })
    this.name = 'UpstreamFailure'
    this.kind = kind
    this.details = details
  }
}

const DEFAULT_RETRY_SECONDS = 5

/**
 * Converts a provider's failure to a client error when no other hop may be tried (contract §3). Where the caller allowed only
 * one attempt, everything but the caller's own error is a 502 (contract §3, §7).
 */
export function toClientError(
  failure: UpstreamFailure,
  provider: string,
  allowsFallbacks: boolean,
): GatewayError {
  const { kind, details } = failure
  const words = describeFailure(kind, provider, failure.message)
  const known = { metadata: { provider, ...statusOf(failure) }, cause: failure }
  switch (kind) {
    case 'rejected': {
      const isTooLong = details.providerCode === 'context_length_exceeded'
      return new GatewayError(isTooLong ? 'context_length_exceeded' : 'invalid_request', words, {
        ...known,
        ...(details.param !== undefined && { param: details.param }),
      })
    }
    case 'overloaded':
      return new GatewayError(allowsFallbacks ? 'upstream_overloaded' : 'upstream_error', words, {
        ...known,
        ...(allowsFallbacks && {
          retryAfterSeconds: details.retryAfterSeconds ?? DEFAULT_RETRY_SECONDS,
        }),
        ...(details.permanent && { permanent: true }),
      })
    case 'timeout':
      return new GatewayError(allowsFallbacks ? 'upstream_timeout' : 'upstream_error', words, known)
    case 'no-image':
      return new GatewayError('no_image_returned', words, known)
    case 'unauthorized':
    case 'failed':
      return new GatewayError('upstream_error', words, known)
  }
}

/** The client's message for a provider's failure; `message` must have addresses and credentials removed. */
export function describeFailure(kind: FailureKind, provider: string, message: string): string {
  switch (kind) {
    case 'rejected':
      return `${provider} refused the request: ${message}`
    // Also where it was not asked: what its account lacks is the operator's to know.
    case 'unauthorized':
      return `the gateway's own account with ${provider} does not work; the operator has to look at it`
    case 'overloaded':
      return `${provider} is overloaded`
    case 'failed':
      return `${provider} failed: ${message}`
    case 'timeout':
      return `${provider} did not answer in time`
    case 'no-image':
      return `${provider} answered without an image; nothing was charged`
  }
}

function statusOf({ details }: UpstreamFailure): ErrorMetadata {
  return details.status === undefined ? {} : { provider_status: details.status }
}
