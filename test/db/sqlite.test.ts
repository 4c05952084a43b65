// The SQLite engine keeps the store's contract, in memory and on a disk that outlives it.
import { describe } from 'vitest'
import { openStore } from '#db/index.ts'
import { type Instant, instant } from '#domain/clock.ts'
import { newEpochId } from '#domain/id.ts'
import type { GatewayStore } from '#signin/store.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { FULL } from '#test/support/tier.ts'
import { type OpenStore, setBench } from './contract/bench.ts'
import { type JoinStore, nodesContract } from './contract/nodes.ts'
import { storeContract } from './store-contract.ts'

const masterKey = new Uint8Array(32).fill(7)
const directories = new WeakMap<GatewayStore, string>()

const openInMemory: OpenStore = (clock) => openStore({ dataDir: ':memory:', clock, masterKey })

// What a demo has: the same engine without a disk.
if (FULL) storeContract('in memory', { open: openInMemory })

storeContract('in a directory', {
  async open(clock) {
    const dataDir = tempDirectory()
    const store = await openStore({ dataDir, clock, masterKey })
    directories.set(store, dataDir)
    return store
  },
  async reopen(store, clock) {
    const dataDir = directories.get(store) ?? ''
    await store.close()
    const next = await openStore({ dataDir, clock, masterKey })
    directories.set(next, dataDir)
    return next
  },
})

// The part for several nodes has an engine before there is one: two handles that share one store object.
describe('two nodes of one process', () => {
  const open: OpenStore = async (clock) => withLatestClock(await openInMemory(clock))
  const join: JoinStore = async (store, clock) => {
    const owner = { node: 'b', epoch: newEpochId(clock.now()) }
    return { ...store, owner, close: async () => {} }
  }
  nodesContract(setBench(open), join)
})

/** Judges by the clock that is ahead: to this engine, a step back of seconds is a correction of the one clock that a process has. */
function withLatestClock(store: GatewayStore): GatewayStore {
  const { admissions } = store
  let latest = instant(0)
  const latestOf = (at: Instant): Instant => {
    if (at > latest) latest = at
    return latest
  }
  return {
    ...store,
    admissions: {
      ...admissions,
      admit: (claim) => admissions.admit({ ...claim, at: latestOf(claim.at) }),
      judge: (claim) => admissions.judge({ ...claim, at: latestOf(claim.at) }),
      quota: (ids, at) => admissions.quota(ids, latestOf(at)),
      spending: (ids, at) => admissions.spending(ids, latestOf(at)),
      usage: (id, at) => admissions.usage(id, latestOf(at)),
      accountUse: (ids, at) => admissions.accountUse(ids, latestOf(at)),
    },
  }
}
