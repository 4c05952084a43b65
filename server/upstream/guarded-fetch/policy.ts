/** Limits for fetching untrusted URLs (protection against server-side request forgery). */
import { type DestinationPolicy, PUBLIC_HTTPS } from '#outbound/policy.ts'

export interface FetchPolicy extends DestinationPolicy {
  /** For all redirects together, from the name lookup to the last byte. */
  readonly totalMs: number
  readonly mostBytes: number
}

/** https on ports 443 and 8443 of public addresses, at most 15 seconds and 20 MiB. */
export const PUBLIC_INTERNET: FetchPolicy = {
  ...PUBLIC_HTTPS,
  ports: [443, 8443],
  totalMs: 15_000,
  mostBytes: 20 * 1_048_576,
}
