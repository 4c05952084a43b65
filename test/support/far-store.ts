/**
 * The store as an engine over a network answers, for runs of the whole HTTP suite: `GATEWAYCTL_STORE=late` answers every call 5 ms
 * later, `GATEWAYCTL_STORE=far` from another process, over a Unix socket. Outside the tiers.
 */
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { NOTES, portsOf } from '#db/front/front.ts'
import { methodsOf, shapeOf } from '#db/front/keeper.ts'
import type { Shape } from '#db/front/lease.ts'
import { openStore } from '#db/index.ts'
import type { Catalogue } from '#domain/catalogue.ts'
import type { Clock } from '#domain/clock.ts'
import { type ErrorCode, GatewayError } from '#domain/errors.ts'
import type { Owner } from '#domain/owner.ts'
import type { GatewayStore } from '#signin/store.ts'

/** One call of a port: `keys.find`. */
export interface FarCall {
  readonly store: number
  readonly method: string
  readonly args: readonly unknown[]
  readonly at: number
  /** The version of the catalogue that the caller has. */
  readonly seen: number
}

export interface FarAnswer {
  readonly value?: unknown
  readonly thrown?: { readonly code: ErrorCode; readonly message: string; readonly details: object }
  /** Where it is another than the caller's. */
  readonly catalogue?: Catalogue
}

/** What a new store is known by. */
export interface OpenedStore {
  readonly store: number
  readonly owner: Owner
  readonly shape: Shape
}

type Call = (method: string, args: readonly unknown[]) => Promise<unknown>

const LATE_MS = 5

export async function openTestStore(clock: Clock): Promise<GatewayStore> {
  switch (process.env['GATEWAYCTL_STORE']) {
    case 'late':
      return toLate(await openStore({ dataDir: ':memory:', clock }))
    case 'far':
      return await openFar(clock)
    default:
      return await openStore({ dataDir: ':memory:', clock })
  }
}

function toLate(store: GatewayStore): GatewayStore {
  const methods = methodsOf(store)
  const call: Call = async (method, args) => {
    await Bun.sleep(LATE_MS)
    return await methods.get(method)?.(...args)
  }
  const { owner, ...ports } = store
  return storeOf(owner, () => store.catalogue.current(), shapeOf(ports), call)
}

function storeOf(owner: Owner, catalogue: () => Catalogue, shape: Shape, call: Call): GatewayStore {
  let noted: Promise<unknown> = Promise.resolve()
  // A later call sees what notes have left.
  const ports = portsOf({ ...shape, catalogue: {} }, (method, args) => {
    if (!NOTES.has(method)) return noted.then(() => call(method, args))
    noted = noted.then(() => call(method, args)).catch(() => {})
    return undefined
  })
  return { ...ports, owner, catalogue: { current: catalogue } } as GatewayStore
}

let server: Promise<string> | undefined

/** One process for all stores of a test process, with which it ends. */
function startServer(): Promise<string> {
  const socket = join(tmpdir(), `gatewayctl-store-${process.pid}.sock`)
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'children/far-store.ts'), socket],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  child.unref()
  return new Promise((resolve, reject) => {
    child.stdout.once('data', () => {
      child.stdout.destroy()
      resolve(socket)
    })
    child.once('exit', (status) => reject(new Error(`the store's process ended: ${status}`)))
  })
}

async function openFar(clock: Clock): Promise<GatewayStore> {
  server ??= startServer()
  const unix = await server
  const ask = async (body: FarCall): Promise<FarAnswer> => {
    const answer = await fetch('http://store', { method: 'POST', body: serialize(body), unix })
    return deserialize(Buffer.from(await answer.arrayBuffer())) as FarAnswer
  }
  const opened = await ask({ store: -1, method: '', args: [], at: clock.now(), seen: 0 })
  const { store, owner, shape } = opened.value as OpenedStore
  let catalogue = opened.catalogue as Catalogue
  const call: Call = async (method, args) => {
    const seen = catalogue.version
    const answer = await ask({ store, method, args, at: clock.now(), seen })
    if (answer.catalogue && answer.catalogue.version > catalogue.version) {
      catalogue = answer.catalogue
    }
    const { thrown } = answer
    if (thrown) throw new GatewayError(thrown.code, thrown.message, thrown.details)
    return answer.value
  }
  return storeOf(owner, () => catalogue, shape, call)
}
