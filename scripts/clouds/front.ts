/** What the stand-ins of clouds share: a server that notes each request, and answers as a vendor's own API would, in the cloud's way. */

export interface Seen {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly bytes: Uint8Array
  readonly text: string
}

/** The answer of the vendor's own API to what a cloud was asked. */
export type AskVendor = (seen: Seen) => Response | Promise<Response>

export interface Front {
  /** `http://127.0.0.1:port` */
  readonly url: string
  /** Every request, also those that were refused. */
  readonly seen: readonly Seen[]
  stop(): Promise<void>
}

export function startFront(answer: (seen: Seen) => Response | Promise<Response>): Front {
  const seen: Seen[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const bytes = new Uint8Array(await request.arrayBuffer())
      const { method, headers } = request
      const text = new TextDecoder().decode(bytes)
      const one = { method, url: new URL(request.url), headers, bytes, text }
      seen.push(one)
      return await answer(one)
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, seen, stop: () => server.stop(true) }
}
