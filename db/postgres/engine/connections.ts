/** Connections to whichever host takes writes, for who only looks in need to one that does not: after a failure, or silence, all are dropped, and the hosts are tried in turn. */
import type { SQL } from 'bun'
import type { GatewayError } from '#domain/errors.ts'
import { within } from '#domain/within.ts'
import { type Address, type Host, nameOf } from './address.ts'
import { CANNOT_WRITE, unreachable } from './errors.ts'
import { SEARCH_PATH } from './versions.ts'

/** The connections of a node to one host. A lane is one connection, whose plans are made once. */
export interface Clients {
  /** For all that is not of a lane. */
  readonly pool: SQL
  readonly admit: SQL
  readonly settle: SQL
  readonly find: SQL
  readonly life: SQL
}

export interface Connections {
  /** Those of the primary; while there is none it waits, at most until the outage has lasted `patienceMs`. */
  open(patienceMs: number): Promise<Clients>
  /** They have failed: what is out on them is rejected. */
  drop(clients: Clients): void
  /** Why nothing can be written where these are of a host that is only read; else null. */
  readonly onlyRead: GatewayError | null
  close(): Promise<void>
}

/** The patience of whoever begins: a wrong address is told soon. */
export const START_MS = 4_000
/** Beside those of the lanes. */
const MOST_OF_POOL = 6
const CONNECT_SECONDS = 2
/** Between two rounds over the hosts. */
const REST_MS = 200
/** However long the outage has lasted already, who asks gets the result of one more try. */
const LEAST_PATIENCE_MS = 300
/** For what is out when the process ends. */
const CLOSE_SECONDS = 5

/** `mayOnlyRead`: a host that takes no writes will do where none does. */
export function openConnections(address: Address, { mayOnlyRead = false } = {}): Connections {
  let held: Clients | null = null
  let opening: Promise<Clients> | null = null
  let downSince = performance.now()
  let nth = 0
  let isClosed = false
  let why = new Map<string, unknown>()
  let onlyRead: GatewayError | null = null

  const reconnect = async (): Promise<Clients> => {
    for (let round = 0; !isClosed; round++) {
      if (round > 0 && round % address.hosts.length === 0) await Bun.sleep(REST_MS)
      const host = address.hosts[nth % address.hosts.length] as Host
      const clients = clientsOf(address, host)
      try {
        const refusal = await judge(clients.life, mayOnlyRead && round >= address.hosts.length)
        if (isClosed) break
        onlyRead = refusal && unreachable(why.set(nameOf(host), refusal), CANNOT_WRITE)
        held = clients
        why = new Map()
        return clients
      } catch (error) {
        why.set(nameOf(host), error)
        nth++
        end(clients, 0)
      }
    }
    throw unreachable(why)
  }
  const openOnce = (): Promise<Clients> => {
    opening ??= reconnect().finally(() => {
      opening = null
    })
    return opening
  }
  return {
    async open(patienceMs) {
      if (held !== null) return held
      const coming = openOnce()
      coming.catch(() => {})
      if (patienceMs === Number.POSITIVE_INFINITY) return await coming
      const leftMs = Math.max(LEAST_PATIENCE_MS, downSince + patienceMs - performance.now())
      return await deadlined(coming, leftMs, () => unreachable(why))
    },
    get onlyRead() {
      return onlyRead
    },
    drop(clients) {
      if (held !== clients) return
      held = null
      downSince = performance.now()
      end(clients, 0)
    },
    async close() {
      isClosed = true
      const clients = held
      held = null
      if (clients !== null) await Promise.all(endAll(clients, CLOSE_SECONDS))
    },
  }
}

/**
 * What the server itself gives up: a transaction whose client stands still, stopped or cut off, which may hold what all others wait for;
 * a wait for a lock; and on a lane any call, before its own deadline, so that its outcome is known.
 */
const GIVEN_UP = { idle_in_transaction_session_timeout: 3_000, lock_timeout: 2_000 }
const GIVEN_UP_ON_LANE = { ...GIVEN_UP, statement_timeout: 2_500 }

const clientsOf = (address: Address, host: Host): Clients => {
  const lane = () => openClient(address, host, 1, GIVEN_UP_ON_LANE)
  const pool = openClient(address, host, MOST_OF_POOL, GIVEN_UP)
  return { pool, admit: lane(), settle: lane(), find: lane(), life: lane() }
}

const endAll = (clients: Clients, timeout: number): readonly Promise<unknown>[] =>
  Object.values(clients).map((client: SQL) => client.close({ timeout }).catch(() => {}))
const end = (clients: Clients, timeout: number): void => void endAll(clients, timeout)

/** Connects with the first statement. */
const openClient = (
  address: Address,
  host: Host,
  max: number,
  settings: Readonly<Record<string, number>>,
): SQL => {
  const { username, password, database, tls = 'off' } = address
  const { path, ...place } = host
  return new Bun.SQL({
    ...(path === undefined ? place : { path }),
    ...{ username, password, database, max },
    tls: toTls(tls, host),
    connection: { ...settings, search_path: SEARCH_PATH },
    bigint: true,
    idleTimeout: 0,
    maxLifetime: 0,
    connectionTimeout: CONNECT_SECONDS,
  } as never)
}

function toTls(tls: NonNullable<Address['tls']>, { hostname }: Host): unknown {
  if (tls === 'off') return false
  if (tls === 'encrypt') return { rejectUnauthorized: false }
  return { rejectUnauthorized: true, serverName: hostname, ...(tls.ca && { ca: tls.ca }) }
}

/** Rejects with what `late` makes where it takes longer. */
export async function deadlined<T>(
  promise: Promise<T>,
  ms: number,
  late: () => unknown,
): Promise<T> {
  if (await within(promise, ms)) return await promise
  throw late()
}

/** Beyond that a host counts as silent. */
const ANSWER_MS = 2_500

const KIND = `
  SELECT pg_is_in_recovery() AS "isStandby", current_setting('default_transaction_read_only')::boolean AS "isReadOnly"`

/** Null of one that takes writes. @throws where it does not answer, and what it says where it is not to be only read */
async function judge(client: SQL, mayOnlyRead: boolean): Promise<Error | null> {
  const asked = Promise.resolve(client.unsafe(KIND))
  const silent = () => new Error('it does not answer')
  const [row] = (await deadlined(asked, ANSWER_MS, silent)) as Record<string, boolean>[]
  if (row?.['isStandby'] === false && row['isReadOnly'] === false) return null
  const refusal = new Error(row?.['isStandby'] === false ? 'it is read-only' : 'it is a standby')
  if (mayOnlyRead) return refusal
  throw refusal
}
