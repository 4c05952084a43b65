// Nodes of one database: what a node held that died is free for the others, and a node that was ended goes on in another epoch.
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Address } from '#db/postgres/engine/address.ts'
import { openPostgres } from '#db/postgres/store.ts'
import type { Claim } from '#domain/admission.ts'
import { systemClock } from '#domain/clock.ts'
import type { GenerationId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { labelOf, newSecret } from '#domain/secret.ts'
import type { GatewayStore } from '#signin/store.ts'
import { until } from '#test/support/appliance.ts'
import { startChild } from '#test/support/child.ts'
import { aClaim, aKey, anAccount, anAct, anActivity, aTopUp, usd } from '#test/support/nouns.ts'
import { type Cluster, POSTGRES_BIN, startPostgres } from '#test/support/postgres.ts'

vi.setConfig({ testTimeout: 300_000 })

const NODE = join(import.meta.dirname, 'children/postgres-node.ts')

async function openNode(address: Address, node: string): Promise<GatewayStore> {
  const store = await openPostgres({ address, clock: systemClock, node })
  onTestFinished(() => store.close())
  return store
}

async function issue(store: GatewayStore, concurrency = 1): Promise<ApiKey> {
  await store.accounts.create(anAccount(), anAct())
  await store.ledger.credit(aTopUp(systemClock.now(), usd('100')), anAct())
  const secret = newSecret()
  const key = aKey(systemClock.now(), { concurrency }, { label: labelOf(secret) })
  await store.keys.issue(key, secret, anAct())
  return key
}

const claimAt = (store: GatewayStore, key: ApiKey) => ({
  ...aClaim(key, systemClock.now()),
  owner: store.owner,
})

const settle = (store: GatewayStore, claim: Claim): Promise<boolean> =>
  store.admissions.settle(claim.generationId, {
    at: systemClock.now(),
    charge: null,
    activity: anActivity(claim),
    answer: null,
  })

async function admits(store: GatewayStore, key: ApiKey): Promise<boolean> {
  const verdict = await store.admissions.admit(claimAt(store, key))
  return verdict !== 'stale' && verdict.admitted
}

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('nodes', () => {
    let cluster: Cluster
    beforeAll(async () => {
      cluster = await startPostgres(bin)
    })
    afterAll(() => cluster.stop())

    test('the place of a node that was killed is free again, and its request is in the log', async () => {
      const address = await cluster.create()
      const store = await openNode(address, 'a')
      const key = await issue(store)
      const child = startChild(NODE, address.hosts[0]?.path ?? '', address.database, key.id)
      await child.says('admitted')
      expect(await admits(store, key)).toBe(false)
      await child.kill()
      await until(() => admits(store, key), 'the place is free', 120_000)
      const id = child.printed.split(' ')[1]?.trim() as GenerationId
      expect(await store.activity.find(id)).toMatchObject({ endedBy: 'gateway', cost: 0n })
    })

    test('a node that was ended takes another epoch with its next claim; what it held is void', async () => {
      const address = await cluster.create()
      const [one, other] = [await openNode(address, 'a'), await openNode(address, 'b')]
      const key = await issue(one)
      const { epoch } = other.owner
      const claim = claimAt(other, key)
      expect(await other.admissions.admit(claim)).toMatchObject({ admitted: true })
      await one.admissions.expire([epoch], systemClock.now())
      expect(
        await other.admissions.admit({ ...claimAt(other, key), owner: { node: 'b', epoch } }),
      ).toBe('stale')
      expect(other.owner.epoch).not.toBe(epoch)
      expect(await admits(other, key)).toBe(true)
      const activity = anActivity(claim)
      const settlement = { at: systemClock.now(), charge: null, activity, answer: null }
      expect(await other.admissions.settle(claim.generationId, settlement)).toBe(false)
      expect((await one.audit()).findings).toEqual([])
    })

    test('a database that is away for a moment delays claims and settlements, and loses none; beyond it claims are refused', async () => {
      // Of its own, because it crashes.
      const server = await startPostgres(bin)
      onTestFinished(server.stop)
      const address = await server.create()
      const gone = { path: '/nowhere/.s.PGSQL.5432' }
      const store = await openNode({ ...address, hosts: [gone, ...address.hosts] }, 'a')
      const key = await issue(store, 2)
      const held = claimAt(store, key)
      expect(await store.admissions.admit(held)).toMatchObject({ admitted: true })
      await server.crash()
      const settled = settle(store, held)
      const waiting = admits(store, key)
      const isPending = await Promise.race([waiting, Promise.resolve('pending')])
      server.start()
      expect([isPending, await waiting, await settled]).toEqual(['pending', true, true])
      expect(await settle(store, held)).toBe(false)

      await server.crash()
      const kept = settle(store, claimAt(store, key))
      await expect(admits(store, key)).rejects.toMatchObject({ code: 'store_unavailable' })
      server.start()
      expect(await kept).toBe(false)
      expect((await store.audit()).findings).toEqual([])
    })

    test('a claim that nobody knows the outcome of is refused, and leaves nothing behind', async () => {
      const address = await cluster.create()
      const store = await openNode(address, 'a')
      const key = await issue(store)
      // Longer than a call may take: it is admitted when nobody waits for it any more.
      const locked = cluster.run(
        address,
        'BEGIN; UPDATE account_state SET pos = pos; SELECT pg_sleep(4); COMMIT',
      )
      const isLocked = async (): Promise<boolean> =>
        (await cluster.ask(address, 'SELECT 1 FROM account_state FOR UPDATE SKIP LOCKED'))
          .length === 0
      await until(isLocked, 'the account is locked')
      await expect(admits(store, key)).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringContaining('in the middle'),
      })
      await locked
      await until(() => admits(store, key), 'the place is free', 5_000)
      expect((await store.health({ checkIntegrity: false })).openHolds).toBe(1)
      expect((await store.audit()).findings).toEqual([])
    })

    test('a change of the catalogue is known to another node with the next key that it looks up', async () => {
      const address = await cluster.create()
      const [one, other] = [await openNode(address, 'a'), await openNode(address, 'b')]
      await issue(one)
      const secret = newSecret()
      const key = aKey(systemClock.now(), {}, { label: labelOf(secret) })
      await one.keys.issue(key, secret, anAct())
      await one.rates.set(91_000_000n as never, systemClock.now(), anAct(systemClock.now()))
      expect(other.catalogue.current().rates).toEqual([])
      await other.keys.findBySecret(secret, systemClock.now())
      expect(other.catalogue.current().rates).toMatchObject([{ rubPerUsd: 91_000_000n }])
    })
  })
}
