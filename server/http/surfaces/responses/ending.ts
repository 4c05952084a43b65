/** How an answer ends: complete, at its bound, withheld, or failed. */
import type { FinishReason } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'

export interface Ending {
  readonly type: 'response.completed' | 'response.incomplete' | 'response.failed'
  readonly status: string
  readonly error: { readonly code: string; readonly message: string } | null
  readonly incomplete_details: { readonly reason: string } | null
}

export const AT_BOUND: Ending = {
  type: 'response.incomplete',
  status: 'incomplete',
  error: null,
  incomplete_details: { reason: 'max_output_tokens' },
}

const COMPLETE: Ending = {
  type: 'response.completed',
  status: 'completed',
  error: null,
  incomplete_details: null,
}

/** By why its model ended it. */
export function toEnding(reason: FinishReason | null): Ending {
  switch (reason) {
    case 'length':
      return AT_BOUND
    case 'content_filter':
      return { ...AT_BOUND, incomplete_details: { reason } }
    case 'error':
      return toFailure(brokenOff(), brokenOff().message)
    default:
      return COMPLETE
  }
}

/** The provider says so itself, in an answer that it ends in order. */
export const brokenOff = (): GatewayError =>
  new GatewayError('upstream_error', 'the provider ended the answer early')

const DEFAULT_WAIT_SECONDS = 1

/** Codex repeats both; how long it waits, it reads in the message. */
export function toFailure({ code, details }: GatewayError, message: string): Ending {
  const isLimit = code === 'upstream_overloaded'
  const wait = details.retryAfterSeconds ?? DEFAULT_WAIT_SECONDS
  return {
    type: 'response.failed',
    status: 'failed',
    error: isLimit
      ? { code: 'rate_limit_exceeded', message: `${message}. Please try again in ${wait}s.` }
      : { code: 'server_error', message },
    incomplete_details: null,
  }
}
