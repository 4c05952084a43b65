/** Outbound requests of the sign-in provider: https, no redirects, bounded in time and bytes (hardening §3.2, §4.4). */
import { isLoopbackAddress, isPrivateAddress, isPublicAddress } from '#outbound/addresses.ts'
import { fetchUntrusted } from '#outbound/fetch-untrusted.ts'
import { type DestinationPolicy, PUBLIC_HTTPS } from '#outbound/policy.ts'
import type { Reach } from '#signin/deps.ts'

/** For one request, from DNS to the last byte. */
const TOTAL_MS = 10_000
/** More than any known JWKS document. */
const MAX_BYTES = 512 * 1024

/** The issuer's host is set by the operator and may be in a private network; other hosts in its metadata are untrusted. */
const hostPolicy = (isDevelopment: boolean): DestinationPolicy => ({
  ...PUBLIC_HTTPS,
  protocols: isDevelopment ? ['https:', 'http:'] : ['https:'],
  internalNames: true,
  isAllowed(address, protocol) {
    if (isLoopbackAddress(address)) return isDevelopment || protocol === 'https:'
    return protocol === 'https:' && (isPublicAddress(address) || isPrivateAddress(address))
  },
})

/** Untrusted hosts are limited to the usual https ports, so that they cannot use the gateway for port scanning. */
const THIRD_PARTY_POLICY: DestinationPolicy = { ...PUBLIC_HTTPS, ports: [443, 8443] }

/** `isDevelopment` also allows http on loopback. `totalMs` is for tests. */
export function identityReach(isDevelopment: boolean, totalMs = TOTAL_MS): Reach {
  const ofHost = hostPolicy(isDevelopment)
  return async (address, request, issuer) => {
    const isHost = new URL(address).hostname === new URL(issuer).hostname
    const signal = AbortSignal.timeout(totalMs)
    const response = await fetchUntrusted(
      address,
      request,
      isHost ? ofHost : THIRD_PARTY_POLICY,
      signal,
    )
    if (response === null) throw new Error('forbidden_address')
    const { status, headers } = response
    const body = await readBounded(response)
    // Responses of some statuses must not have a body.
    return new Response(body.length === 0 ? null : body, { status, headers })
  }
}

async function readBounded(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response.body ?? []) {
    bytes += piece.length
    if (bytes > MAX_BYTES) throw new Error('answer_too_large')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
