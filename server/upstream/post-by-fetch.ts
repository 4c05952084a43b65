/**
 * Posts with the runtime's fetch, which supports proxies. It keeps at most 64 idle connections and does not report when one
 * is established, so connecting counts towards the first-byte time-out. It pulls a body that is a stream only then, which tells
 * whether a request was sent.
 */
import { Buffer } from 'node:buffer'
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
  const bytes = body instanceof Uint8Array ? body : Buffer.from(toText(body))
  const init: BunFetchRequestInit & { timeout: false } = {
    method: 'POST',
    headers: {
      ...headers,
      // Otherwise a stream is sent in chunks.
      'content-length': `${bytes.byteLength}`,
      ...(requestId !== undefined && { 'x-request-id': requestId }),
    },
    body: streamOf(bytes, control),
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

const toText = (body: string | readonly string[]): string =>
  typeof body === 'string' ? body : body.join('')

const streamOf = (bytes: Uint8Array, control: ExchangeControl): ReadableStream<Uint8Array> =>
  new ReadableStream(
    {
      pull(controller) {
        control.sent()
        controller.enqueue(bytes)
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )

const END: Piece = { done: true }
