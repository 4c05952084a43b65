/** Stores in memory behind a Unix socket, for `far-store.ts`; ends with its standard input. */
import { rmSync } from 'node:fs'
import { deserialize, serialize } from 'node:v8'
import { methodsOf, shapeOf } from '#db/front/keeper.ts'
import { openStore } from '#db/index.ts'
import type { Instant } from '#domain/clock.ts'
import { toGatewayError } from '#domain/errors.ts'
import type { GatewayStore } from '#signin/store.ts'
import type { FarAnswer, FarCall, OpenedStore } from '../far-store.ts'

const [unix = ''] = process.argv.slice(2)
const stores: { readonly store: GatewayStore; at: number }[] = []

async function open(at: number): Promise<number> {
  const id = stores.length
  const now = () => (stores[id]?.at ?? at) as Instant
  const store = await openStore({ dataDir: ':memory:', clock: { now, monotonicMs: now } })
  stores[id] = { store, at }
  return id
}

async function answer({ store: id, method, args, at, seen }: FarCall): Promise<FarAnswer> {
  if (id < 0) {
    const store = await open(at)
    const opened = stores[store]
    if (opened === undefined) throw new Error('it was not opened')
    const { owner, ...ports } = opened.store
    const value: OpenedStore = { store, owner, shape: shapeOf(ports) }
    return { value, catalogue: ports.catalogue.current() }
  }
  const opened = stores[id]
  if (opened === undefined) throw new Error('there is no such store')
  opened.at = at
  const found = await Promise.resolve()
    .then(() => methodsOf(opened.store).get(method)?.(...args))
    .then(
      (value) => ({ value }),
      (cause) => {
        const { code, message, details } = toGatewayError(cause)
        return { thrown: { code, message, details: { ...details, cause: undefined } } }
      },
    )
  const catalogue = opened.store.catalogue.current()
  return catalogue.version === seen ? found : { ...found, catalogue }
}

Bun.serve({
  unix,
  fetch: async (request) => {
    const call = deserialize(Buffer.from(await request.arrayBuffer())) as FarCall
    return new Response(serialize(await answer(call)))
  },
})
process.stdout.write('open\n')
process.stdin.resume()
process.stdin.on('end', () => {
  rmSync(unix, { force: true })
  process.kill(process.pid)
})
