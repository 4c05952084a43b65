/** An HTTP listener for the API, sign-in and metrics: Bun's server with our own limits and JSON errors. */

export interface Listener {
  /** `http://host:port` */
  readonly url: string
  /** Disables the idle time-out of this request's connection. */
  disableIdleTimeout(request: Request): void
  /** Restores the idle time-out once the response is complete; otherwise the connection would stay open for ever. */
  restoreIdleTimeout(request: Request): void
  /** The client's network address; null if the connection is closed. */
  addressOf(request: Request): string | null
  /** Waits briefly for responses being written, then closes all connections. */
  close(): Promise<void>
}

const IDLE_SECONDS = 120
/** Disables Bun's limit, which answers without a body. Our own answers in JSON, and does not read a body that is too large. */
const NO_BODY_LIMIT = 2 ** 40
const LAST_BYTES_MS = 1_000
const POLL_MS = 5

/** `isShared`: other processes of this gateway listen there too, and the kernel spreads connections over them. */
export function listen(
  {
    hostname,
    port,
    isShared = false,
  }: { readonly hostname: string; readonly port: number; readonly isShared?: boolean },
  answer: (request: Request) => Response | Promise<Response>,
  idleSeconds = IDLE_SECONDS,
): Listener {
  const server = Bun.serve({
    hostname,
    port,
    // The default shows source code in error pages, even in compiled binaries.
    development: false,
    idleTimeout: idleSeconds,
    maxRequestBodySize: NO_BODY_LIMIT,
    // Otherwise a second gateway could take the same port, and the kernel would split the traffic between them.
    reusePort: isShared,
    fetch: answer,
    error: renderFault,
  })
  const host = hostname.includes(':') ? `[${hostname}]` : hostname
  return {
    url: `http://${host}:${server.port}`,
    disableIdleTimeout: (request) => server.timeout(request, 0),
    restoreIdleTimeout: (request) => server.timeout(request, idleSeconds),
    addressOf: (request) => server.requestIP(request)?.address ?? null,
    async close() {
      const stopping = server.stop()
      // It resolves only once idle connections are closed too, which clients keep open for minutes.
      for (let ms = 0; ms < LAST_BYTES_MS && server.pendingRequests > 0; ms += POLL_MS) {
        await Bun.sleep(POLL_MS)
      }
      await server.stop(true)
      await stopping
    },
  }
}

/** The response to an uncaught error. */
function renderFault(): Response {
  const error = {
    message: 'the gateway failed while it handled this request',
    type: 'api_error',
    param: null,
    code: 'internal_error',
  }
  const requestId = `req_${crypto.randomUUID()}`
  return Response.json(
    { error, request_id: requestId },
    { status: 500, headers: { 'X-Request-Id': requestId } },
  )
}
