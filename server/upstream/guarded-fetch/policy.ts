/** What may be fetched on a stranger's word, and from where (hardening against requests to the inside). */
import { lookup } from 'node:dns/promises'
import { isPublicAddress } from './public-address.ts'

export interface FetchPolicy {
  /** With its colon: `https:`. */
  readonly protocols: readonly string[]
  readonly ports: readonly number[] | 'any'
  /** Every address of a name; asked once per hop. */
  readonly resolve: (hostname: string) => Promise<readonly string[]>
  readonly isAllowed: (address: string) => boolean
  /** For all hops together, from the first question to the last byte. */
  readonly totalMs: number
  readonly mostBytes: number
  /** Trusted beside the runtime's own certificates; tests alone say so. */
  readonly ca?: string
}

/** https on its usual ports, from addresses of the public internet, for 15 seconds and 20 MiB. */
export const PUBLIC_INTERNET: FetchPolicy = {
  protocols: ['https:'],
  ports: [443, 8443],
  resolve: async (hostname) =>
    (await lookup(hostname, { all: true, verbatim: true })).map(({ address }) => address),
  isAllowed: isPublicAddress,
  totalMs: 15_000,
  mostBytes: 20 * 1_048_576,
}
