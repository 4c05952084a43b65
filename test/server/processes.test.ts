// The parent of processes that serve, in trouble: one cannot be started, or has died while the disk refuses what it held.
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Front, openFront } from '#db/front/front.ts'
import { openKeeper } from '#db/front/keeper.ts'
import { JOIN } from '#db/front/lease.ts'
import { Link, linkSocket } from '#db/front/link.ts'
import { openStore } from '#db/index.ts'
import { systemClock } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { newEpochId } from '#domain/id.ts'
import { LOCAL_NODE, type Owner } from '#domain/owner.ts'
import type { RequestLine } from '#http/request-log.ts'
import { BEAT, Crew, type CrewOptions } from '#server/crew.ts'
import { runProcess } from '#server/process.ts'
import { serveByProcesses } from '#server/processes.ts'
import type { GatewayStore } from '#signin/store.ts'
import { admitClaim } from '#test/support/admit.ts'
import { until } from '#test/support/appliance.ts'
import { aClaim, aKey, anAccount, anAct, aTopUp, usd } from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

const BEAT_MS = 50

/** The parts of real processes, all in this one. */
async function open({
  spawns = () => {},
  kept = (store) => store,
  owners = [],
  isStuck = () => false,
}: {
  /** Before a process runs that is to connect there. */
  readonly spawns?: (unix: string) => void | Promise<void>
  readonly kept?: (store: GatewayStore) => GatewayStore
  /** Of processes that come from the gateway before. */
  readonly owners?: readonly Owner[]
  /** Whether a process, the first of which is 0, answers nothing. */
  readonly isStuck?: (pid: number) => boolean
}) {
  const store = await openStore({ dataDir: ':memory:', clock: systemClock })
  const fronts: Front[] = []
  const faults: unknown[] = []
  let spawned = 0
  const spawn: CrewOptions['spawn'] = (unix) => {
    const ready = Promise.resolve(spawns(unix))
    const exited = Promise.withResolvers<number>()
    const pid = spawned++
    const end = (): void => {
      fronts[pid]?.link.close()
      exited.resolve(0)
    }
    const connect = async (told: Parameters<typeof openFront>[1]): Promise<Front> => {
      const answer: typeof told.answer = (method, args) =>
        method === BEAT && isStuck(pid) ? new Promise(() => {}) : told.answer(method, args)
      const front = await openFront(unix, { ...told, answer, pid })
      fronts[pid] = front
      return front
    }
    void ready.then(() => runProcess({ clock: systemClock, open: connect }, end))
    return { pid, kill: end, exited: exited.promise }
  }
  const unix = join(tempDirectory(), 'store.sock')
  const logFault = (cause: unknown): void => void faults.push(cause)
  const otherUnix = `${unix}.next`
  const given = { count: 1, clock: systemClock, unix, otherUnix, openKeeper, spawn, logFault }
  const crew = new Crew({ ...given, beatMs: BEAT_MS })
  const before = { owners, url: null }
  const serve = serveByProcesses({
    crew,
    count: 1,
    traces: null,
    writeLines: null,
    before,
    logFault,
  })
  const lines: RequestLine[] = []
  const serving = await serve({
    store: kept(store),
    clock: systemClock,
    listen: { hostname: '127.0.0.1', port: 0 },
    version: 'test',
    log: (line) => void lines.push(line),
    ended: () => {},
    before: (fetch) => fetch,
  })
  onTestFinished(async () => {
    await serving.close()
    await store.close()
  })
  return { store, serving, fronts, faults, crew, lines }
}

test('one that cannot be started is tried again', async () => {
  let tries = 0
  const { serving, faults } = await open({
    spawns() {
      if (++tries === 1) throw new Error('too many open files')
    },
  })
  expect(tries).toBe(2)
  expect(faults).toMatchObject([{ cause: { message: 'too many open files' } }])
  expect((await fetch(`${serving.url}/healthz`)).status).toBe(200)
})

test('what one held that has died is given back as soon as the disk takes it', async () => {
  let refusals = 0
  const { store, fronts, faults } = await open({
    kept: (kept) => ({
      ...kept,
      admissions: {
        ...kept.admissions,
        async expire(epochs, at) {
          if (++refusals <= 2) throw new GatewayError('store_unavailable', 'the disk is full')
          await kept.admissions.expire(epochs, at)
        },
      },
    }),
  })
  await store.accounts.create(anAccount(), anAct())
  await store.ledger.credit(aTopUp(systemClock.now(), usd('1')), anAct())
  const key = aKey(systemClock.now())
  await store.keys.issue(key, `if-${key.id}` as never, anAct())
  const [front] = fronts
  if (front === undefined) throw new Error('no process has connected')
  const claim = { ...aClaim(key, systemClock.now(), usd('0.1')), owner: front.store.owner }
  const current = { ...claim, catalogue: store.catalogue.current().version }
  expect(await admitClaim(front.store.admissions, current)).toMatchObject({ admitted: true })
  const openHolds = async () => (await store.health({ checkIntegrity: false })).openHolds
  expect(await openHolds()).toBe(1)
  front.link.close()
  await until(async () => (await openHolds()) === 0, 'its hold is given back')
  expect(faults.filter((fault) => fault instanceof GatewayError)).toHaveLength(2)
})

