/** The front: the ports of a store that another process keeps, for a process that serves requests. */
import type { Catalogue } from '#domain/catalogue.ts'
import type { Keys } from '#domain/key.ts'
import type { GatewayStore } from '#signin/store.ts'
import { Lease, type LeaseEnd, type Shape } from './lease.ts'
import type { Found } from './packed.ts'
import { hearCatalogue, type ToldCatalogue } from './told-catalogue.ts'

/** What answers nothing. */
export const NOTES: ReadonlySet<string> = new Set(['activity.note', 'keys.noteUse'])

export interface Front {
  readonly store: GatewayStore
  readonly link: Lease
}

/** `answer` serves what the keeper asks of this process; `lost` hears that the keeper has gone, and no other came. */
export async function openFront(
  unix: string,
  {
    answer,
    lost,
    pid = process.pid,
  }: Pick<LeaseEnd, 'answer' | 'lost'> & { readonly pid?: number },
): Promise<Front> {
  let catalogue: Catalogue | undefined
  const link = new Lease(unix, {
    answer,
    learn(news) {
      catalogue = hearCatalogue(news as ToldCatalogue)
    },
    lost,
    pid,
  })
  const { owner, shape } = await link.open()
  const ports = portsOf(shape, (method, args) =>
    NOTES.has(method) ? link.tell(method, args) : link.call(method, args),
  )
  const store = ports as unknown as GatewayStore
  return {
    store: {
      ...store,
      owner,
      keys: { ...store.keys, findBySecret: keyFinder(link) },
      catalogue: { current: () => catalogue as Catalogue },
      close: async () => link.close(),
    },
    link,
  }
}

const MAX_KNOWN_KEYS = 20_000

/** Asks for every request, so that a revocation holds from the next; a key that has not changed is not sent again. */
function keyFinder(link: Lease): Keys['findBySecret'] {
  const known = new Map<string, Required<Found>>()
  return async (token, at) => {
    const before = known.get(token)
    const found = (await link.call('keys.found', [token, at, before?.[0] ?? 0])) as
      | Found
      | undefined
    if (found === undefined) return undefined
    const [version, key] = found
    if (key === undefined) return before?.[1]
    if (known.size >= MAX_KNOWN_KEYS) known.clear()
    known.set(token, [version, key])
    return key
  }
}

/** Ports of that shape, each of whose methods is `call` with its name: `keys.find`. */
export const portsOf = (
  shape: Shape,
  call: (method: string, args: readonly unknown[]) => unknown,
  path = '',
): object =>
  Object.fromEntries(
    Object.entries(shape).map(([name, inner]) => [
      name,
      inner === null
        ? (...args: readonly unknown[]) => call(path + name, args)
        : portsOf(inner, call, `${path}${name}.`),
    ]),
  )
