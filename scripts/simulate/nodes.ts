/** Nodes that share a PostgreSQL: `db/postgres` and all above it, over a model of the server and of the network to it. */
import { openPostgres } from '#db/postgres/store.ts'
import { CATALOGUE_SQL } from '#db/rows/catalogue-rows.ts'
import { connect } from '#db/sqlite/engine/connection.ts'
import { NO_LOG_SYNC } from '#db/sqlite/engine/log-sync.ts'
import { migrate } from '#db/sqlite/engine/migrate.ts'
import { openDatabase } from '#db/sqlite/engine/open.ts'
import { createStore } from '#db/sqlite/store.ts'
import { MINUTE_MS, settable, systemClock } from '#domain/clock.ts'
import { type AccountId, newEpochId } from '#domain/id.ts'
import type { UsdNanos } from '#domain/money.ts'
import { LOCAL_NODE } from '#domain/owner.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import { type Serving, serveHere } from '#server/serving.ts'
import type { GatewayStore } from '#signin/store.ts'
import { type Furniture, furnish } from './furnish.ts'
import type { Gateway } from './gateway.ts'
import { clientsOf, type Way } from './postgres/client.ts'
import type { Row } from './postgres/functions.ts'
import { Server } from './postgres/server.ts'
import { Tables } from './postgres/tables.ts'
import type { Books, Charged } from './promises.ts'
import { Life, type World } from './world.ts'

const NODES = ['a', 'b', 'c']
/** Of the model's two hosts. */
export const ADDRESS = {
  hosts: [
    { hostname: 'db', port: 0 },
    { hostname: 'db', port: 1 },
  ],
  username: 'gateway',
  database: 'gateway',
}
/** What could not start, or has died, is started again by whoever keeps it running. */
const RESTART_MS = 1_000

interface Node {
  readonly name: string
  readonly way: Way
  life: Life
  /** Null until it serves. */
  serves: { readonly store: GatewayStore; readonly serving: Serving } | null
}

export function openNodes(world: World): Gateway {
  const { chance } = world
  const { furniture, fixed, version, store: furnishing } = furnished(world)
  world.wait('close', () => furnishing.close())
  const startsAt = world.today - Math.floor(world.nowMs)
  const anew = (): Tables => new Tables(furniture, version)
  const server = new Server(world, startsAt, anew, fixed)
  const ways = new Map<Life, Way>()
  const newWay = (): Way => ({ thereUntilMs: 0, backUntilMs: 0, cuts: 0 })
  Bun.SQL = clientsOf(world, server, (life) => ways.get(life) ?? newWay()) as never
  const nodes: Node[] = []
  let epochs = 0

  const start = (node: Node): void => {
    const life = new Life(`${node.name}${++epochs}`, { aheadMs: node.life.machine.aheadMs })
    node.life = life
    node.serves = null
    ways.set(life, node.way)
    const fail = (thrown: unknown): void => {
      world.say(`ends: ${thrown instanceof Error ? thrown.message : thrown}`)
      world.kill(life)
      world.after(RESTART_MS, () => node.life === life && start(node), world.outside)
    }
    world.after(chance.between(10, 200), () => void serve(node, life).catch(fail), life)
  }
  const serve = async (node: Node, life: Life): Promise<void> => {
    const clock = settable(systemClock)
    const store = await openPostgres({ address: ADDRESS, clock, node: node.name })
    const serving = await serveHere({
      store,
      clock,
      settings: { ...DEFAULT_SETTINGS, reserveWaitMs: 4_000 },
      listen: { hostname: '127.0.0.1', port: 0 },
      version: '0',
      log: null,
      ended: () => {},
      before: (fetch) => fetch,
    })
    if (node.life === life) node.serves = { store, serving }
    world.say('serves')
  }

  for (const name of NODES.slice(0, 2 + chance.pick(2))) {
    const life = new Life(name)
    const node: Node = { name, way: newWay(), life, serves: null }
    nodes.push(node)
    start(node)
  }
  const allServe = (): boolean => nodes.every(({ serves }) => serves !== null)
  if (!world.run(allServe, 60_000)) throw new Error('the nodes do not start')

  const any = (): Node => nodes[chance.pick(nodes.length)] as Node
  const kill = (): void => {
    const node = any()
    world.say(`${node.life.name} is killed`)
    world.kill(node.life)
    node.serves = null
    const { life } = node
    world.after(chance.between(200, 16_000), () => node.life === life && start(node))
  }
  const stop = (): void => {
    const { life } = any()
    const ms = world.odds(30) ? chance.between(9_000, 16_000) : chance.exponential(2_000)
    world.say(`${life.name} stands still for ${Math.round(ms)} ms`)
    life.stoppedUntilMs = world.nowMs + ms
  }
  const silence = (): void => {
    const { way, life } = any()
    const ms = world.odds(30) ? chance.between(9_000, 15_000) : chance.between(200, 5_000)
    const isThere = world.odds(66)
    const isBack = !isThere || world.odds(50)
    const what = isThere ? (isBack ? 'nothing' : 'no question') : 'no answer'
    world.say(`${what} passes between ${life.name} and the database for ${Math.round(ms)} ms`)
    if (isThere) way.thereUntilMs = world.nowMs + ms
    if (isBack) way.backUntilMs = world.nowMs + ms
  }
  const cut = (): void => {
    const { way, life } = any()
    world.say(`the connections of ${life.name} are cut`)
    way.cuts++
  }
  const restart = (): void => {
    const node = any()
    const { serves, life } = node
    if (serves === null) return
    node.serves = null
    world.say(`${life.name} is stopped`)
    const leave = async (): Promise<void> => {
      await serves.serving.drain(
        { unreadyMs: 0, drainMs: chance.between(100, 6_000) },
        new Promise(() => {}),
      )
      await serves.serving.close()
      await serves.store.close()
      world.kill(life)
      world.after(RESTART_MS, () => node.life === life && start(node), world.outside)
    }
    world.after(0, () => void leave().catch((thrown) => world.uncaught.push(thrown)), life)
  }
  const setClock = (): void => {
    const { machine, name } = any().life
    const ms = Math.round(chance.between(-400_000, 400_000))
    machine.aheadMs += ms
    world.say(`the clock of ${name} is set by ${ms} ms`)
  }
  const reprice = (): void => {
    world.say('the catalogue is changed')
    server.write(
      [
        (tables) => {
          tables.catalogueVersion++
          return []
        },
      ],
      () => {},
    )
  }
  const FAULTS = [
    ...[kill, kill, stop, stop, silence, silence, cut, cut, cut],
    ...[() => server.crash(), () => server.crash(), restart, setClock, reprice],
  ]

  return {
    furniture,
    get mayRepeat() {
      return server.endedNames
    },
    fail: () => FAULTS[chance.pick(FAULTS.length)]?.(),
    heal() {
      for (const { life, way } of nodes) {
        life.stoppedUntilMs = 0
        way.thereUntilMs = 0
        way.backUntilMs = 0
      }
    },
    books() {
      if (!world.run(allServe, 120_000)) throw new Error('a node does not serve again')
      return booksOf(server.tables, furniture)
    },
    faults: () => [...server.overruns, ...crowded(server.tables)],
    close() {
      for (const { life } of nodes) world.kill(life)
    },
  }
}

