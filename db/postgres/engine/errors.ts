/** What PostgreSQL throws, and what the ports then throw. */
import { GatewayError } from '#domain/errors.ts'

/** The SQLSTATE of an error of the server; the client's own code where there is none. */
function stateOf(error: unknown): string | null {
  if (error instanceof GatewayError) return error.cause === undefined ? null : stateOf(error.cause)
  if (!(error instanceof Error)) return null
  const { errno, code } = error as { errno?: unknown; code?: unknown }
  return typeof errno === 'string' ? errno : typeof code === 'string' ? code : null
}

/** Of what other nodes did at the same moment. */
const MOST_REPEATS = 5

/** Does it again where it was lost to another transaction. */
export async function repeated<T>(act: () => Promise<T>): Promise<T> {
  for (let round = 1; ; round++) {
    try {
      return await act()
    } catch (error) {
      if (round === MOST_REPEATS || !isRepeatable(error)) throw error
    }
  }
}

/** Lost to another transaction of the same moment: as if it had never begun. */
const isRepeatable = (error: unknown): boolean => {
  const state = stateOf(error)
  return state === '40001' || state === '40P01'
}

/** Connections, resources, an administrator's word, and a server that is no longer the primary. */
const UNREACHABLE = /^(08|53|57|25006|ERR_POSTGRES_(CONNECTION|LIFETIME|IDLE)|ECONN|ENOENT)/

const unavailable = (cause: unknown): GatewayError =>
  new GatewayError(
    'store_unavailable',
    'the gateway cannot reach its database; nothing was taken or charged',
    { retryAfterSeconds: 5, hint: 'gatewayctl doctor', trouble: 'failing', cause },
  )

/** `store_unavailable` for what is no fault of the statement; any other error as it is. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof GatewayError) return error
  const state = stateOf(error)
  return state !== null && UNREACHABLE.test(state) ? unavailable(error) : error
}
