/** Processes that serve for a parent, over the real engine: `server/processes.ts`, `db/front` and `db/sqlite` under faults. */
import type { Database } from 'bun:sqlite'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFront } from '#db/front/front.ts'
import { openKeeper } from '#db/front/keeper.ts'
import { Link, linkSocket } from '#db/front/link.ts'
import { connect } from '#db/sqlite/engine/connection.ts'
import { NO_LOG_SYNC } from '#db/sqlite/engine/log-sync.ts'
import { migrate } from '#db/sqlite/engine/migrate.ts'
import { openDatabase } from '#db/sqlite/engine/open.ts'
import { createStore } from '#db/sqlite/store.ts'
import { systemClock } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { type EpochId, newEpochId } from '#domain/id.ts'
import { LOCAL_NODE } from '#domain/owner.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import { Crew, type Heir, type HeirVerbs, type Legacy } from '#server/crew.ts'
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
/** A hold that is older has its row. */
const YOUNG_MS = 150
const DATABASE = 'gateway.db'

/** The process that has the store, once it serves. */
interface Parent {
  readonly life: Life
  readonly store: GatewayStore
  readonly serving: Serving
  /** Where its processes find it. */
  readonly unix: string
}

const NOBODY: Legacy = { owners: [], held: [] }

export function openProcesses(world: World): Gateway {
  const { chance } = world
  const directory = mkdtempSync(join(MEMORY, 'gatewayctl-simulated-'))
  const places = ['one.sock', 'other.sock'].map((name) => join(directory, name))
  const machine: Machine = { aheadMs: 0 }
  /** Of processes that serve, by their epochs. */
  const lives = new Map<EpochId, Life>()
  const all: Life[] = []
  /** Those that have the store, or take it over. */
  const keepers = new Set<Life>()
  let path = join(directory, DATABASE)
  /** Who has the lock of the directory. */
  let owner = null as { readonly life: Life; readonly database: Database } | null
  let known = null as { readonly furniture: Furniture; readonly watch: Watch } | null
  let parent = null as Parent | null
  let steps = 0

  const begin = (name: string): Life => {
    const life = new Life(`${name} ${all.length + 1}`, machine)
    all.push(life)
    return life
  }
  const logFault = (cause: unknown): void => world.say(`fault: ${cause}`)

  const spawn = (at: string) => {
    const life = begin('process')
    const pid = all.length
    const exited = Promise.withResolvers<number>()
    const { life: spawner } = world
    life.endings.push(() => void world.after(1, () => exited.resolve(137), spawner))
    const run = (): void => {
      const open = async (told: Parameters<typeof openFront>[1]) => {
        const front = await openFront(at, { ...told, pid })
        lives.set(front.store.owner.epoch, life)
        return front
      }
      runProcess({ clock: systemClock, open }, () => world.kill(life)).catch(() => world.kill(life))
    }
    world.after(chance.between(20, 300), run, life)
    return { pid, kill: () => world.kill(life), exited: exited.promise }
  }
  const otherPlace = (unix: string): string => places.find((place) => place !== unix) as string
  const startCrew = (unix: string): Crew => {
    const otherUnix = otherPlace(unix)
    const given = { unix, otherUnix, openKeeper, spawn, logFault }
    return new Crew({ count: CHILDREN, clock: systemClock, ...given })
  }

  /** As the engine opens a data directory, but for the syncs of its log: a power cut is none of the faults. */
  const openEngine = (life: Life, { held }: Legacy): GatewayStore => {
    if (owner !== null && !owner.life.isDead) throw new Error('another process has the directory')
    const database = openDatabase(path)
    migrate(database, path)
    owner = { life, database }
    const at = systemClock.now()
    return createStore(
      connect(database, NO_LOG_SYNC, { clock: systemClock, vault: null, syncCharges: false }),
      path,
      { owner: { node: LOCAL_NODE, epoch: newEpochId(at) }, at, held },
      () => {
        owner = null
      },
    )
  }

  /** Until another process takes over. */
  const serve = async (
    life: Life,
    unix: string,
    crew: Crew,
    legacy: Legacy,
    url: string | null,
  ): Promise<void> => {
    const store = openEngine(life, legacy)
    if (known === null) {
      const furniture = await furnish(world, store, systemClock.now())
      known = { furniture, watch: new Watch(world, furniture) }
    }
    const { watch } = known
    const came = new Set(legacy.owners.map(({ epoch }) => epoch))
    watch.end((epoch) => !came.has(epoch))
    const lifeOf = (epoch: EpochId): Life => lives.get(epoch) ?? life
    const before = { url, owners: legacy.owners }
    const serving = await serveByProcesses({
      crew,
      count: CHILDREN,
      traces: null,
      writeLines: null,
      before,
      logFault,
    })({
      store: { ...store, admissions: watch.over(store.admissions, lifeOf) },
      clock: systemClock,
      settings: { ...DEFAULT_SETTINGS, reserveWaitMs: 4_000 },
      listen: { hostname: '127.0.0.1', port: 0 },
      version: '0',
      log: null,
      ended: () => {},
      before: (fetch) => fetch,
    })
    parent = { life, store, serving, unix }
    crew.facts = () => ({ url: serving.url })
    world.say('serves')
    void crew.succession.then((heir) => give(heir, crew)).catch((thrown) => fail(life, thrown))
  }

  /** `cli/serve/turns.ts` does the same with what else a gateway has. */
  const give = async (heir: Heir, crew: Crew): Promise<void> => {
    if (parent === null) return
    const { life, store, serving, unix } = parent
    parent = null
    await heir.openDoors()
    const owners = await crew.leave(heir.unix)
    const epochs = new Set(owners.map(({ epoch }) => epoch))
    const held = (await store.handOver?.()) ?? []
    const legacy = { owners, held: held.filter(({ claim }) => epochs.has(claim.owner.epoch)) }
    if (await heir.give(legacy)) {
      world.kill(life)
      return
    }
    world.say('goes on')
    const again = startCrew(unix)
    await serve(life, unix, again, legacy, serving.url)
    again.welcome()
  }

  const inherit = async (life: Life, { unix }: Parent): Promise<void> => {
    const link = new Link({ answer: () => undefined, closed: () => {} })
    await Bun.connect({ unix, socket: linkSocket(link) })
    const { url } = (await link.call('facts', [])) as { readonly url: string }
    const next = otherPlace(unix)
    const crew = startCrew(next)
    let legacy: Legacy | null = null
    try {
      legacy = (await link.call('handOver', [next, 0])) as Legacy
    } catch (cause) {
      // Where it has died, there is nothing to wait for; where it goes on, this one ends.
      if (!(cause instanceof GatewayError) || cause.details.hint !== undefined) throw cause
    }
    await serve(life, next, crew, legacy ?? NOBODY, url)
    link.tell('whole' satisfies keyof HeirVerbs, [])
    crew.welcome()
  }

  const fail = (life: Life, thrown: unknown): void => {
    world.say(`${life.name} ends: ${thrown}`)
    world.kill(life)
  }
  /** Whoever keeps the gateway running starts it again, once nobody has the store. */
  const startKeeper = (name: string, run: (life: Life) => Promise<void>): void => {
    const life = begin(name)
    keepers.add(life)
    life.endings.push(() => {
      keepers.delete(life)
      if (parent?.life === life) parent = null
      if (owner?.life === life) leaveFiles(owner.database)
      const again = (): void => {
        if (keepers.size === 0) startParent()
      }
      if (!isClosing) world.after(chance.between(200, 3_000), again, world.outside)
    })
    world.after(0, () => void run(life).catch((thrown) => fail(life, thrown)), life)
  }
  const startParent = (): void => {
    const [unix = ''] = places
    startKeeper('parent', async (life) => {
      const crew = startCrew(unix)
      await serve(life, unix, crew, NOBODY, null)
      crew.welcome()
    })
  }
  let isClosing = false

  /** As `kill -9` leaves them, for whoever opens them next to recover. */
  const leaveFiles = (database: Database): void => {
    owner = null
    known?.watch.lose(YOUNG_MS)
    const copy = join(directory, `${all.length}-${DATABASE}`)
    for (const end of ['', '-wal']) {
      if (existsSync(path + end)) copyFileSync(path + end, copy + end)
    }
    database.close()
    path = copy
  }

  const killKeeper = (): void => {
    const life = [...keepers][chance.pick(keepers.size)]
    if (life === undefined) return
    world.say(`${life.name} is killed`)
    world.kill(life)
  }
  const takeOver = (): void => {
    const before = parent
    if (before === null || keepers.size > 1) return
    world.say(`another process takes over from ${before.life.name}`)
    startKeeper('heir', (life) => inherit(life, before))
    // The moments of that are few, and each is one to die at.
    if (world.odds(60))
      world.interrupt(chance.pick(400), () => (world.odds(50) ? killKeeper() : killChild()))
  }

  /** SIGTERM, and a start. */
  const restart = (): void => {
    if (parent === null) return
    const { life, serving, store } = parent
    parent = null
    world.say(`${life.name} is stopped`)
    const stop = async (): Promise<void> => {
      const drainMs = chance.between(100, 6_000)
      await serving.drain({ unreadyMs: 0, drainMs }, new Promise(() => {}))
      await serving.close()
      await store.close()
      world.kill(life)
    }
    world.after(0, () => void stop().catch((thrown) => fail(life, thrown)), life)
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
  const FAULTS = [
    ...[killChild, killChild, killChild, stopChild, stopChild],
    ...[killKeeper, restart, takeOver, takeOver, takeOver],
  ]

  startParent()
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
      isClosing = true
      for (const life of all) world.kill(life)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
