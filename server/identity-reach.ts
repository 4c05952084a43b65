/** How the sign-in provider reaches third parties: https, never redirected, bounded in time and bytes (hardening §3.2, §4.4). */
import { isLoopbackAddress, isPrivateAddress, isPublicAddress } from '#outbound/addresses.ts'
import { type DestinationPolicy, PUBLIC_HTTPS } from '#outbound/policy.ts'
import { reach } from '#outbound/reach.ts'
import type { Reach } from '#signin/deps.ts'

/** For one question, from looking its name up to the last byte. */
const TOTAL_MS = 10_000
/** More than any set of keys that was ever published. */
const MOST_BYTES = 512 * 1024

/** The issuer's own host is the operator's word, and may lie inside; whatever else its metadata names is a stranger's. */
const hostPolicy = (isDevelopment: boolean): DestinationPolicy => ({
  ...PUBLIC_HTTPS,
  protocols: isDevelopment ? ['https:', 'http:'] : ['https:'],
  insideNames: true,
  isAllowed(address, protocol) {
    if (isLoopbackAddress(address)) return isDevelopment || protocol === 'https:'
    return protocol === 'https:' && (isPublicAddress(address) || isPrivateAddress(address))
  },
})

/** A stranger's word leads to the usual ports of https alone: else it would be us who knock at every other. */
const THIRD_PARTY_POLICY: DestinationPolicy = { ...PUBLIC_HTTPS, ports: [443, 8443] }

/** `isDevelopment`: http within this machine too. `totalMs` is for tests. */
export function identityReach(isDevelopment: boolean, totalMs = TOTAL_MS): Reach {
  const ofHost = hostPolicy(isDevelopment)
  return async (address, request, issuer) => {
    const isHost = new URL(address).hostname === new URL(issuer).hostname
    const signal = AbortSignal.timeout(totalMs)
    const response = await reach(address, request, isHost ? ofHost : THIRD_PARTY_POLICY, signal)
    if (response === null) throw new Error('forbidden_address')
    const { status, headers } = response
    const body = await readBounded(response)
    // Some statuses have no body, and a response of them must not be given one.
    return new Response(body.length === 0 ? null : body, { status, headers })
  }
}

async function readBounded(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response.body ?? []) {
    bytes += piece.length
    if (bytes > MOST_BYTES) throw new Error('answer_too_large')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
