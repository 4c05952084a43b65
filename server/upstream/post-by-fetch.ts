/**
 * Posts with the runtime's fetch, which supports proxies. It keeps at most 64 idle connections and does not report when one
 * is established, so connecting counts towards the first-byte time-out.
 */
import type { ExchangeControl, Message, Piece, Post, Reply } from './reply.ts'

/** The client for one URL. */
export const postByFetch =
  (url: string): Post =>
  (message, handler, control, fresh) => {
    fetchReply(url, message, control, fresh).then(
      (reply) => handler.resolve(reply),
      (thrown) => handler.reject(thrown),
    )
  }

async function fetchReply(
  url: string,
  { headers, requestId, body }: Message,
  control: ExchangeControl,
  fresh: boolean,
): Promise<Reply> {
  const controller = new AbortController()
  control.attach(controller)
  const init: BunFetchRequestInit & { timeout: false } = {
    method: 'POST',
    headers: requestId === undefined ? headers : { ...headers, 'x-request-id': requestId },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : body.join(''),
    signal: controller.signal,
    redirect: 'manual',
    keepalive: !fresh,
    // The watchdog enforces time-outs, not the runtime.
    timeout: false,
  }
  const response = await fetch(url, init)
  const reader = response.body?.getReader()
  return {
    status: response.status,
    headers: response.headers,
    read: async () => ((await reader?.read()) ?? END) as Piece,
  }
}

const END: Piece = { done: true }
