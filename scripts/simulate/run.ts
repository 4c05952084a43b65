/** One run: a seed decides what is asked, what fails, and when; its promises are judged at the end. */

import { openStore } from '#db/index.ts'
import { instant, systemClock } from '#domain/clock.ts'
import { newRequestId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { setDeadline } from '#runtime/short-lived.ts'
import { Clients } from './clients.ts'
import { compare } from './compare.ts'
import { furnish } from './furnish.ts'
import type { Gateway } from './gateway.ts'
import { openNodes } from './nodes.ts'
import { openPorts } from './ports.ts'
import { openProcesses } from './processes.ts'
import { judge, readBooks } from './promises.ts'
import { openSockets } from './sockets.ts'
import { enter, World } from './world.ts'

export interface Outcome {
  readonly seed: number
  /** Broken promises. */
  readonly broken: readonly string[]
  readonly digest: string
  readonly steps: number
  /** What happened, of a long run the last of it. */
  readonly lines: readonly string[]
  readonly counts: Readonly<Record<string, number>>
}

/** How long clients ask, and things fail. */
const TROUBLE_MS = 35_000
/** Within this all ends, once nothing fails any more. */
const END_MS = 120_000
/** For what follows the last answer. */
const REST_MS = 30_000

/** More than any deadline. */
const DEADLINES_MS = 600_000
const STEPS_BETWEEN_FAULTS = [150, 500, 1_500]

const NOON = Date.parse('2026-08-22T12:00:00Z')
const MIDNIGHT = Date.parse('2026-09-01T00:00:00Z')

/** Modules that are loaded when they are first used, before a world that cannot wait for files. */
export async function warm(): Promise<void> {
  const store = await openStore({ dataDir: ':memory:', clock: systemClock })
  const furniture = await furnish(new World(0, NOON), store, systemClock.now())
  await readBooks(store, furniture)
  const repeat = { key: 'name', digest: '' }
  await store.answers.find((furniture.keys[0] as ApiKey).id, repeat, systemClock.now())
  await store.close()
}

export const runSeed = (seed: number): Outcome =>
  inWorld(seed, (world, ports) => {
    const gateway = seed % 2 === 1 ? openProcesses(world) : openNodes(world)
    try {
      const clients = new Clients(world, gateway.furniture.customers, ports.pick)
      const faults = trouble(world, gateway, clients)
      gateway.heal()
      world.run(() => clients.waiting.size === 0, END_MS)
      world.run(() => false, REST_MS)
      const broken = judge(gateway.furniture, clients, gateway.books(), gateway.mayRepeat)
      const counts = { ...Object.fromEntries(clients.statuses), faults }
      return { broken: [...broken, ...gateway.faults()], counts }
    } finally {
      gateway.close()
    }
  })

/** Instead of a run: whether the model of PostgreSQL answers as the other engine does. */
export const compareSeed = (seed: number): Outcome => inWorld(seed, compare)

function inWorld(
  seed: number,
  act: (world: World, ports: ReturnType<typeof openPorts>) => Pick<Outcome, 'broken' | 'counts'>,
): Outcome {
  const world = new World(seed, seed % 4 < 2 ? NOON : MIDNIGHT - 25_000)
  const ports = openPorts(world)
  const leave = enter(world, { ...openSockets(world), serve: ports.serve, SQL: null })
  let found: Pick<Outcome, 'broken' | 'counts'>
  try {
    // Ids count up within a millisecond, also from one run to the next.
    newRequestId(instant(0))
    found = act(world, ports)
    settleDeadlines(world)
  } catch (thrown) {
    found = { broken: [`the run broke off: ${sayOf(thrown)}`], counts: {} }
  } finally {
    leave()
  }
  const { digest, steps, lines, uncaught } = world
  const broken = [...found.broken, ...uncaught.map((thrown) => `nobody caught ${sayOf(thrown)}`)]
  return { ...found, broken, seed, digest, steps, lines }
}

const sayOf = (thrown: unknown): string =>
  thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)

/** Clients ask and things fail for a while; answers how often something did. */
function trouble(world: World, gateway: Gateway, clients: Clients): number {
  const { chance } = world
  const endsMs = world.nowMs + TROUBLE_MS
  const meanSteps = STEPS_BETWEEN_FAULTS[chance.pick(STEPS_BETWEEN_FAULTS.length)] as number
  let faults = 0
  const ask = (): void => {
    if (world.nowMs > endsMs) return
    const burst = world.odds(10) ? 1 + chance.pick(8) : 1
    for (let n = 0; n < burst; n++) clients.ask()
    world.after(chance.exponential(600), ask, world.outside)
  }
  // By steps, of which many are in the middle of a request: most moments in time are in none.
  const failSoon = (): void => world.interrupt(chance.exponential(meanSteps), fail)
  const fail = (): void => {
    if (world.nowMs > endsMs) return
    faults++
    gateway.fail()
    failSoon()
  }
  ask()
  failSoon()
  world.run(() => false, TROUBLE_MS)
  return faults
}

/** All processes share the timer of deadlines, which a killed one takes along. */
function settleDeadlines(world: World): void {
  world.after(0, () => setDeadline({ place: -1, dueMs: () => -1, expire() {} }, 0))
  world.run(() => false, DEADLINES_MS)
}
