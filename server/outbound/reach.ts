/** Reaches an address on a stranger's word: judged, pinned to the address that was judged, and never redirected. */
import { type Destination, judgeDestination } from './destination.ts'
import type { DestinationPolicy } from './policy.ts'

export interface Errand {
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/**
 * The answer from `address`, whatever its status, its body not yet read; null when nothing may be sent there. Each errand
 * has a connection of its own, because a resting one would belong to whoever was judged before.
 * @throws what resolver and connection throw; the leash's own reason once it is pulled
 */
export async function reach(
  address: string,
  errand: Errand,
  policy: DestinationPolicy,
  leash: AbortSignal,
): Promise<Response | null> {
  const destination = await orCut(judgeDestination(address, policy), leash)
  return destination === null ? null : await send(destination, errand, policy, leash)
}

function send(
  { pinned, host, serverName }: Destination,
  { headers, ...rest }: Errand,
  { ca }: DestinationPolicy,
  leash: AbortSignal,
): Promise<Response> {
  const init: BunFetchRequestInit & { decompress: false } = {
    ...rest,
    // What is compressed could inflate without end.
    headers: { ...headers, host, 'accept-encoding': 'identity', connection: 'close' },
    redirect: 'manual',
    decompress: false,
    keepalive: false,
    signal: leash,
    tls: { ...(serverName !== null && { serverName }), ...(ca !== undefined && { ca }) },
  }
  return fetch(pinned, init)
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