/** More within a minute than a limit allows. */
const crowded = ({ slots, keys }: Tables): readonly string[] =>
  [...Map.groupBy(slots, ({ key }) => key)].flatMap(([id, ofKey]) => {
    const limit = keys.get(id)?.limits.rpm ?? null
    const next = limit === null ? [] : ofKey.slice(limit)
    return next.some(({ place }, nth) => place - (ofKey[nth]?.place ?? 0) < MINUTE_MS)
      ? [`key ${id} took more than ${limit} in a minute`]
      : []
  })

/** What the nodes find in their database, made by the ports of the other engine. */
export function furnished(world: World): {
  readonly furniture: Furniture
  readonly fixed: ReadonlyMap<string, readonly Row[]>
  readonly version: number
  /** The engine that has it. */
  readonly store: GatewayStore
} {
  const database = openDatabase(':memory:')
  migrate(database, ':memory:')
  const rest = { clock: systemClock, vault: null, syncCharges: false }
  const at = systemClock.now()
  const owner = { node: LOCAL_NODE, epoch: newEpochId(at) }
  const connection = connect(database, NO_LOG_SYNC, rest)
  const store = createStore(connection, ':memory:', { owner, at }, () => {})
  const furniture = world.wait('furnish', () => furnish(world, store, at))
  const fixed = new Map<string, readonly Row[]>()
  for (const text of Object.values(CATALOGUE_SQL)) {
    const said = text.replace(/\s+/g, ' ').trim()
    fixed.set(said, database.query<Row, []>(text).all())
  }
  const { version } = store.catalogue.current()
  return { furniture, fixed, version, store }
}

function booksOf(tables: Tables, { accounts }: Furniture): Books {
  const findings: string[] = []
  const holds = [...tables.holds.values()]
  for (const [what, all] of [
    ['key', tables.keySums],
    ['account', tables.accountSums],
  ] as const) {
    for (const [id, { held, inProgress }] of all) {
      const own = holds.filter((hold) => hold[what] === id)
      const sum = own.reduce((total, { amount }) => total + amount, 0)
      const open = own.filter(({ endedAt }) => endedAt === null).length
      if (held !== sum) findings.push(`${id} holds ${held}, and its holds are ${sum}`)
      if (inProgress !== open) findings.push(`${id} runs ${inProgress}, and has ${open} open holds`)
    }
  }
  for (const { id, balance } of accounts) {
    const charged = [...tables.ledger.values()]
      .filter(({ account }) => account === id)
      .reduce((total, { amount }) => total + amount, 0)
    const left = Number(balance) - charged
    if (tables.balances.get(id) !== left) findings.push(`the balance of ${id} is not ${left}`)
  }
  const open = holds.filter(({ endedAt }) => endedAt === null)
  return {
    charges: [...tables.ledger.values()].map(
      (charge) =>
        ({
          generationId: charge.generation,
          accountId: charge.account,
          keyId: charge.key,
          day: charge.day,
          amount: BigInt(charge.amount),
        }) as Charged,
    ),
    lines: new Map(
      [...tables.activity].map(([id, line]) => [
        id,
        { cost: BigInt(Number(line['cost_nanos'])) as UsdNanos },
      ]),
    ),
    balances: new Map(
      [...tables.balances].map(([id, balance]) => [id as AccountId, BigInt(balance) as UsdNanos]),
    ),
    findings,
    openHolds: open.length,
    inProgress: open.length,
    reserved: BigInt(holds.reduce((all, { amount }) => all + amount, 0)) as UsdNanos,
  }
}
