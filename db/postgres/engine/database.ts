/** What every port works with: connections to one PostgreSQL, the clock and the vault. */
import { SQL } from 'bun'
import { type BunSQLDatabase, drizzle as openDrizzle } from 'drizzle-orm/bun-sql'
import type { Clock } from '#domain/clock.ts'
import type { Owner } from '#domain/owner.ts'
import type { Vault } from '../../vault.ts'
import { bind, fromDriver, type Named, type Value } from './bindings.ts'
import { repeated, toStoreError } from './errors.ts'

/** Statements, outside a transaction or in one. */
export interface Sql {
  all<Row>(sql: string, ...bindings: readonly (Value | Named)[]): Promise<Row[]>
  /** The first row. */
  get<Row>(sql: string, ...bindings: readonly (Value | Named)[]): Promise<Row | null>
  /** How many rows it changed. */
  run(sql: string, ...bindings: readonly (Value | Named)[]): Promise<number>
}

export interface Database extends Sql {
  /** One connection each, whose plans are made once: that of claims, and that of settlements. */
  readonly lanes: { readonly admit: Sql; readonly settle: Sql }
  readonly clock: Clock
  /** The node and the epoch that it is in. */
  readonly owner: Owner
  own(owner: Owner): void
  /** For filters that an operator chooses. */
  readonly drizzle: BunSQLDatabase
  /** Null when no master key was given: credentials can then be neither kept nor read. */
  readonly vault: Vault | null
  /** A change at somebody's word: one at a time over all nodes, durable before it resolves. */
  change<T>(write: (tx: Sql) => Promise<T>): Promise<T>
  /** One transaction on one connection. */
  transact<T>(write: (tx: Sql) => Promise<T>): Promise<T>
  /** One transaction that reads one moment. */
  snapshot<T>(read: (tx: Sql) => Promise<T>): Promise<T>
  /** Resolves when what this process has begun to write by now is written. */
  flush(): Promise<void>
  /** Something that `flush` waits for. */
  track<T>(writing: Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface Address {
  /** `postgres://user@host:port/database`; or a Unix socket in `path`. */
  readonly url?: string
  readonly path?: string
  readonly username?: string
  readonly database?: string
}

/** Connections of a node beside those of its batches. */
const MOST_CONNECTIONS = 6

type Client = Pick<SQL, 'unsafe'>

export const openClient = (address: Address, max: number): SQL =>
  new SQL({ ...address, max, bigint: true, idleTimeout: 0, maxLifetime: 0 } as never)

export function openDatabase(
  address: Address,
  rest: Pick<Database, 'clock' | 'owner' | 'vault'>,
): Database {
  const pool = openClient(address, MOST_CONNECTIONS)
  const lanes = [openClient(address, 1), openClient(address, 1)] as const
  let { owner } = rest
  const writing = new Set<Promise<unknown>>()
  let latest: Promise<unknown> = Promise.resolve()

  const begin = <T>(mode: string, act: (tx: Sql) => Promise<T>): Promise<T> =>
    repeated(() => pool.begin(mode, (client) => act(statementsOf(client)))) as Promise<T>
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
    ...statementsOf(pool),
    lanes: { admit: statementsOf(lanes[0]), settle: statementsOf(lanes[1]) },
    drizzle: openDrizzle({ client: pool }),
    transact: (write) => track(begin('', write)),
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
    snapshot: (read) => begin('isolation level repeatable read read only', read),
    async flush() {
      await Promise.all(writing)
    },
    track,
    async close() {
      await Promise.all([pool, ...lanes].map((client) => client.close({ timeout: 5 })))
    },
  }
}

/** Held to the end of the transaction. */
const ONE_AT_A_TIME = 'SELECT pg_advisory_xact_lock(7002)'

const forget = (): void => {}

function statementsOf(client: Client): Sql {
  const ask = async (sql: string, bindings: readonly (Value | Named)[]) => {
    const { text, values } = bind(sql, bindings)
    try {
      return (await client.unsafe(text, values as never)) as Record<string, unknown>[] & {
        readonly count: number
      }
    } catch (error) {
      throw toStoreError(error)
    }
  }
  return {
    all: async <Row>(sql: string, ...bindings: readonly (Value | Named)[]) =>
      (await ask(sql, bindings)).map(fromDriver<Row>),
    async get<Row>(sql: string, ...bindings: readonly (Value | Named)[]) {
      const [row] = await ask(sql, bindings)
      return row === undefined ? null : fromDriver<Row>(row)
    },
    run: async (sql, ...bindings) => (await ask(sql, bindings)).count,
  }
}
