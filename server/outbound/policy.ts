/** Which addresses may be reached on a stranger's word: how, on which ports, and where they may lie. */
import { lookup } from 'node:dns/promises'
import { isPublicAddress } from './addresses.ts'

export interface DestinationPolicy {
  /** With its colon: `https:`. */
  readonly protocols: readonly string[]
  readonly ports: readonly number[] | 'any'
  /** Whether names that mean the inside (`localhost`, `x.internal`, one without a dot) are looked up at all. */
  readonly internalNames: boolean
  /** Every address of a name; asked once for each destination. */
  readonly resolve: (hostname: string) => Promise<readonly string[]>
  readonly isAllowed: (address: string, protocol: string) => boolean
  /** Trusted beside the runtime's own certificates; tests alone say so. */
  readonly ca?: string
}

/** https, from addresses of the public internet. */
export const PUBLIC_HTTPS: DestinationPolicy = {
  protocols: ['https:'],
  ports: 'any',
  internalNames: false,
  resolve: async (hostname) =>
    (await lookup(hostname, { all: true, verbatim: true })).map(({ address }) => address),
  isAllowed: isPublicAddress,
}
