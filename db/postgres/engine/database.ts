/** What every port works with: connections to one PostgreSQL, the clock and the vault. */
import type { SQL } from 'bun'
import { drizzle as openDrizzle, type SqliteRemoteDatabase } from 'drizzle-orm/sqlite-proxy'
import type { Clock, SettableClock } from '#domain/clock.ts'
import type { GatewayError } from '#domain/errors.ts'
import type { Owner } from '#domain/owner.ts'
import type { Vault } from '../../vault.ts'
import type { Address } from './address.ts'
import { type Bindings, bind, fromDriver, fromValue, type Value } from './bindings.ts'
import { type Clients, deadlined, openConnections } from './connections.ts'
import {
  isBusy,
  isLost,
  isReadOnly,
  isUnreachable,
  lost,
  repeated,
  toStoreError,
  unconfirmed,
  unreachable,
} from './errors.ts'

/** It goes by the database's, unless it cannot be set, as those of tests. */
export type StoreClock = Clock & Partial<SettableClock>

/** Statements, outside a transaction or in one. */
export interface Sql {
  all<Row>(sql: string, ...bindings: Bindings): Promise<Row[]>
  /** The first row. */
  get<Row>(sql: string, ...bindings: Bindings): Promise<Row | null>
  /** How many rows it changed. */
  run(sql: string, ...bindings: Bindings): Promise<number>
}

export interface Database extends Sql {
  /** One connection each, with a deadline for each call: claims, settlements, the keys that requests bring, the life of the node. */
  readonly lanes: Readonly<Record<Lane, Sql>>
  readonly clock: StoreClock
  /** The node and the epoch that it is in. */
  readonly owner: Owner
  own(owner: Owner): void
  /** Why nothing can be written, for a process that is no node and has found a host for readers alone; else null. */
  readonly onlyRead: GatewayError | null
  /** For filters that an operator chooses, in the words that both engines understand. */
  query<T>(read: (drizzle: SqliteRemoteDatabase) => PromiseLike<T>): Promise<T>
  /** Null when no master key was given: credentials can then be neither kept nor read. */
  readonly vault: Vault | null
  /** A change at somebody's word: one at a time over all nodes, durable before it resolves. */
  change<T>(write: (tx: Sql) => Promise<T>): Promise<T>
  /** One transaction on one connection. */
  transact<T>(write: (tx: Sql) => Promise<T>, patienceMs?: number): Promise<T>
  /** Statements on one connection, each a transaction of its own. */
  session<T>(act: (sql: Sql) => Promise<T>): Promise<T>
  /** One transaction that reads one moment. */
  snapshot<T>(read: (tx: Sql) => Promise<T>): Promise<T>
  /** Resolves when what this process has begun to write by now is written. @throws store_unavailable where that takes longer than a request waits */
  flush(patienceMs?: number): Promise<void>
  /** Something that `flush` waits for. */
  track<T>(writing: Promise<T>): Promise<T>
  close(): Promise<void>
}

type Lane = Exclude<keyof Clients, 'pool'>

/** How long a call of a lane may take; the server gives it up before (`connections.ts`). */
const CALL_MS = 3_000
/** How long a commit may wait for standbys. */
const COMMIT_MS = 7_000
/** How long the database may be away before a call is refused. What is settled has been answered, and waits. */
const PATIENCE_MS = 7_000

/** The owner of a process that is no node. */
export const NO_NODE = ''

type Client = Pick<SQL, 'unsafe'>

