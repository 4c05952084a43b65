/** How much may be fetched on a stranger's word, and from where (hardening against requests to the inside). */
import { type DestinationPolicy, PUBLIC_HTTPS } from '#outbound/policy.ts'

export interface FetchPolicy extends DestinationPolicy {
  /** For all hops together, from the first question to the last byte. */
  readonly totalMs: number
  readonly mostBytes: number
}

/** https on its usual ports, from addresses of the public internet, for 15 seconds and 20 MiB. */
export const PUBLIC_INTERNET: FetchPolicy = {
  ...PUBLIC_HTTPS,
  ports: [443, 8443],
  totalMs: 15_000,
  mostBytes: 20 * 1_048_576,
}
