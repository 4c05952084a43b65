/** Fetches a picture from an address that a stranger named, and tells nothing but the picture or that there is none. */
import { type PictureType, sniffPicture } from '../picture.ts'
import { type Destination, judgeDestination } from './destination.ts'
import { type FetchPolicy, PUBLIC_INTERNET } from './policy.ts'

export interface Picture {
  readonly type: PictureType
  readonly bytes: Uint8Array
}

const MOST_REDIRECTS = 2
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/**
 * The picture at `address`, or null, for whatever reason: why is for nobody outside to know, since it would tell what stands
 * inside. At most two redirects are followed, each judged like the first, and no header is carried along.
 * @throws the signal's own reason when the caller has left
 */
export async function fetchPicture(
  address: string,
  signal: AbortSignal,
  policy: FetchPolicy = PUBLIC_INTERNET,
): Promise<Picture | null> {
  const leash = AbortSignal.any([signal, AbortSignal.timeout(policy.totalMs)])
  try {
    return await orCut(follow(address, leash, policy), leash)
  } catch {
    signal.throwIfAborted()
    return null
  }
}

/** A resolver cannot be called back; nobody waits for it any longer. */
async function orCut<T>(promise: Promise<T>, leash: AbortSignal): Promise<T> {
  const cut = Promise.withResolvers<never>()
  const leave = (): void => cut.reject(leash.reason)
  if (leash.aborted) leave()
  leash.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([promise, cut.promise])
  } finally {
    leash.removeEventListener('abort', leave)
  }
}

async function follow(
  address: string,
  leash: AbortSignal,
  policy: FetchPolicy,
): Promise<Picture | null> {
  let next = address
  for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
    const destination = await judgeDestination(next, policy)
    if (destination === null) return null
    leash.throwIfAborted()
    const response = await get(destination, leash, policy)
    if (!REDIRECTS.has(response.status)) return await readPicture(response, policy.mostBytes)
    await response.body?.cancel()
    const location = URL.parse(response.headers.get('location') ?? '', next)
    if (location === null) return null
    next = location.href
  }
  return null
}

function get(
  { pinned, host, serverName }: Destination,
  leash: AbortSignal,
  { ca }: FetchPolicy,
): Promise<Response> {
  const init: BunFetchRequestInit & { decompress: false } = {
    // What is compressed could inflate without end.
    headers: { host, accept: 'image/*', 'accept-encoding': 'identity', connection: 'close' },
    redirect: 'manual',
    decompress: false,
    keepalive: false,
    signal: leash,
    tls: { ...(serverName !== null && { serverName }), ...(ca !== undefined && { ca }) },
  }
  return fetch(pinned, init)
}

/** Reads until it is whole, or too much. */
async function readPicture(response: Response, mostBytes: number): Promise<Picture | null> {
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
  const type = sniffPicture(bytes)
  return type === undefined ? null : { type, bytes }
}
