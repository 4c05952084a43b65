/** Reaches an address on a stranger's word: judged, pinned to the address that was judged, and never redirected. */
import { type Destination, resolveDestination } from './destination.ts'
import type { DestinationPolicy } from './policy.ts'

export interface OutboundRequest {
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/**
 * The answer from `address`, whatever its status, its body not yet read; null when nothing may be sent there. Each request
 * has a connection of its own, because a resting one would belong to whoever was judged before.
 * @throws what resolver and connection throw; the signal's reason once it is aborted
 */
export async function fetchUntrusted(
  address: string,
  request: OutboundRequest,
  policy: DestinationPolicy,
  signal: AbortSignal,
): Promise<Response | null> {
  const destination = await orAbort(resolveDestination(address, policy), signal)
  return destination === null ? null : await send(destination, request, policy, signal)
}

function send(
  { pinned, host, serverName }: Destination,
  { headers, ...rest }: OutboundRequest,
  { ca }: DestinationPolicy,
  signal: AbortSignal,
): Promise<Response> {
  const init: BunFetchRequestInit & { decompress: false } = {
    ...rest,
    // What is compressed could inflate without end.
    headers: { ...headers, host, 'accept-encoding': 'identity', connection: 'close' },
    redirect: 'manual',
    decompress: false,
    keepalive: false,
    signal: signal,
    tls: { ...(serverName !== null && { serverName }), ...(ca !== undefined && { ca }) },
  }
  return fetch(pinned, init)
}

/** A resolver cannot be called back; nobody waits for it any longer. */
async function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const cut = Promise.withResolvers<never>()
  const leave = (): void => cut.reject(signal.reason)
  if (signal.aborted) leave()
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([promise, cut.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