export function openDatabase(
  address: Address,
  rest: Pick<Database, 'clock' | 'owner' | 'vault'>,
): Database {
  const connections = openConnections(address, { mayOnlyRead: rest.owner.node === NO_NODE })
  let { owner } = rest
  const writing = new Set<Promise<unknown>>()
  let latest: Promise<unknown> = Promise.resolve()

  /** A host that is only read refuses a write however often it is tried. */
  const errorOf = (thrown: unknown): unknown => {
    const error = toStoreError(thrown)
    return isReadOnly(error) ? (connections.onlyRead ?? error) : error
  }
  /** Once more where it is certain that it was not done, and the database is back in time. */
  const on = async <T>(
    use: (clients: Clients) => PromiseLike<T>,
    patienceMs: number = PATIENCE_MS,
    sinceMs: number = performance.now(),
  ): Promise<T> => {
    const untilMs = sinceMs + patienceMs
    for (;;) {
      const clients = await connections.open(patienceMs)
      try {
        return await use(clients)
      } catch (thrown) {
        const error = errorOf(thrown)
        if (isUnreachable(error)) connections.drop(clients)
        const isUndone = isBusy(error) || (isUnreachable(error) && !isLost(error))
        if (!isUndone || performance.now() > untilMs) throw error
      }
    }
  }
  const onLane = (lane: Lane, patienceMs?: number): Sql =>
    sharingPatience((sql, bindings, sinceMs) => {
      const call = (clients: Clients) => deadlined(ask(clients[lane], sql, bindings), CALL_MS, lost)
      return on(call, patienceMs, sinceMs)
    })
  const begin = <T>(mode: string, act: (tx: Sql) => Promise<T>, patienceMs?: number): Promise<T> =>
    repeated(() => on(({ pool }) => inTransaction(pool, mode, act, patienceMs), patienceMs))
  const track = <T>(promise: Promise<T>): Promise<T> => {
    const settled = promise.then(forget, forget)
    writing.add(settled)
    void settled.then(() => writing.delete(settled))
    return promise
  }
  return {
    ...rest,
    get owner() {
      return owner
    },
    own(next) {
      owner = next
    },
    get onlyRead() {
      return connections.onlyRead
    },
    ...statementsOf((sql, bindings) => on(({ pool }) => ask(pool, sql, bindings))),
    lanes: {
      admit: onLane('admit'),
      settle: onLane('settle', Number.POSITIVE_INFINITY),
      find: onLane('find'),
      life: onLane('life'),
    },
    query: (read) =>
      on(({ pool }) => read(openDrizzle((text, values) => list(pool, text, values)))),
    transact: (write, patienceMs) => track(begin('', write, patienceMs)),
    change(write) {
      // Those of this process in the order in which they were asked for.
      const changing = latest.then(() =>
        begin('', async (tx) => {
          await tx.run(ONE_AT_A_TIME)
          return await write(tx)
        }),
      )
      latest = changing.then(forget, forget)
      return track(changing)
    },
    session: (act) =>
      on(async ({ pool }) => {
        const held = await pool.reserve()
        try {
          return await act(sqlOn(held))
        } finally {
          held.release()
        }
      }),
    snapshot: (read) => begin('isolation level repeatable read read only', read),
    async flush(patienceMs = PATIENCE_MS) {
      if (writing.size === 0) return
      // What is settled waits for the database however long it is away; who wants to read does not.
      await deadlined(Promise.all(writing), patienceMs, () => unreachable(new Map()))
    },
    track,
    close: connections.close,
  }
}

/** What waited behind a call that others were in the way of gets one more try, and not the same patience again. */
function sharingPatience(
  call: (sql: string, bindings: Bindings, sinceMs: number) => Promise<Rows>,
): Sql {
  let busySinceMs = Number.NEGATIVE_INFINITY
  return statementsOf(async (sql, bindings) => {
    const nowMs = performance.now()
    const sinceMs = nowMs - busySinceMs < 2 * PATIENCE_MS ? busySinceMs : nowMs
    try {
      const rows = await call(sql, bindings, sinceMs)
      busySinceMs = Number.NEGATIVE_INFINITY
      return rows
    } catch (error) {
      if (isBusy(error)) busySinceMs = sinceMs
      throw error
    }
  })
}

/** Where its commit waits for a standby it is given up, but for who waits as long as it takes: done again, it would wait beside itself. */
async function inTransaction<T>(
  pool: SQL,
  mode: string,
  act: (tx: Sql) => Promise<T>,
  patienceMs?: number,
): Promise<T> {
  const written = Promise.withResolvers<void>()
  const whole = pool.begin(mode, async (client) => {
    const made = await act(sqlOn(client))
    written.resolve()
    return made
  }) as Promise<T>
  if (patienceMs === Number.POSITIVE_INFINITY) return await whole
  const committed = written.promise.then(() => deadlined(whole, COMMIT_MS, unconfirmed))
  return await Promise.race([whole, committed])
}

/** Every change at somebody's word holds it to the end of its transaction. */
export const ONE_AT_A_TIME = 'SELECT pg_advisory_xact_lock(7002)'

const forget = (): void => {}

type Rows = Record<string, unknown>[] & { readonly count: number }

async function ask(client: Client, sql: string, bindings: Bindings): Promise<Rows> {
  const { text, values } = bind(sql, bindings)
  try {
    return await client.unsafe(text, values as never)
  } catch (error) {
    throw toStoreError(error)
  }
}

/** Statements on one connection, or in its transaction. */
export const sqlOn = (client: Client): Sql =>
  statementsOf((sql, bindings) => ask(client, sql, bindings))

/** Rows as lists of their values. */
async function list(
  client: Client,
  sql: string,
  bindings: readonly Value[],
): Promise<{ rows: unknown[][] }> {
  const { text, values } = bind(sql, bindings)
  const rows: unknown[][] = await client.unsafe(text, values as never).values()
  return { rows: rows.map((row) => row.map(fromValue)) }
}

function statementsOf(send: (sql: string, bindings: Bindings) => Promise<Rows>): Sql {
  return {
    all: async <Row>(sql: string, ...bindings: Bindings) =>
      (await send(sql, bindings)).map(fromDriver<Row>),
    async get<Row>(sql: string, ...bindings: Bindings) {
      const [row] = await send(sql, bindings)
      return row === undefined ? null : fromDriver<Row>(row)
    },
    run: async (sql, ...bindings) => (await send(sql, bindings)).count,
  }
}
