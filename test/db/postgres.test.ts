// The PostgreSQL engine keeps the store's contract, and so do two nodes that share a database.
import { describe, test, vi } from 'vitest'
import type { Address } from '#db/postgres/engine/address.ts'
import { openPostgres } from '#db/postgres/store.ts'
import { openVault } from '#db/vault.ts'
import type { Clock } from '#domain/clock.ts'
import type { GatewayStore } from '#signin/store.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { POSTGRES_BIN } from '#test/support/postgres.ts'
import { FULL } from '#test/support/tier.ts'
import { type OpenStore, type ReopenStore, setBench } from './contract/bench.ts'
import { type JoinStore, nodesContract } from './contract/nodes.ts'
import { storeContract } from './store-contract.ts'

// Some cases make tens of thousands of calls, one after the other.
vi.setConfig({ testTimeout: 600_000 })

const vault = openVault(new Uint8Array(32).fill(7))
const addresses = new WeakMap<GatewayStore, Address>()

async function openAt(address: Address, clock: Clock, node: string): Promise<GatewayStore> {
  const store = await openPostgres({ address, clock, node, vault })
  addresses.set(store, address)
  return store
}
const addressOf = (store: GatewayStore): Address => {
  const address = addresses.get(store)
  if (address === undefined) throw new Error('not one of these stores')
  return address
}

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('PostgreSQL', () => {
    const cluster = clusterForAll(bin)

    const open: OpenStore = async (clock) => openAt(await cluster.create(), clock, 'a')
    const reopen: ReopenStore = async (store, clock) => {
      const address = addressOf(store)
      await store.close()
      return await openAt(address, clock, 'a')
    }
    const join: JoinStore = (store, clock) => openAt(addressOf(store), clock, 'b')
    if (FULL) storeContract('in a database', { open, reopen, join, forgetsSteps: false })
    else describe('two nodes', () => nodesContract(setBench(open), join))
  })
}
