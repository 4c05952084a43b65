/** An HTTP listener, for the API, for sign-in and for metrics: Bun's server, held to our own bounds and to JSON where it refuses by itself. */

export interface Listener {
  /** `http://host:port` */
  readonly url: string
  /** From now on this request's connection may be silent for as long as the gateway allows. */
  disableIdleTimeout(request: Request): void
  /** The answer is complete: without this a connection that was held open stays so for ever, however idle. */
  restoreIdleTimeout(request: Request): void
  /** The network address that a request comes from; null when its connection is gone. */
  addressOf(request: Request): string | null
  /** Lets what is being written leave, within reason, then cuts. */
  close(): Promise<void>
}

const IDLE_SECONDS = 120
/** Our own limit answers in JSON, and reads nothing of a body that states more; Bun's would answer in nothing. */
const NO_BODY_LIMIT = 2 ** 40
const LAST_BYTES_MS = 1_000
const POLL_MS = 5

export function listen(
  { hostname, port }: { readonly hostname: string; readonly port: number },
  answer: (request: Request) => Response | Promise<Response>,
  idleSeconds = IDLE_SECONDS,
): Listener {
  const server = Bun.serve({
    hostname,
    port,
    // Its default shows source code to strangers, in compiled binaries too.
    development: false,
    idleTimeout: idleSeconds,
    maxRequestBodySize: NO_BODY_LIMIT,
    // Otherwise a second gateway could take the same port, and the kernel would split the traffic between them.
    reusePort: false,
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
      // It resolves only when idle connections have gone too, which clients keep for minutes.
      for (let ms = 0; ms < LAST_BYTES_MS && server.pendingRequests > 0; ms += POLL_MS) {
        await Bun.sleep(POLL_MS)
      }
      await server.stop(true)
      await stopping
    },
  }
}

/** For a throw that no route caught; the API catches its own. */
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
