/** Policies for requests to untrusted URLs: protocols, ports, names and addresses. */
import { lookup } from 'node:dns/promises'
import { isPublicAddress } from './addresses.ts'

export interface DestinationPolicy {
  /** With its colon: `https:`. */
  readonly protocols: readonly string[]
  readonly ports: readonly number[] | 'any'
  /** Whether internal names (`localhost`, `x.internal`, names without a dot) are resolved at all. */
  readonly internalNames: boolean
  /** All addresses of a name; called once per request. */
  readonly resolve: (hostname: string) => Promise<readonly string[]>
  readonly isAllowed: (address: string, protocol: string) => boolean
  /** An additional trusted CA, for tests only. */
  readonly ca?: string
}

/** https to public addresses. */
export const PUBLIC_HTTPS: DestinationPolicy = {
  protocols: ['https:'],
  ports: 'any',
  internalNames: false,
  resolve: async (hostname) =>
    (await lookup(hostname, { all: true, verbatim: true })).map(({ address }) => address),
  isAllowed: isPublicAddress,
}
