/** The keeper: lends the ports of a store to processes that serve requests, over a Unix socket. */
import { chmodSync, rmSync } from 'node:fs'
import type { Clock, Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { type EpochId, newEpochId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Owner } from '#domain/owner.ts'
import type { GatewayStore } from '#signin/store.ts'
import { HEARD, JOIN, LEAVE, type Opened, type Shape } from './lease.ts'
import { Link, type LinkEnd, linkSocket } from './link.ts'
import type { Found } from './packed.ts'
import { tellCatalogue } from './told-catalogue.ts'

export interface KeeperOptions {
  readonly clock: Clock
  /** Only whoever may open it may connect: it is made for its user alone. */
  readonly unix: string
  /** Hears of each process that joins. Answers what that process asks beside the ports, by names that no port has. */
  joined(link: Link, owner: Owner, pid: number): LinkEnd['answer']
  /** Its connection has ended; `isMoving`: to another keeper, with all that it holds. */
  left(owner: Owner, isMoving: boolean): void
  /** Answers what is asked by one that has not joined. */
  asked?(link: Link, method: string, args: readonly unknown[]): unknown
  gone?(link: Link): void
}

export interface Keeper {
  /** Lets in those that wait, and whoever comes. */
  lend(store: GatewayStore): void
  /** And, as themselves, those that were with another keeper, if they come soon. Until then they may go back to it. */
  welcome(moved: readonly Owner[]): void
  /** Of those that have not joined, who asks goes on asking. */
  close(): void
}

/** One that has left the keeper before comes within milliseconds, unless it has died. */
const COME_MS = 5_000

/** A store that is lent. */
interface Lent {
  readonly store: GatewayStore
  readonly shape: Shape
  readonly methods: ReadonlyMap<string, Method>
}

/** Each process has an epoch of its own: what it holds when it dies is released at once. */
export function openKeeper({
  clock,
  unix,
  joined,
  left,
  asked = () => undefined,
  gone = () => {},
}: KeeperOptions): Keeper {
  const lending = Promise.withResolvers<Lent>()
  const coming = Promise.withResolvers<Map<EpochId, Owner>>()
  /** Of those that have joined. */
  const links = new Set<Link>()
  let isOver = false
  const open = (): Link => {
    let lent: Lent | null = null
    let owner: Owner | null = null
    let isMoving = false
    let isClosed = false
    let known = -1
    let answerOther: LinkEnd['answer'] = (method, args) => asked(link, method, args)
    const join = async (before: Owner | null, pid: number): Promise<Opened | null> => {
      const lends = await lending.promise
      const moved = before && (await coming.promise)
      if (isOver) throw changesHands()
      if (isClosed) return null
      if (before !== null && !moved?.delete(before.epoch)) return null
      lent = lends
      owner = before ?? { node: lent.store.owner.node, epoch: newEpochId(clock.now()) }
      links.add(link)
      answerOther = joined(link, owner, pid)
      return { owner, shape: lent.shape }
    }
    const link: Link = new Link({
      answer(method, args) {
        if (method === JOIN) return join(...(args as [Owner | null, number]))
        if (method === HEARD) return null
        if (method === LEAVE) {
          isMoving = true
          // Who has left asks here too: it is not to be told that it is unknown while others are still leaving.
          listener.stop()
          return null
        }
        const port = lent?.methods.get(method)
        return port === undefined ? answerOther(method, args) : port(...args)
      },
      news() {
        if (lent === null) return undefined
        const current = lent.store.catalogue.current()
        if (current.version === known) return undefined
        known = current.version
        return tellCatalogue(current)
      },
      closed() {
        isClosed = true
        links.delete(link)
        if (owner === null) gone(link)
        else left(owner, isMoving)
      },
    })
    return link
  }
  const listener = listenFor(unix, open)
  let late: ReturnType<typeof setTimeout> | null = null
  return {
    lend(store) {
      const { owner: _, catalogue: __, nodes: ___, ...ports } = store
      lending.resolve({
        store,
        shape: shapeOf({ ...ports, catalogue: {} }),
        methods: new Map([...methodsOf(store), ['keys.found', keyTeller(store)]]),
      })
    },
    welcome(owners) {
      const moved = new Map(owners.map((owner) => [owner.epoch, owner]))
      coming.resolve(moved)
      if (moved.size === 0) return
      late = setTimeout(() => {
        for (const owner of moved.values()) left(owner, false)
        moved.clear()
      }, COME_MS)
    },
    close() {
      isOver = true
      if (late !== null) clearTimeout(late)
      listener.stop()
      for (const link of links) link.close()
      rmSync(unix, { force: true })
    },
  }
}

/** Of its user alone. */
function listenFor(unix: string, open: () => Link): { stop(): void } {
  rmSync(unix, { force: true })
  const umask = process.umask(0o077)
  const listener = Bun.listen<Link>({
    unix,
    socket: {
      open(socket) {
        socket.data = open()
        linkSocket(socket.data).open(socket as Bun.Socket<unknown>)
      },
      data: (socket, bytes) => socket.data.take(bytes),
      drain: (socket) => socket.data.drained(),
      close: (socket) => socket.data.closed(),
    },
  })
  process.umask(umask)
  chmodSync(unix, 0o600)
  return listener
}

/** Who comes then finds the next keeper. */
const changesHands = (): GatewayError =>
  new GatewayError('store_unavailable', 'the store changes hands: another process keeps it')

/** A key is another object as soon as anything of it has changed. */
function keyTeller({ keys }: GatewayStore): Method {
  const versions = new WeakMap<ApiKey, number>()
  // Those of another keeper are others, which a process may still know.
  let newest = (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) * 2 ** 20
  return async (token, at, known): Promise<Found | undefined> => {
    const key = await keys.findBySecret(token as string, at as Instant)
    if (key === undefined) return undefined
    let version = versions.get(key)
    if (version === undefined) {
      version = ++newest
      versions.set(key, version)
    }
    return version === known ? [version] : [version, key]
  }
}

/** Of ports that are records of functions. */
export const shapeOf = (ports: object): Shape =>
  Object.fromEntries(
    Object.entries(ports).map(([name, part]) => [
      name,
      typeof part === 'function' ? null : shapeOf(part as object),
    ]),
  )

type Method = (...args: readonly unknown[]) => unknown

/** By `port.method`. A port that is loaded when it is first used has other methods from then on, so it is asked for them at each call. */
export function methodsOf(ports: object, path = ''): ReadonlyMap<string, Method> {
  const found = new Map<string, Method>()
  for (const [name, part] of Object.entries(ports)) {
    if (typeof part === 'function') {
      found.set(path + name, (...args) => Reflect.apply(Reflect.get(ports, name), ports, args))
    } else if (typeof part === 'object' && part !== null) {
      for (const [inner, method] of methodsOf(part, `${path}${name}.`)) found.set(inner, method)
    }
  }
  return found
}
