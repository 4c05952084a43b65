/** Processes that serve for a parent, over the real engine: `server/processes.ts`, `db/front` and `db/sqlite` under faults. */
import type { Database } from 'bun:sqlite'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFront } from '#db/front/front.ts'
import { openKeeper } from '#db/front/keeper.ts'
import { connect } from '#db/sqlite/engine/connection.ts'
import { NO_LOG_SYNC } from '#db/sqlite/engine/log-sync.ts'
import { migrate } from '#db/sqlite/engine/migrate.ts'
import { openDatabase } from '#db/sqlite/engine/open.ts'
import { createStore } from '#db/sqlite/store.ts'
import { systemClock } from '#domain/clock.ts'
import { type EpochId, newEpochId } from '#domain/id.ts'
import { LOCAL_NODE } from '#domain/owner.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import { Crew } from '#server/crew.ts'
import { runProcess } from '#server/process.ts'
import { serveByProcesses } from '#server/processes.ts'
import type { Serving } from '#server/serving.ts'
import type { GatewayStore } from '#signin/store.ts'
import { type Furniture, furnish } from './furnish.ts'
import type { Gateway } from './gateway.ts'
import { readBooks, Watch } from './promises.ts'
import { Life, type Machine, type World } from './world.ts'

/** Where files are no disk's affair, which is slow and none of the faults. */
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
const CHILDREN = 2
/** What could not start is started again, as a unit of systemd is. */
const RESTART_MS = 1_000
/** A hold that is older has its row. */
const YOUNG_MS = 150
const DATABASE = 'gateway.db'

/** The process that has the store, once it serves. */
interface Parent {
  readonly life: Life
  readonly path: string
  readonly database: Database
  readonly store: GatewayStore
  readonly serving: Serving
}