test('one that is stuck is said to be, then ended, and what it held is given back once', async () => {
  const expired: string[] = []
  const { serving, faults, fronts } = await open({
    isStuck: (pid) => pid === 0,
    kept: (kept) => ({
      ...kept,
      admissions: {
        ...kept.admissions,
        async expire(epochs, at) {
          expired.push(...epochs)
          await kept.admissions.expire(epochs, at)
        },
      },
    }),
  })
  await until(() => serving.stuck() === 1, 'it is noticed')
  expect(faults.map(String)).toEqual(['Error: process 0 has not answered for 0.1 s'])
  await until(() => expired.length > 0, 'what it held is given back')
  await until(() => fronts.length === 2 && serving.stuck() === 0, 'another is there')
  // Each beat of the other has its answer.
  await Bun.sleep(10 * BEAT_MS)
  expect(serving.stuck()).toBe(0)
  expect(expired).toEqual([fronts[0]?.store.owner.epoch])
  expect(faults.map(String).slice(1)).toEqual([
    'Error: process 0 has not answered for 0.3 s: it is ended',
    'Error: a process that served ended with 0; another is started',
  ])
})

/** As a process of the gateway before. */
async function come({ unix }: Crew, owner: Owner, answer: (method: string) => unknown = () => {}) {
  const link = new Link({ answer, closed: () => {} })
  await Bun.connect({ unix, socket: linkSocket(link) })
  return { link, joining: link.call(JOIN, [owner, 0]) }
}

test('who comes from the gateway before while this one drains is drained too', async () => {
  const moved = { node: LOCAL_NODE, epoch: newEpochId(systemClock.now()) }
  const { crew, serving } = await open({ owners: [moved] })
  const ending = Promise.withResolvers<void>()
  let hasDrained = false
  const times = { unreadyMs: 0, drainMs: 0 }
  const drained = serving.drain(times, new Promise(() => {})).then(() => {
    hasDrained = true
  })
  const asked: string[] = []
  const { link, joining } = await come(crew, moved, (method) => {
    asked.push(method)
    return method === 'drain' ? ending.promise : undefined
  })
  crew.welcome()
  await joining
  await until(() => asked.includes('drain'), 'it is asked to')
  expect(asked).toEqual(['finish', 'drain'])
  expect(hasDrained).toBe(false)
  ending.resolve()
  await drained
  link.close()
})

test('who comes from the gateway before waits until this one serves, and what it holds is let alone', async () => {
  const moved = { node: LOCAL_NODE, epoch: newEpochId(systemClock.now()) }
  const expired: string[] = []
  const { crew } = await open({
    owners: [moved],
    kept: (kept) => ({
      ...kept,
      admissions: {
        ...kept.admissions,
        async expire(epochs, at) {
          expired.push(...epochs)
          await kept.admissions.expire(epochs, at)
        },
      },
    }),
  })
  const early = await come(crew, moved)
  early.joining.catch(() => {})
  early.link.close()
  const { link, joining } = await come(crew, moved)
  let hasJoined = false
  void joining.then(() => {
    hasJoined = true
  })
  const other = new Link({ answer: () => undefined, closed: () => {} })
  await Bun.connect({ unix: crew.unix, socket: linkSocket(other) })
  // The end of the first is seen long before the last of these.
  for (let n = 0; n < 20; n++) await other.call('facts', []).catch(() => {})
  expect(hasJoined).toBe(false)
  expect(expired).toEqual([])
  crew.welcome()
  expect(await joining).toMatchObject({ owner: moved })
  link.close()
  other.close()
  await until(async () => expired.includes(moved.epoch), 'what it held is given back')
})

test('lines of the log are read one by one where they are counted', async () => {
  const { serving, lines } = await open({})
  const names = ['one', 'two', 'three']
  const ask = (name: string) =>
    fetch(`${serving.url}/v1/models`, { headers: { 'x-request-id': name } })
  for (const answer of await Promise.all(names.map(ask))) expect(answer.status).toBe(401)
  await until(() => lines.length >= names.length, 'they are logged')
  expect(lines.map(({ request_id }) => request_id).toSorted()).toStrictEqual(names.toSorted())
  expect(lines).toMatchObject(names.map(() => ({ route: 'models', status: 401 })))
})
