// What doctor finds in the database that nodes share.
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Address } from '#db/postgres/engine/address.ts'
import { migrate } from '#db/postgres/engine/migrate.ts'
import { openPostgres } from '#db/postgres/store.ts'
import { later, settable, systemClock } from '#domain/clock.ts'
import type { ServerHealth } from '#domain/node.ts'
import { checkServer } from '#operator/doctor/server.ts'
import type { GatewayStore } from '#signin/store.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { anAccount, anAct } from '#test/support/nouns.ts'
import { connect, POSTGRES_BIN } from '#test/support/postgres.ts'
import { FULL } from '#test/support/tier.ts'

vi.setConfig({ testTimeout: 60_000 })

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('finds', () => {
    const cluster = clusterForAll(bin)

    const open = async (address: Address, clock = settable(systemClock)): Promise<GatewayStore> => {
      const store = await openPostgres({ address, clock, node: null })
      onTestFinished(() => store.close())
      return store
    }
    const read = async (store: GatewayStore): Promise<ServerHealth> => {
      if (store.nodes === undefined) throw new Error('no nodes')
      return await store.nodes.server()
    }

    test('nothing in a new database but that it stands alone', async () => {
      const store = await open(await cluster.create())
      expect(await read(store)).toMatchObject({
        ...{ oldest: null, lacking: [], isDurable: true, named: '', attached: 0 },
      })
      const found = await checkServer({ store })
      expect(found.filter(({ level }) => level !== 'ok').map(({ check }) => check)).toEqual([
        'replication',
      ])
    })

    test('a transaction that is open, and how far a clock is off', async () => {
      const address = await cluster.create()
      const machine = { ...systemClock, now: () => later(systemClock.now(), 90_000) }
      const clock = settable(machine)
      const store = await open(address, clock)
      expect(Math.abs(clock.now() - systemClock.now())).toBeLessThan(1_000)
      const client = await connect(address)
      await client.unsafe('BEGIN')
      const { oldest, aheadMs } = await read(store)
      expect(oldest).toMatchObject({ who: 'postgres', pid: expect.any(Number) })
      expect(oldest?.ms).toBeGreaterThanOrEqual(0)
      expect(aheadMs).toBeGreaterThan(89_000)
      expect(aheadMs).toBeLessThan(91_000)
      await client.close({ timeout: 0 })
    })

    test('a right that its role has lost, and none that it never needs', async () => {
      const address = await cluster.createEmpty()
      const { database } = address
      await cluster.run(address, 'CREATE ROLE gateway LOGIN')
      await cluster.run(address, `REVOKE TEMPORARY ON DATABASE ${database} FROM PUBLIC`)
      await migrate(address)
      const store = await open({ ...address, username: 'gateway' })
      expect((await read(store)).lacking).toEqual([])
      expect((await store.audit()).findings).toEqual([])
      await cluster.run(address, 'REVOKE UPDATE ON keys FROM gateway')
      await cluster.run(address, `REVOKE TEMPORARY ON DATABASE ${database} FROM gateway`)
      expect((await read(store)).lacking).toEqual(['UPDATE on keys', 'TEMPORARY on the database'])
    })

    test('a standby that is named, and away', async () => {
      const address = await cluster.create()
      const store = await open(address)
      const set = async (sql: string): Promise<void> => {
        await cluster.run(address, sql)
        await cluster.run(address, 'SELECT pg_reload_conf()')
      }
      await set("ALTER SYSTEM SET synchronous_standby_names = 'b'")
      await vi.waitFor(async () =>
        expect(await read(store)).toMatchObject({ named: 'b', attached: 0 }),
      )
      // It changes nothing that lasts.
      expect((await store.audit()).findings).toEqual([])
      const account = anAccount()
      if (FULL) {
        await expect(store.accounts.create(account, anAct())).rejects.toMatchObject({
          code: 'store_unavailable',
          message: expect.stringContaining('no standby confirms it'),
        })
      }
      await set('ALTER SYSTEM RESET synchronous_standby_names')
      await vi.waitFor(async () => expect(await read(store)).toMatchObject({ named: '' }))
      if (FULL)
        await vi.waitFor(async () => expect(await store.accounts.find(account.id)).toBeDefined())
    })
  })
}
