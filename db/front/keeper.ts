/** The keeper: lends the ports of a store to processes that serve requests, over a Unix socket. */
import { chmodSync, rmSync } from 'node:fs'
import type { Clock, Instant } from '#domain/clock.ts'
import { newEpochId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Owner } from '#domain/owner.ts'
import type { GatewayStore } from '#signin/store.ts'
import { type Found, linkSocket, type Opened, type Shape } from './front.ts'
import { Link, type LinkEnd } from './link.ts'
import { tellCatalogue } from './told-catalogue.ts'

export interface KeeperOptions {
  readonly store: GatewayStore
  readonly clock: Clock
  /** Only whoever may open it may connect: it is made for its user alone. */
  readonly unix: string
  /** Hears of each process that connects. Answers what that process asks beside the ports, by names that no port has. */
  joined(link: Link, owner: Owner): LinkEnd['answer']
  left(owner: Owner): void
}

export interface Keeper {
  close(): void
}

/** Each process has an epoch of its own: what it holds when it dies is released at once. */
export function openKeeper({ store, clock, unix, joined, left }: KeeperOptions): Keeper {
  const { owner: own, catalogue, nodes: _, ...lent } = store
  const shape = shapeOf({ ...lent, catalogue: {} })
  const methods = new Map([...methodsOf(store), ['keys.found', keyTeller(store)]])
  const links = new Set<Link>()
  const open = (): Link => {
    const owner = { node: own.node, epoch: newEpochId(clock.now()) }
    let known = -1
    let answerOther: LinkEnd['answer'] = () => undefined
    const link = new Link({
      answer(method, args) {
        const port = methods.get(method)
        return port === undefined ? answerOther(method, args) : port(...args)
      },
      news() {
        const current = catalogue.current()
        if (current.version === known) return undefined
        known = current.version
        return tellCatalogue(current)
      },
      closed() {
        links.delete(link)
        left(owner)
      },
    })
    links.add(link)
    answerOther = joined(link, owner)
    const opened: Opened = { owner, shape }
    link.tell('opened', [opened])
    return link
  }
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
  return {
    close() {
      listener.stop(true)
      for (const link of links) link.close()
      rmSync(unix, { force: true })
    },
  }
}

/** A key is another object as soon as anything of it has changed. */
function keyTeller({ keys }: GatewayStore): Method {
  const versions = new WeakMap<ApiKey, number>()
  let newest = 0
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
