/** What PostgreSQL throws, and what the ports then throw. */
import { GatewayError } from '#domain/errors.ts'

/** A call of which nobody knows whether the server has done it: its connection was lost, or it took too long. */
class LostCall extends Error {}

/** The SQLSTATE of an error of the server; the client's own code where there is none. */
function stateOf(error: unknown): string | null {
  // Whose own code is another's word.
  if (error instanceof GatewayError) return stateOf(error.cause)
  if (!(error instanceof Error)) return null
  const { errno, code, cause } = error as { errno?: unknown; code?: unknown; cause?: unknown }
  if (typeof errno === 'string') return errno
  // What builds queries wraps what the client throws.
  return typeof code === 'string' ? code : stateOf(cause)
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

/** Of a value that the server does not take: nothing was done. */
export const isBadData = (error: unknown): boolean => stateOf(error)?.startsWith('22') === true

/** A right that the role lacks. */
export const isDenied = (error: unknown): error is Error => stateOf(error) === '42501'

/** A host that takes no writes was asked to write. */
export const isReadOnly = (error: unknown): boolean => stateOf(error) === '25006'

/** It waited for others for too long, and was not done. */
const BUSY = /^(55P03|57014)$/
/** Connections, resources, an administrator's word, a transaction that has stood still, and a server that is no longer the primary. */
const UNREACHABLE = /^(08|53|57|25P03|25006|ERR_POSTGRES_(CONNECTION|LIFETIME|IDLE)|ECONN|ENOENT)/
/** The client's own code for a connection that was there. */
const CUT = /^ERR_POSTGRES_(CONNECTION_CLOSED|LIFETIME|IDLE)|^ECONNRESET/

const AGAIN = { retryAfterSeconds: 5, hint: 'gatewayctl doctor', trouble: 'failing' } as const

/** Of a function of this version that a migration has dropped, while this process stood still. */
const NO_FUNCTION = '42883'

/** `store_unavailable` for what is no fault of the statement; any other error as it is. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof GatewayError) return error
  const state = stateOf(error)
  if (state === NO_FUNCTION) return outdated(error)
  if (state !== null && BUSY.test(state)) return busy(error)
  if (state === null || !UNREACHABLE.test(state)) return error
  return CUT.test(state) ? lost(error) : unavailable(error)
}

const outdated = (cause: unknown): GatewayError =>
  new GatewayError(
    'store_unavailable',
    'a newer version has migrated the database, and this one serves from it no more; nothing was taken or charged',
    { hint: 'start the newer version here: gatewayctl store status', cause },
  )

const unavailable = (cause: unknown): GatewayError =>
  new GatewayError(
    'store_unavailable',
    'the gateway cannot reach its database; nothing was taken or charged',
    { ...AGAIN, cause },
  )

const busy = (cause: unknown): GatewayError =>
  new GatewayError(
    'store_unavailable',
    'the database is busy with others for longer than a request waits; nothing was taken or charged',
    { ...AGAIN, cause },
  )

export const lost = (cause?: unknown): GatewayError =>
  new GatewayError(
    'store_unavailable',
    'the gateway lost its database in the middle of this: look whether it was done before you repeat it',
    { ...AGAIN, cause: new LostCall('outcome unknown', { cause }) },
  )

/** Of a commit that waits for standbys which do not answer. */
export const unconfirmed = (): GatewayError =>
  new GatewayError(
    'store_unavailable',
    'it is written, and no standby confirms it: look whether it was done before you repeat it',
    { ...AGAIN, cause: new LostCall('not confirmed') },
  )

/** Whether nobody knows what became of it. */
export const isLost = (error: unknown): boolean =>
  error instanceof GatewayError && error.cause instanceof LostCall

/** Whether it was not done because others were in the way. */
export const isBusy = (error: unknown): boolean =>
  error instanceof GatewayError && BUSY.test(stateOf(error) ?? '')

/** Whether the connection is of no more use. */
export const isUnreachable = (error: unknown): boolean =>
  isLost(error) ||
  (error instanceof GatewayError && !isBusy(error) && UNREACHABLE.test(stateOf(error) ?? ''))

/** Does it again until nobody doubts that it was done; ends where the store is closed. */
export async function untilDone<T>(
  act: () => Promise<T>,
  again: () => void = () => {},
): Promise<T> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (!isLost(error)) throw error
      again()
    }
  }
}

/** What hosts say, and what lifts it: of several, the last that fits. */
const LIFTED: readonly (readonly [said: RegExp, by: string])[] = [
  [/^/, 'start it, or name where it is: GATEWAY_STORE'],
  [/is a standby/, 'name its primary too: GATEWAY_STORE=postgres://user@host1,host2/database'],
  [
    /is read-only/,
    'default_transaction_read_only is on there, for the database or the role: turn it off',
  ],
  [
    /certificate|self.signed/i,
    'sslmode=verify-full&sslrootcert=FILE with the certificate of the authority that has signed that of the server',
  ],
  [
    /altnames/i,
    'the address names the host as its certificate does: host names or IP addresses among its subjectAltNames',
  ],
  [
    /not support SSL/i,
    'ssl = on at the server, with a certificate; sslmode=disable only where nobody can read along',
  ],
  [
    /no encryption/i,
    'the server takes encrypted connections alone: sslmode=require or verify-full',
  ],
]

const CANNOT = 'the gateway cannot reach its database'
export const CANNOT_WRITE = 'no database that can be reached takes writes'
const NOTHING_DONE = 'nothing was taken or charged'

/** What each host said, which is never a password: for operators. */
export function unreachable(why: ReadonlyMap<string, unknown>, cannot = CANNOT): GatewayError {
  const said = [...why].map(([host, error]) => `${host}: ${sayOf(error)}`)
  // Where no host has said anything, others are in the way. The altnames are of a certificate too.
  const [, hint] = LIFTED.findLast(([what]) => said.length > 0 && what.test(said.join())) ?? []
  const told = said.length === 0 ? cannot : `${cannot} (${said.join('; ')})`
  return new GatewayError('store_unavailable', `${cannot}; ${NOTHING_DONE}`, {
    ...AGAIN,
    told: `${told}; ${NOTHING_DONE}`,
    ...(hint !== undefined && { hint }),
  })
}

const sayOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
