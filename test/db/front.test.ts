// A store behind a socket keeps the store's contract, and so do two processes that share it.
import { join as joinPath } from 'node:path'
import { describe } from 'vitest'
import { openFront } from '#db/front/front.ts'
import { type Keeper, openKeeper } from '#db/front/keeper.ts'
import { openStore } from '#db/index.ts'
import type { Clock } from '#domain/clock.ts'
import type { GatewayStore } from '#signin/store.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { FULL } from '#test/support/tier.ts'
import { type OpenStore, setBench } from './contract/bench.ts'
import { type JoinStore, nodesContract } from './contract/nodes.ts'
import { storeContract } from './store-contract.ts'

const masterKey = new Uint8Array(32).fill(7)
const places = new WeakMap<GatewayStore, string>()

async function openKept(clock: Clock): Promise<{ readonly unix: string; close(): Promise<void> }> {
  const store = await openStore({ dataDir: ':memory:', clock, masterKey })
  const unix = joinPath(tempDirectory(), 'store.sock')
  const keeper: Keeper = openKeeper({
    store,
    clock,
    unix,
    joined: () => () => undefined,
    left: () => {},
  })
  return {
    unix,
    async close() {
      keeper.close()
      await store.close()
    },
  }
}

async function joinAt(unix: string, close = async () => {}): Promise<GatewayStore> {
  const { store } = await openFront(unix, { answer: () => undefined, lost: () => {} })
  const front = {
    ...store,
    async close() {
      await store.close()
      await close()
    },
  }
  places.set(front, unix)
  return front
}

const open: OpenStore = async (clock) => {
  const { unix, close } = await openKept(clock)
  return await joinAt(unix, close)
}

const join: JoinStore = (store) => joinAt(places.get(store) ?? '')

if (FULL) storeContract('behind a socket', { open, join })
else describe('two processes behind a socket', () => nodesContract(setBench(open), join))
