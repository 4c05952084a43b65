// A store behind a socket keeps the store's contract, and so do two processes that share it.
import { Database } from 'bun:sqlite'
import { join as joinPath } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { DATABASE_FILE } from '#db/file-name.ts'
import { openFront } from '#db/front/front.ts'
import { type Keeper, openKeeper } from '#db/front/keeper.ts'
import { openStore } from '#db/index.ts'
import type { Clock } from '#domain/clock.ts'
import type { GatewayStore } from '#signin/store.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { aCard, anAct, aProvider } from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { FULL } from '#test/support/tier.ts'
import { type OpenStore, setBench } from './contract/bench.ts'
import { type JoinStore, nodesContract } from './contract/nodes.ts'
import { storeContract } from './store-contract.ts'

const masterKey = new Uint8Array(32).fill(7)
const places = new WeakMap<GatewayStore, string>()

async function openKept(
  clock: Clock,
  dataDir = ':memory:',
): Promise<{ readonly unix: string; close(): Promise<void> }> {
  const store = await openStore({ dataDir, clock, masterKey })
  const unix = joinPath(tempDirectory(), 'store.sock')
  const keeper: Keeper = openKeeper({
    clock,
    unix,
    joined: () => () => undefined,
    left: () => {},
  })
  keeper.lend(store)
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

test('a damaged price is the error of its model alone, for who asks behind a socket too', async () => {
  const dataDir = tempDirectory()
  const clock = handClock('2026-08-22T12:00:00Z')
  const store = await openStore({ dataDir, clock })
  const [sound, damaged] = [aCard(), aCard({ id: 'acme/x', upstreamName: 'x' })]
  await store.providers.add(aProvider(), [], [sound, damaged], anAct())
  await store.close()
  const database = new Database(joinPath(dataDir, DATABASE_FILE))
  database.run("UPDATE price_versions SET prices = '{}' WHERE model_id = 'acme/x'")
  database.close(true)

  const { unix, close } = await openKept(clock, dataDir)
  onTestFinished(close)
  const front = await joinAt(unix)
  onTestFinished(() => front.close())
  await front.accounts.list()
  const pricesOf = (id: string) => front.catalogue.current().models.get(id)?.prices[0]?.prices
  expect(pricesOf(sound.id)).toEqual(sound.prices[0]?.prices)
  expect(() => pricesOf(damaged.id)).toThrow()
})
