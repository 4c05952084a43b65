// The SQLite engine keeps the store's contract, in memory and on a disk that outlives it.
import { openStore } from '#db/index.ts'
import type { GatewayStore } from '#signin/store.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { FULL } from '#test/support/tier.ts'
import { storeContract } from './store-contract.ts'

const masterKey = new Uint8Array(32).fill(7)
const directories = new WeakMap<GatewayStore, string>()

// What a demo has: the same engine without a disk.
if (FULL)
  storeContract('in memory', (clock) => openStore({ dataDir: ':memory:', clock, masterKey }))

storeContract(
  'in a directory',
  async (clock) => {
    const dataDir = tempDirectory()
    const store = await openStore({ dataDir, clock, masterKey })
    directories.set(store, dataDir)
    return store
  },
  async (store, clock) => {
    const dataDir = directories.get(store) ?? ''
    await store.close()
    const next = await openStore({ dataDir, clock, masterKey })
    directories.set(next, dataDir)
    return next
  },
)
