/** Requests that the store could not serve are answered 503, as those of the API are. */
import { GatewayError } from '#domain/errors.ts'

const RETRY_SECONDS = 5

/** The headers of that answer; undefined for any other failure. */
export const storeTroubleHeaders = (
  cause: unknown,
): Readonly<Record<string, string>> | undefined =>
  cause instanceof GatewayError && cause.code === 'store_unavailable'
    ? { 'Retry-After': String(cause.details.retryAfterSeconds ?? RETRY_SECONDS) }
    : undefined

export const STORE_TROUBLE_STATUS = 503
