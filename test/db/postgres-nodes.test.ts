// Nodes of one database: what a node held that died is free for the others, and a node that was ended goes on in another epoch.
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Address } from '#db/postgres/engine/address.ts'
import { join as joinNodes, startLife } from '#db/postgres/engine/node-life.ts'
import { NEWEST_VERSION } from '#db/postgres/engine/versions.ts'
import { endNode, listNodes } from '#db/postgres/operate.ts'
import { type Day, systemClock } from '#domain/clock.ts'
import { type GenerationId, newEpochId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { labelOf, newSecret } from '#domain/secret.ts'
import type { GatewayStore } from '#signin/store.ts'
import { until } from '#test/support/appliance.ts'
import { startChild } from '#test/support/child.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { beginAnswer, findAnswer } from '#test/support/keep-answer.ts'
import { claimAt, issue, openNode, openTables, settle } from '#test/support/nodes.ts'
import { aKey, anAct, usd } from '#test/support/nouns.ts'
import { connect, POSTGRES_BIN, startPostgres } from '#test/support/postgres.ts'
import { FULL } from '#test/support/tier.ts'

vi.setConfig({ testTimeout: 300_000 })

const NODE = join(import.meta.dirname, 'children/postgres-node.ts')

const beatOf = async (address: Address, node: string): Promise<string> =>
  (await listNodes(address, systemClock)).find(({ name }) => name === node)?.beat_at ?? ''
/** Three beats on. */
const later3 = (beat: string): string => new Date(Date.parse(beat) + 2_500).toISOString()

async function admits(store: GatewayStore, key: ApiKey): Promise<boolean> {
  const verdict = await store.admissions.admit(claimAt(store, key))
  return verdict !== 'stale' && verdict.admitted
}

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('nodes', () => {
    const cluster = clusterForAll(bin)

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
      expect(await store.activity.find(id)).toMatchObject({
        endedBy: 'gateway',
        cost: 0n,
        node: 'b',
      })
    })

    /** As if it had not beaten for so long. */
    const fallSilent = (address: Address, node: string) =>
      cluster.run(
        address,
        `UPDATE nodes SET beat_at = clock_timestamp() - interval '1 hour' WHERE name = '${node}'`,
      )
    /** Beats all the while: nothing but the database's clock is asked. */
    const hasBeaten = (address: Address, node: string) =>
      cluster.run(
        address,
        `UPDATE nodes SET beating_since = clock_timestamp() - interval '1 hour' WHERE name = '${node}'`,
      )
    const isEnded = async (address: Address, node: string) =>
      (await listNodes(address, systemClock)).some(
        ({ name, state }) => name === node && state === 'ended',
      )

    test.each(FULL ? ['silent', 'ended by hand'] : ['silent'])(
      'what a node settles that was %s is charged late and once, and its place was free meanwhile',
      async (how) => {
        const address = await cluster.create()
        const [one, other] = [await openNode(address, 'a'), await openNode(address, 'b')]
        const key = await issue(one, { concurrency: 1, dailySpend: usd('1') })
        const { epoch } = other.owner
        const claim = { ...claimAt(other, key, '0.6'), endUser: 'ann' }
        expect(await other.admissions.admit(claim)).toMatchObject({ admitted: true })
        if (how === 'silent') {
          await hasBeaten(address, 'a')
          await until(async () => {
            // It lives, and its next beat would be heard.
            await fallSilent(address, 'b')
            return other.owner.epoch !== epoch
          }, 'the others have ended it')
        } else {
          await endNode(address, systemClock, 'b', 'ann')
          await until(() => other.owner.epoch !== epoch, 'it goes on in another epoch')
        }
        // Its money stays held only where nobody has said that it is gone.
        expect(await one.admissions.usage(key.id, systemClock.now())).toMatchObject({
          requestsInProgress: 0,
          reserved: how === 'silent' ? usd('0.6') : 0n,
          spendDay: 0n,
        })
        expect(await one.activity.find(claim.generationId)).toMatchObject({ endedBy: 'gateway' })
        expect(await one.audit()).toMatchObject({ openHolds: 0, findings: [] })
        const mine = { ...claimAt(one, key, '0.3'), endUser: 'ann' }
        expect(await one.admissions.admit(mine)).toMatchObject({ admitted: true })
        const told = await Promise.all([settle(other, claim, '0.5'), settle(other, claim, '0.5')])
        expect(told.filter((isFirst) => isFirst)).toHaveLength(1)
        expect(await settle(one, claim, '0.5')).toBe(false)
        expect(await settle(one, mine, '0.3')).toBe(true)
        expect(await one.activity.find(claim.generationId)).toMatchObject({ cost: usd('0.5') })
        expect((await one.accounts.find(key.accountId))?.balance).toBe(usd('99.2'))
        expect(await one.admissions.usage(key.id, systemClock.now())).toMatchObject({
          requestsInProgress: 0,
          reserved: 0n,
          spendDay: usd('0.8'),
        })
        const requests = await one.admissions.spendByDay(0 as Day)
        expect(requests).toMatchObject([{ spent: usd('0.8'), requests: 2 }])
        expect((await one.audit()).findings).toEqual([])
      },
    )

    const ENDINGS = ['when another process becomes it', 'a day later', 'by hand', 'when it stops']
    test.each(FULL ? ENDINGS : ENDINGS.slice(0, 2))(
      'the money that a node held that fell silent is free: %s',
      async (how) => {
        const address = await cluster.create()
        const [one, other] = [await openNode(address, 'a'), await openNode(address, 'b')]
        const key = await issue(one)
        const claim = claimAt(other, key, '0.6')
        expect(await other.admissions.admit(claim)).toMatchObject({ admitted: true })
        const { epoch } = other.owner
        await hasBeaten(address, 'a')
        await until(async () => {
          await fallSilent(address, 'b')
          return other.owner.epoch !== epoch
        }, 'it is ended')
        const reserved = async () =>
          (await one.admissions.usage(key.id, systemClock.now())).reserved
        expect(await reserved()).toBe(usd('0.6'))
        if (how === 'by hand') await endNode(address, systemClock, 'b', 'ann')
        else if (how === 'a day later')
          await cluster.run(address, 'UPDATE holds SET ended_at = ended_at - 86400001')
        else if (how === 'when it stops') await other.close()
        else {
          await cluster.run(address, "UPDATE nodes SET epoch = 'gone' WHERE name = 'b'")
          await fallSilent(address, 'b')
          await openNode(address, 'b')
        }
        await until(async () => (await reserved()) === 0n, 'it is released')
        expect((await one.audit()).findings).toEqual([])
        // For good, but where it may only have been cut off.
        const isCutOff = how === 'by hand' || how === 'when another process becomes it'
        expect(await settle(one, claim, '0.5')).toBe(isCutOff)
        expect((await one.audit()).findings).toEqual([])
      },
    )

    // The smaller tier has outages in the simulation (test/scripts/simulate.test.ts).
    test.runIf(FULL)(
      'after an outage of the database no node ends the others that come back with it',
      async () => {
        const address = await cluster.create()
        const [one, other] = [await openNode(address, 'a'), await openNode(address, 'b')]
        const { epoch } = other.owner
        await hasBeaten(address, 'a')
        await fallSilent(address, 'a')
        const beats = async () =>
          (await listNodes(address, systemClock)).find(({ name }) => name === 'a')?.state ===
          'alive'
        await until(beats, 'it beats again')
        // One that is not back yet: no process beats for it.
        await cluster.run(
          address,
          `INSERT INTO nodes (name, epoch, version, beat_at) VALUES ('c', 'c1', '0', clock_timestamp() - interval '11 seconds')`,
        )
        const before = await beatOf(address, 'a')
        await until(
          async () => (await beatOf(address, 'a')) > later3(before),
          'it has beaten thrice',
        )
        expect(await isEnded(address, 'c')).toBe(false)
        await hasBeaten(address, 'a')
        await until(() => isEnded(address, 'c'), 'it is ended by one that has beaten all the while')
        expect(other.owner.epoch).toBe(epoch)
        expect(one.owner.node).toBe('a')
      },
    )

    test('a node starts again beside a beat of the process that was killed, which is written late', async () => {
      const address = await cluster.create()
      await cluster.run(
        address,
        `INSERT INTO nodes (name, epoch, version, schema) VALUES ('a', 'epoch_1', '0', ${NEWEST_VERSION})`,
      )
      const [holder, killed] = [await connect(address), await connect(address)]
      onTestFinished(() => void holder.close({ timeout: 0 }))
      onTestFinished(() => void killed.close({ timeout: 0 }))
      await holder.unsafe("BEGIN; SELECT FROM nodes WHERE name = 'a' FOR UPDATE").simple()
      const beat = killed.unsafe("UPDATE nodes SET beat_at = clock_timestamp() WHERE name = 'a'")
      const beaten = beat.simple()
      const starting = openNode(address, 'a')
      await until(
        async () =>
          (
            await cluster.run(
              address,
              "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle' AND query LIKE 'SELECT epoch, beat_at::text FROM nodes%'",
            )
          ).length > 0,
        'it has looked',
      )
      await holder.unsafe('COMMIT')
      await beaten
      const store = await starting
      expect(await admits(store, await issue(store))).toBe(true)
    })

    test('a node that was ended takes another epoch with its next claim', async () => {
      const address = await cluster.create()
      const [one, other] = [await openNode(address, 'a'), await openNode(address, 'b')]
      const key = await issue(one)
      const { epoch } = other.owner
      expect(await other.admissions.admit(claimAt(other, key))).toMatchObject({ admitted: true })
      await endNode(address, systemClock, 'b', 'ann')
      expect(
        await other.admissions.admit({ ...claimAt(other, key), owner: { node: 'b', epoch } }),
      ).toBe('stale')
      expect(other.owner.epoch).not.toBe(epoch)
      expect(await admits(other, key)).toBe(true)
      expect((await one.audit()).findings).toEqual([])
    })

    test('nor do the processes of a node that was ended take a place before it has another epoch', async () => {
      const address = await cluster.create()
      const [one, other] = [await openNode(address, 'a'), await openNode(address, 'b')]
      const key = await issue(one)
      const ofProcess = { node: 'b', epoch: newEpochId(systemClock.now()) }
      const claimed = () => other.admissions.admit({ ...claimAt(other, key), owner: ofProcess })
      await endNode(address, systemClock, 'b', 'ann')
      expect(await claimed()).toBe('stale')
      expect(await claimed()).toMatchObject({ admitted: true })
      // It is ended with the node.
      await endNode(address, systemClock, 'b', 'ann')
      expect(await admits(one, key)).toBe(true)
      expect((await one.audit()).findings).toEqual([])
    })

    test('a node whose next epoch was written, but not heard of, goes on in that', async () => {
      const address = await cluster.create()
      const [one, other] = [await openNode(address, 'a'), await openNode(address, 'b')]
      const key = await issue(one)
      // The first commit of a new epoch takes longer than a call may.
      await cluster.run(
        address,
        `CREATE SEQUENCE lingered;
         CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN IF nextval(''lingered'') = 1 THEN PERFORM pg_sleep(4); END IF; RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER lingers AFTER UPDATE ON nodes DEFERRABLE INITIALLY DEFERRED
           FOR EACH ROW WHEN (OLD.epoch <> NEW.epoch) EXECUTE FUNCTION linger()`,
      )
      await endNode(address, systemClock, 'b', 'ann')
      await until(() => admits(other, key).catch(() => false), 'it is a node again', 20_000)
      expect((await one.audit()).findings).toEqual([])
    })

    // Waits for what is in the way as long as a node that stops does.
    test.runIf(FULL)(
      'what a node holds whose leaving failed is ended once it is silent',
      async () => {
        const address = await cluster.create()
        const [one, other] = [await openNode(address, 'a'), await openNode(address, 'b')]
        const key = await issue(one)
        expect(await admits(other, key)).toBe(true)
        const go = Promise.withResolvers<void>()
        const locked = Promise.withResolvers<void>()
        const inTheWay = openTables(address).transact(async (tx) => {
          await tx.run('SET LOCAL idle_in_transaction_session_timeout = 0')
          await tx.run('SELECT pg_advisory_xact_lock(7001)')
          locked.resolve()
          await go.promise
        }, Number.POSITIVE_INFINITY)
        await locked.promise
        await other.close()
        go.resolve()
        await inTheWay
        await hasBeaten(address, 'a')
        await fallSilent(address, 'b')
        await until(() => admits(one, key), 'its place is free', 20_000)
      },
    )

    test('a node beats while others have all connections but those of its lanes', async () => {
      const address = await cluster.create()
      const database = openTables(address)
      await joinNodes(database, '0')
      const acts = [async () => void (await database.get('SELECT 1'))]
      const life = startLife(database, acts)
      onTestFinished(life.leave)
      const go = Promise.withResolvers<void>()
      const reports = Array.from({ length: 6 }, () => database.session(() => go.promise))
      const before = await beatOf(address, database.owner.node)
      const beats = async () => (await beatOf(address, database.owner.node)) > later3(before)
      await until(beats, 'it has beaten thrice', 30_000)
      go.resolve()
      await Promise.all(reports)
    })

    test('a database that is away for a moment delays claims and settlements, and loses none; beyond it claims are refused', async () => {
      // Of its own, because it crashes.
      const server = await startPostgres(bin)
      onTestFinished(server.stop)
      const address = await server.create()
      const gone = { path: '/nowhere/.s.PGSQL.5432' }
      const store = await openNode({ ...address, hosts: [gone, ...address.hosts] }, 'a')
      const key = await issue(store, { concurrency: 3 })
      const held = claimAt(store, key)
      expect(await store.admissions.admit(held)).toMatchObject({ admitted: true })
      const repeated = await beginAnswer(store, key, systemClock.now())
      await server.crash()
      const stagedBefore = repeated.stage()
      const settled = settle(store, held)
      const waiting = admits(store, key)
      const isPending = await Promise.race([waiting, Promise.resolve('pending')])
      server.start()
      expect([isPending, await waiting, await settled]).toEqual(['pending', true, true])
      expect(await settle(store, held)).toBe(false)

      await server.crash()
      const kept = settle(store, claimAt(store, key))
      const { answer } = repeated
      const staged = store.answers.stage(answer)
      await expect(admits(store, key)).rejects.toMatchObject({ code: 'store_unavailable' })
      server.start()
      expect(await kept).toBe(false)
      // What was staged when it fell, and while it was away, is there.
      for (const one of [await stagedBefore, await staged]) expect(one).not.toBeNull()
      await repeated.end(await staged)
      const found = await findAnswer(store, key, answer.keptAt)
      expect(found).toMatchObject({ generationId: answer.generationId, bytes: 10 })
      expect((await store.audit()).findings).toEqual([])
    })

    test('a claim that nobody knows the outcome of is refused, and leaves nothing behind', async () => {
      const address = await cluster.create()
      const store = await openNode(address, 'a')
      const key = await issue(store)
      // Its commit takes longer than a call may: it is admitted when nobody waits for it any more.
      await cluster.run(
        address,
        `CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(4); RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER lingers AFTER INSERT ON holds DEFERRABLE INITIALLY DEFERRED
           FOR EACH ROW WHEN (NEW.session = 'slow') EXECUTE FUNCTION linger()`,
      )
      const slow = { ...claimAt(store, key), session: 'slow' }
      await expect(store.admissions.admit(slow)).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringContaining('in the middle'),
      })
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
