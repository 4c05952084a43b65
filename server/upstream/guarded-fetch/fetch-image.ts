/** Fetches an image from an untrusted URL. Failures have no details, so that they reveal nothing about the internal network. */
import { type ImageType, sniffImageType } from '#domain/image-type.ts'
import { fetchUntrusted } from '#outbound/fetch-untrusted.ts'
import { type DestinationPolicy, PUBLIC_HTTPS } from '#outbound/policy.ts'

export interface FetchedImage {
  readonly type: ImageType
  readonly bytes: Uint8Array
}

const MAX_REDIRECTS = 2
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/**
 * The image at `address`; null on any failure. At most two redirects are followed, each checked like the first; no header is
 * carried over.
 * @throws the signal's reason when the caller has aborted
 */
export async function fetchImage(
  address: string,
  signal: AbortSignal,
  policy: FetchPolicy = PUBLIC_INTERNET,
): Promise<FetchedImage | null> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(policy.totalMs)])
  try {
    return await follow(address, bounded, policy)
  } catch {
    signal.throwIfAborted()
    return null
  }
}

async function follow(
  address: string,
  signal: AbortSignal,
  policy: FetchPolicy,
): Promise<FetchedImage | null> {
  let next = address
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const response = await fetchUntrusted(next, { headers: { accept: 'image/*' } }, policy, signal)
    if (response === null) return null
    if (!REDIRECTS.has(response.status)) return await readImage(response, policy.mostBytes)
    await response.body?.cancel()
    const location = URL.parse(response.headers.get('location') ?? '', next)
    if (location === null) return null
    next = location.href
  }
  return null
}

/** Null when it is too large, compressed or not an image. */
async function readImage(response: Response, mostBytes: number): Promise<FetchedImage | null> {
  const reader = response.body?.getReader()
  const coding = response.headers.get('content-encoding') ?? 'identity'
  const stated = Number(response.headers.get('content-length') ?? 0)
  const pieces: Uint8Array[] = []
  let total = 0
  try {
    if (response.status !== 200 || coding !== 'identity' || stated > mostBytes) return null
    for (;;) {
      const piece = await reader?.read()
      if (piece === undefined || piece.done) break
      total += piece.value.byteLength
      if (total > mostBytes) return null
      pieces.push(piece.value)
    }
  } finally {
    await reader?.cancel()
  }
  const bytes = Buffer.concat(pieces)
  const type = sniffImageType(bytes)
  return type === undefined ? null : { type, bytes }
}

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
