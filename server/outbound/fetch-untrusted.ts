/** Requests an untrusted URL: checked, pinned to the checked address, never redirected. */
import { type Destination, resolveDestination } from './destination.ts'
import type { DestinationPolicy } from './policy.ts'

export interface OutboundRequest {
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/**
 * The answer from `address`, whatever its status, with its body unread; null when the policy forbids it. Each request has a new
 * connection, because an idle one may belong to another destination.
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
    // A compressed body could inflate without bound.
    headers: { ...headers, host, 'accept-encoding': 'identity', connection: 'close' },
    redirect: 'manual',
    decompress: false,
    keepalive: false,
    signal: signal,
    tls: { ...(serverName !== null && { serverName }), ...(ca !== undefined && { ca }) },
  }
  return fetch(pinned, init)
}

/** Stops waiting when aborted; the name lookup itself cannot be cancelled. */
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