export function openProcesses(world: World): Gateway {
  const { chance } = world
  const directory = mkdtempSync(join(MEMORY, 'gatewayctl-simulated-'))
  const unix = join(directory, 'store.sock')
  const machine: Machine = { aheadMs: 0 }
  /** Of processes that serve, by their epochs. */
  const lives = new Map<EpochId, Life>()
  const all: Life[] = []
  let known = null as { readonly furniture: Furniture; readonly watch: Watch } | null
  let parent = null as Parent | null
  let steps = 0

  const begin = (name: string): Life => {
    const life = new Life(`${name} ${all.length + 1}`, machine)
    all.push(life)
    return life
  }

  const spawn = (at: string) => {
    const life = begin('process')
    const exited = Promise.withResolvers<number>()
    const { life: spawner } = world
    life.endings.push(() => void world.after(1, () => exited.resolve(137), spawner))
    const run = (): void => {
      const open = async (told: Parameters<typeof openFront>[1]) => {
        const front = await openFront(at, told)
        lives.set(front.store.owner.epoch, life)
        return front
      }
      runProcess({ clock: systemClock, open }, () => world.kill(life)).catch(() => world.kill(life))
    }
    world.after(chance.between(20, 300), run, life)
    return { kill: () => world.kill(life), exited: exited.promise }
  }

  const start = async (life: Life, path: string): Promise<void> => {
    const database = openDatabase(path)
    migrate(database, path)
    const rest = { clock: systemClock, vault: null, syncCharges: false }
    const at = systemClock.now()
    // As the engine opens a data directory, but for the syncs of its log: a power cut is none of the faults.
    const store = createStore(
      connect(database, NO_LOG_SYNC, rest),
      path,
      { owner: { node: LOCAL_NODE, epoch: newEpochId(at) }, at },
      () => {},
    )
    if (known === null) {
      const furniture = await furnish(world, store, at)
      known = { furniture, watch: new Watch(world, furniture) }
    }
    const { watch } = known
    watch.end(() => true)
    const lifeOf = (epoch: EpochId): Life => lives.get(epoch) ?? life
    const logFault = (cause: unknown): void => world.say(`fault: ${cause}`)
    const count = CHILDREN
    const crew = new Crew({ count, clock: systemClock, unix, openKeeper, spawn, logFault })
    const serve = serveByProcesses({ crew, count, traces: null, logFault })
    const serving = await serve({
      store: { ...store, admissions: watch.over(store.admissions, lifeOf) },
      clock: systemClock,
      settings: { ...DEFAULT_SETTINGS, reserveWaitMs: 4_000 },
      listen: { hostname: '127.0.0.1', port: 0 },
      version: '0',
      log: null,
      ended: () => {},
      before: (fetch) => fetch,
    })
    parent = { life, path, database, store, serving }
    world.say('serves')
  }
  const startParent = (path: string): void => {
    const life = begin('parent')
    const fail = (thrown: unknown): void => {
      world.say(`ends: ${thrown}`)
      world.kill(life)
      world.after(RESTART_MS, () => startParent(path), world.outside)
    }
    world.after(0, () => void start(life, path).catch(fail), life)
  }

  /** The first process is killed: its files are as they are, and whoever opens them recovers. */
  const killParent = (): void => {
    if (parent === null) return
    const { life, path, database } = parent
    parent = null
    world.say(`${life.name} is killed`)
    const copy = join(directory, `${all.length}-${DATABASE}`)
    for (const end of ['', '-wal']) {
      if (existsSync(path + end)) copyFileSync(path + end, copy + end)
    }
    known?.watch.lose(YOUNG_MS)
    world.kill(life)
    database.close()
    world.after(chance.between(200, 3_000), () => startParent(copy))
  }

  /** SIGTERM, and a start. */
  const restart = (): void => {
    if (parent === null) return
    const { life, path, serving, store } = parent
    parent = null
    world.say(`${life.name} is stopped`)
    const stop = async (): Promise<void> => {
      await serving.drain(
        { unreadyMs: 0, drainMs: chance.between(100, 6_000) },
        new Promise(() => {}),
      )
      await serving.close()
      await store.close()
      world.kill(life)
      world.after(chance.between(100, 1_000), () => startParent(path), world.outside)
    }
    world.after(0, () => void stop().catch((thrown) => world.uncaught.push(thrown)), life)
  }

  const anyChild = (): Life | undefined => {
    const living = [...lives.values()].filter(({ isDead }) => !isDead)
    return living[chance.pick(living.length)]
  }
  const killChild = (): void => {
    const child = anyChild()
    if (child === undefined) return
    world.say(`${child.name} is killed`)
    world.kill(child)
  }
  const stopChild = (): void => {
    const child = anyChild()
    if (child === undefined) return
    const ms = chance.exponential(2_000)
    world.say(`${child.name} stands still for ${Math.round(ms)} ms`)
    child.stoppedUntilMs = world.nowMs + ms
  }
  const setClock = (): void => {
    steps++
    const ms = Math.round(chance.between(-20_000, 20_000))
    machine.aheadMs += ms
    world.say(`the clock is set by ${ms} ms`)
  }
  const FAULTS = [killChild, killChild, killChild, stopChild, stopChild, killParent, restart]

  startParent(join(directory, DATABASE))
  if (!world.run(() => parent !== null, 30_000)) throw new Error('it does not start')
  if (known === null) throw new Error('it has no furniture')
  const { furniture, watch } = known
  return {
    furniture,
    mayRepeat: new Set(),
    fail: () => (world.odds(8) ? setClock() : FAULTS[chance.pick(FAULTS.length)]?.()),
    heal() {
      for (const life of all) life.stoppedUntilMs = 0
    },
    books() {
      if (!world.run(() => parent !== null, 60_000)) throw new Error('it does not serve again')
      if (parent === null) throw new Error('it does not serve')
      const { life, store } = parent
      return world.wait('books', () => readBooks(store, furniture), life)
    },
    // Where the clock was set, a window is not told by instants alone.
    faults: () => [...watch.faults, ...(steps > 0 ? [] : watch.windows())],
    close() {
      for (const life of all) world.kill(life)
      parent?.database.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
