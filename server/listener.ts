/** An HTTP listener for the API, sign-in and metrics: Bun's server with our own limits and JSON errors. */
import type { Connections } from '#http/request-context.ts'
import { IDLE_SECONDS } from '#http/timings.ts'
import { nextTurn } from '#runtime/next-turn.ts'

export interface Listener {
  /** `http://host:port` */
  readonly url: string
  /** The client's network address; null if the connection is closed. */
  addressOf(request: Request): string | null
  /** Waits briefly for responses being written, then closes all connections. */
  close(): Promise<void>
  /** Leaves new connections to others that listen there; resolves once every answer is complete. */
  retire(): Promise<void>
}

type Answer = (request: Request, connections: Connections) => Response | Promise<Response>

export interface Place {
  readonly hostname: string
  /** 0 picks a free port. */
  readonly port: number
  /** Other processes of this gateway listen there too, and the kernel spreads connections over them. */
  readonly isShared?: boolean
  /** Which listens already. */
  readonly door?: Door
}

/** Listens before there is an answer: what comes meanwhile waits for it. */
export interface Door {
  open(answer: Answer): Listener
}

/** @throws where it cannot listen */
export function openDoor(place: Place): Door {
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const listener = listen(place, async (...asked) => (await promise)(...asked))
  return {
    open(answer) {
      resolve(answer)
      return listener
    },
  }
}

/** The address, once nobody else listens there: processes that share a port would share it with a stranger as well. @throws */
export function reserve(place: Place): string {
  const trial = listen(place, () => new Response(null, { status: 503 }))
  void trial.close()
  return trial.url
}

/** Disables Bun's limit, which answers without a body. Our own answers in JSON, and does not read a body that is too large. */
const NO_BODY_LIMIT = 2 ** 40
const LAST_BYTES_MS = 1_000
const POLL_MS = 5
/** For so long clients with an open connection are told to leave it; then those that are idle are closed. */
const RETIRE_MS = 10_000

export function listen(place: Place, answer: Answer, idleSeconds = IDLE_SECONDS): Listener {
  const { hostname, port, isShared = false, door } = place
  if (door) return door.open(answer)
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
    async retire() {
      server.reload({ fetch: (request) => closing(answer(request, server)) })
      await Bun.sleep(RETIRE_MS)
      // Behind a turn that has accepted what waited: what the kernel has queued is lost when it stops.
      await nextTurn()
      await server.stop()
    },
  }
}

/** Tells the client to send its next request on another connection. */
async function closing(answered: Response | Promise<Response>): Promise<Response> {
  const response = await answered
  response.headers.set('Connection', 'close')
  return response
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
