/** A PostgreSQL and its synchronous standby. The primary dies, the standby takes its place, and what was the primary follows. */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { aheadBy } from '../faketime.ts'
import { asOther, initialize, launch, ownDirectory, type Running } from '../postgres-package.ts'

export interface Pair {
  /** Of the two servers. */
  readonly sockets: readonly [string, string]
  /** A statement at the primary, in the gateway's database. */
  query<Row>(sql: string): Promise<readonly Row[]>
  /** `kill -9` of the primary with all its backends, and the promotion of the standby. */
  failOver(): Promise<void>
  /** What was the primary begins anew as standby; resolves when commits wait for it. */
  rebuild(): Promise<void>
  /** By the clock of both. */
  now(): number
  /** Both are stopped in order, and begin again at this time, which is later than theirs; resolves when commits wait for the standby. */
  restartAt(ms: number): Promise<void>
  /** A transaction that stays open at the primary, so that no old version of a row can be cleared away. Ended by what it answers. */
  openSnapshot(): Promise<() => Promise<void>>
  stop(): void
}

const WAIT_MS = 50
const MOST_WAITS = 600
const SETTINGS = [
  // What dies here are processes, not the machine.
  'fsync=off',
  // Nothing is left behind by a kill.
  'dynamic_shared_memory_type=mmap',
]

export async function startPair(bin: string): Promise<Pair> {
  const other = asOther()
  const places = [ownDirectory(other), ownDirectory(other)] as const
  const run = (program: string, ...args: readonly string[]) =>
    execFileSync(join(bin, program), args, { ...other, stdio: 'ignore', cwd: '/' })
  let aheadMs = 0
  const serve = (place: string): Running => {
    const env = { ...process.env, ...aheadBy(aheadMs) }
    return launch(bin, join(place, 'data'), { ...other, env }, place, SETTINGS)
  }
  const connect = (place: string, database: string): SQL =>
    new SQL({ path: join(place, SOCKET), username: 'postgres', database, max: 1 } as never)
  const ask = async <Row>(place: string, database: string, sql: string): Promise<Row[]> => {
    const client = connect(place, database)
    try {
      return [...(await client.unsafe(sql))] as Row[]
    } finally {
      await client.close({ timeout: 0 })
    }
  }
  const isTrue = async (place: string, sql: string): Promise<boolean> => {
    const [row] = await ask<{ yes: boolean }>(place, 'postgres', `SELECT ${sql} AS yes`)
    return row?.yes === true
  }
  const until = async (place: string, sql: string): Promise<void> => {
    for (let tries = 0; !(await isTrue(place, sql).catch(() => false)); tries++) {
      if (tries === MOST_WAITS) throw new Error(`PostgreSQL: waited in vain for ${sql}`)
      await Bun.sleep(WAIT_MS)
    }
  }
  let primary = 0
  const servers: Running[] = []
  const placeOf = (nth: number): string => places[nth] ?? ''
  const awaitSync = () =>
    until(placeOf(primary), "EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")
  const follow = async (): Promise<void> => {
    const [leader, follower] = [placeOf(primary), placeOf(1 - primary)]
    rmSync(join(follower, 'data'), { recursive: true, force: true })
    const from = `host=${leader} user=postgres application_name=standby`
    run('pg_basebackup', '-D', join(follower, 'data'), '-R', '-c', 'fast', '-N', '-d', from)
    servers[1 - primary] = serve(follower)
    await until(leader, "EXISTS (SELECT FROM pg_stat_replication WHERE state = 'streaming')")
    await ask(leader, 'postgres', "ALTER SYSTEM SET synchronous_standby_names = 'standby'")
    await ask(leader, 'postgres', 'SELECT pg_reload_conf()')
    await awaitSync()
  }

  initialize(bin, join(placeOf(0), 'data'), other)
  servers[0] = serve(placeOf(0))
  await until(placeOf(0), 'true')
  await ask(placeOf(0), 'postgres', 'CREATE DATABASE gateway')
  await follow()
  return {
    sockets: [join(placeOf(0), SOCKET), join(placeOf(1), SOCKET)],
    query: (sql) => ask(placeOf(primary), 'gateway', sql),
    async failOver() {
      kill(servers[primary]?.server)
      primary = 1 - primary
      // It was written by the old one, and would wait for a standby that is gone.
      await ask(placeOf(primary), 'postgres', 'SELECT pg_promote()')
      await until(placeOf(primary), 'NOT pg_is_in_recovery()')
      await ask(placeOf(primary), 'postgres', 'ALTER SYSTEM RESET synchronous_standby_names')
      await ask(placeOf(primary), 'postgres', 'SELECT pg_reload_conf()')
    },
    rebuild: follow,
    now: () => Date.now() + aheadMs,
    async restartAt(ms) {
      // The standby has all of it before the primary ends.
      for (const nth of [primary, 1 - primary]) {
        servers[nth]?.server.kill('SIGINT')
        await servers[nth]?.ended
      }
      aheadMs = ms - Date.now()
      for (const nth of [primary, 1 - primary]) servers[nth] = serve(placeOf(nth))
      await awaitSync()
    },
    async openSnapshot() {
      const client = connect(placeOf(primary), 'gateway')
      await client.unsafe('BEGIN ISOLATION LEVEL REPEATABLE READ')
      await client.unsafe('SELECT count(*) FROM ledger')
      return () => client.close({ timeout: 0 })
    },
    stop() {
      for (const { server } of servers) kill(server)
      for (const place of places) rmSync(place, { recursive: true, force: true })
    },
  }
}

const SOCKET = '.s.PGSQL.5432'

/** With its backends, each of which would go on by itself. */
function kill(server: ChildProcess | undefined): void {
  const { pid } = server ?? {}
  if (pid === undefined || server?.exitCode !== null || server.signalCode !== null) return
  const backends = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim()
  for (const one of [pid, ...backends.split(' ').map(Number)]) {
    try {
      if (one > 0) process.kill(one, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
}
