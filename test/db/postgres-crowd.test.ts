// What many share in one database: what is wrong with one of them, or stands still, is no harm to the others.
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Database, Sql } from '#db/postgres/engine/database.ts'
import { MIGRATIONS } from '#db/postgres/engine/versions.ts'
import {
  DAY_MS,
  type Day,
  dayOf,
  dayStart,
  later,
  nextMonthStart,
  systemClock,
} from '#domain/clock.ts'
import type { UsdNanos } from '#domain/money.ts'
import { labelOf, newSecret } from '#domain/secret.ts'
import { until } from '#test/support/appliance.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { claimAt, issue, openNode, openTables, settle } from '#test/support/nodes.ts'
import { aKey, anAccount, anAct, aThreshold, aTopUp, usd } from '#test/support/nouns.ts'
import { connect, POSTGRES_BIN } from '#test/support/postgres.ts'
import { FULL } from '#test/support/tier.ts'

interface Standing {
  /** Lets it go on. */
  readonly end: () => void
  /** Whether it was committed. */
  readonly ended: Promise<boolean>
  isOver: boolean
}

/** A transaction of another node that has done this, and stands still. */
async function stand(database: Database, act: (tx: Sql) => Promise<unknown>): Promise<Standing> {
  const begun = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const transaction = database.transact(async (tx) => {
    await act(tx)
    begun.resolve()
    await go.promise
  }, 0)
  const standing: Standing = {
    isOver: false,
    end: () => go.resolve(),
    ended: transaction.then(
      () => true,
      () => false,
    ),
  }
  void standing.ended.then(() => {
    standing.isOver = true
  })
  await Promise.race([begun.promise, transaction])
  return standing
}

const isWaiting = async (database: Database): Promise<boolean> =>
  (await database.get('SELECT 1 FROM pg_locks WHERE NOT granted')) !== null
const lockOf = (id: string) => (tx: Sql) =>
  tx.get('SELECT 1 FROM account_state WHERE account_id = ? FOR UPDATE', id)

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('in one database', () => {
    const cluster = clusterForAll(bin)

    const start = async () => {
      const address = await cluster.create()
      const store = await openNode(address, 'a')
      return { address, store, key: await issue(store, {}) }
    }

    test('a client may send any character', async () => {
      const { address, store, key } = await start()
      const odd = { ...claimAt(store, key), endUser: 'a\0b', model: '\0', session: '{"\\\0' }
      const verdicts = await Promise.all([odd, claimAt(store, key)].map(store.admissions.admit))
      expect(verdicts).toMatchObject([{ admitted: true }, { admitted: true }])
      const users = 'SELECT end_user, model FROM holds WHERE end_user IS NOT NULL'
      expect(await openTables(address).get(users)).toEqual({
        end_user: 'a\ufffdb',
        model: '\ufffd',
      })
      expect(await settle(store, odd, '0.01')).toBe(true)
    })

    test('of many that are asked for at once one that the database does not take fails alone', async () => {
      const { store, key } = await start()
      const claims = Array.from({ length: 9 }, () => claimAt(store, key))
      const [first, ...others] = claims
      if (first === undefined) throw new Error('none')
      const offers = first.offers.map((offer) => ({ ...offer, base: (2n ** 70n) as UsdNanos }))
      const asked = [...others.slice(0, 4), { ...first, offers }, ...others.slice(4)]
      const told = await Promise.allSettled(asked.map(store.admissions.admit))
      expect(told.map(({ status }) => status)).toEqual(
        asked.map((_, nth) => (nth === 4 ? 'rejected' : 'fulfilled')),
      )
    })

    test('what one call asks from both sides of a month’s end passes no ceiling of either, and is charged where it is held', async () => {
      const { address, store, key: one } = await start()
      const limits = { dailySpend: usd('1'), monthlySpend: usd('1'), endUserDailySpend: usd('0.5') }
      await store.keys.amend(one.id, { limits }, anAct())
      const secret = newSecret()
      const two = aKey(systemClock.now(), limits, { label: labelOf(secret) })
      await store.keys.issue(two, secret, anAct())
      const morning = nextMonthStart(dayOf(systemClock.now()))
      // In no order, neither of the keys nor of the moments; what is judged behind the first of a day is of that day, or of a later one.
      const claims = Array.from({ length: 24 }, (_, nth) => ({
        ...claimAt(store, nth % 3 === 0 ? one : two, '0.4'),
        at: later(dayStart(morning), (nth < 6 || nth % 4 === 0 ? -1 : 1) * (nth + 1)),
        endUser: nth % 3 === 0 ? 'ann' : null,
      }))
      const verdicts = await Promise.all(claims.map(store.admissions.admit))
      const held = await openTables(address).all<{ key_id: string; day: string; n: string }>(
        'SELECT key_id, day::text, count(*)::text AS n FROM holds GROUP BY 1, 2',
      )
      for (const { key_id, n } of held)
        expect(Number(n)).toBeLessThanOrEqual(key_id === one.id ? 1 : 2)
      expect(new Set(held.map(({ day }) => day)).size).toBe(2)
      const admitted = claims.filter((_, nth) => {
        const verdict = verdicts[nth]
        return typeof verdict === 'object' && 'admitted' in verdict && verdict.admitted
      })
      const settled = await Promise.all(
        admitted.toReversed().map((one) => settle(store, one, '0.4')),
      )
      expect(settled).toEqual(admitted.map(() => true))
      const days = await openTables(address).all<{ key_id: string; day: string; n: string }>(
        'SELECT key_id, day::text, requests::text AS n FROM key_days WHERE spent_nanos = requests * 400000000',
      )
      expect(days).toEqual(expect.arrayContaining([...held]))
      expect(days).toHaveLength(held.length)
      expect((await store.audit()).findings).toEqual([])
    })

    test('who is admitted beside a claim that is stale has no part in what that waits for', async () => {
      const { address, store, key } = await start()
      await cluster.run(
        address,
        'UPDATE catalogue_version SET version = version + 1; ALTER TABLE aliases RENAME TO hidden',
      )
      const { version } = store.catalogue.current()
      const stale = { ...claimAt(store, key), catalogue: version }
      const fresh = { ...claimAt(store, key), catalogue: version + 1 }
      const told = await Promise.allSettled([stale, fresh].map(store.admissions.admit))
      expect(told).toMatchObject([
        { status: 'rejected' },
        { status: 'fulfilled', value: { admitted: true } },
      ])
    })

    test('one that only repeats another has no part in what others of the same moment take', async () => {
      const { address, store, key: one } = await start()
      await store.accounts.create(anAccount({ id: 'acct_2', name: 'two' }), anAct())
      const now = systemClock.now()
      await store.ledger.credit(aTopUp(now, usd('100'), { accountId: 'acct_2' }), anAct())
      const secret = newSecret()
      const two = aKey(now, {}, { accountId: 'acct_2', label: labelOf(secret) })
      await store.keys.issue(two, secret, anAct())
      const repeat = { key: 'again', digest: 'd' }
      const running = { ...claimAt(store, one), repeat }
      expect(await store.admissions.admit(running)).toMatchObject({ admitted: true })
      const again = { ...claimAt(store, one), repeat }
      const claims = [again, claimAt(store, two), claimAt(store, two)]
      const told = await Promise.all(claims.map(store.admissions.admit))
      expect(told).toMatchObject([{ repetition: { is: 'running' } }, {}, { admitted: true }])
      for (const [key, times] of [
        [one, 1],
        [two, 2],
      ] as const) {
        const held = { in_progress: String(times), held_nanos: String(usd('0.01') * BigInt(times)) }
        for (const state of ['account_state WHERE account_id', 'key_state WHERE key_id']) {
          const id = state.startsWith('account') ? key.accountId : key.id
          const found = await openTables(address).get(
            `SELECT in_progress::text, held_nanos::text FROM ${state} = ?`,
            id,
          )
          expect(found).toEqual(held)
        }
      }
    })

    test('of an account without a state a settlement fails alone, and names it', async () => {
      const { address, store, key: sound } = await start()
      await store.accounts.create(anAccount({ id: 'acct_2', name: 'two' }), anAct())
      await store.ledger.credit(
        aTopUp(systemClock.now(), usd('100'), { accountId: 'acct_2' }),
        anAct(),
      )
      const secret = newSecret()
      const odd = aKey(systemClock.now(), {}, { accountId: 'acct_2', label: labelOf(secret) })
      await store.keys.issue(odd, secret, anAct())
      const claims = [claimAt(store, sound), claimAt(store, odd), claimAt(store, sound)]
      await Promise.all(claims.map(store.admissions.admit))
      await cluster.run(address, "DELETE FROM account_state WHERE account_id = 'acct_2'")
      const told = await Promise.allSettled(claims.map((claim) => settle(store, claim, '0.01')))
      expect(told).toMatchObject([
        { value: true },
        { reason: { message: expect.stringContaining('acct_2 has no row in account_state') } },
        { value: true },
      ])
    })

    test('a transaction that stands still is ended, and what waits for it goes on', async () => {
      const { address, store, key } = await start()
      const standing = await stand(openTables(address), async (tx) => {
        await tx.get('SELECT pg_advisory_xact_lock(7001)')
        await lockOf(key.accountId)(tx)
      })
      expect(await store.admissions.admit(claimAt(store, key))).toMatchObject({ admitted: true })
      standing.end()
      expect(await standing.ended).toBe(false)
      // None of those that were given up is open.
      expect((await store.health({ checkIntegrity: false })).openHolds).toBe(1)
    })

    test.runIf(FULL)(
      'who asks behind those that a lock has kept waiting does not wait as long again',
      async () => {
        const { address, store, key } = await start()
        const holder = await connect(address)
        onTestFinished(() => holder.close({ timeout: 0 }))
        await holder.unsafe('BEGIN; SELECT 1 FROM account_state FOR UPDATE').simple()
        const ask = async () => {
          const sinceMs = performance.now()
          const asked = store.admissions.admit(claimAt(store, key))
          await expect(asked).rejects.toMatchObject({ code: 'store_unavailable' })
          return performance.now() - sinceMs
        }
        const first = ask()
        await until(() => isWaiting(openTables(address)), 'the claim waits')
        const [firstMs, secondMs] = await Promise.all([first, ask()])
        expect(firstMs).toBeGreaterThan(6_000)
        expect(secondMs).toBeLessThan(firstMs + 4_000)
        await holder.unsafe('ROLLBACK')
        expect(await store.admissions.admit(claimAt(store, key))).toMatchObject({ admitted: true })
      },
      60_000,
    )

    test('a settlement does not wait until its notice has its words', async () => {
      const { address, store, key } = await start()
      await store.thresholds.set(aThreshold({ below: usd('99.9') }), undefined, anAct())
      const claim = claimAt(store, key)
      await store.admissions.admit(claim)
      const change = await stand(openTables(address), (tx) =>
        tx.get('SELECT pg_advisory_xact_lock(7002)'),
      )
      expect(await settle(store, claim, '0.5')).toBe(true)
      expect(change.isOver).toBe(false)
      change.end()
      const due = systemClock.now()
      const claimed = await store.notices.claim(due, later(due, DAY_MS), 9)
      expect(claimed.length).toBeGreaterThan(0)
    })

    test('what a key has used is read while its account is locked', async () => {
      const { address, store, key } = await start()
      const database = openTables(address)
      const standing = await stand(database, lockOf(key.accountId))
      const admitted = store.admissions.admit(claimAt(store, key))
      await until(() => isWaiting(database), 'the claim waits')
      expect(await store.admissions.spending([key.id], systemClock.now())).toHaveLength(1)
      expect(standing.isOver).toBe(false)
      standing.end()
      expect(await admitted).toMatchObject({ admitted: true })
    })

    test('a mark that a charge has made is not made again by the movement that waited for it', async () => {
      const { address, store, key } = await start()
      await store.thresholds.set(aThreshold({ below: usd('99') }), undefined, anAct())
      const database = openTables(address)
      const at = systemClock.now()
      const charge = await stand(database, async (tx) => {
        await lockOf(key.accountId)(tx)
        await tx.run('UPDATE account_state SET balance_nanos = ?', usd('98'))
        await tx.run('UPDATE thresholds SET notified_at = ?', at)
      })
      const adjusted = store.ledger.credit(
        aTopUp(later(at, 1), usd('-1'), { kind: 'adjust' }),
        anAct(),
      )
      await until(() => isWaiting(database), 'it waits')
      charge.end()
      expect([await charge.ended, await adjusted]).toEqual([true, usd('97')])
      expect(await store.notices.claim(at, later(at, DAY_MS), 9)).toEqual([])
      expect((await store.thresholds.find(key.accountId)).mark).toMatchObject({ notifiedAt: at })
    })

    test('of a long log the use of a key reads no more than its windows', async () => {
      const { address, store, key } = await start()
      const now = systemClock.now()
      await cluster.run(
        address,
        `INSERT INTO slots (generation_id, key_id, account_id, at, pos, nth, account_nth)
           SELECT 'gen-' || n, '${key.id}', '${key.accountId}', ${now} - 10 * 86400000 + n, ${now} - 10 * 86400000 + n, n, n
           FROM generate_series(1, 5000) n;
         UPDATE account_state SET pos = ${now}, newest_at = ${now}, stepped_to = ${now} + 86400000;
         UPDATE keys SET limits = '{"rpm":9,"rpd":9,"tpm":9}'; ANALYZE slots`,
      )
      const database = openTables(address)
      const read = await database.transact(async (tx) => {
        await tx.all('SELECT * FROM usage_of(?::text[], ?, true, true)', [key.id], now)
        await tx.run("UPDATE keys SET limits = '{}'")
        await tx.all('SELECT * FROM usage_of(?::text[], ?, true, true)', [key.id], now)
        const row = await tx.get<{ n: number }>(
          "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) AS n FROM pg_stat_xact_user_tables WHERE relname = 'slots'",
        )
        return row?.n
      })
      expect(read).toBeLessThan(100)
      expect(await store.admissions.admit(claimAt(store, key))).toMatchObject({ admitted: true })
    })

    test('keys that are moved while their requests end leave to each account what it was charged, and an upgrade finds it in the ledger', async () => {
      const { address, store, key } = await start()
      const other = await openNode(address, 'b')
      for (const id of ['acct_2', 'acct_3'] as const) {
        await store.accounts.create(anAccount({ id, name: id }), anAct())
        await store.ledger.credit(aTopUp(systemClock.now(), usd('100'), { accountId: id }), anAct())
      }
      const serve = async (node: typeof store, count: number): Promise<void> => {
        for (let n = 0; n < count; n++) {
          const claim = claimAt(node, key)
          const verdict = await node.admissions.admit(claim)
          expect(verdict).toMatchObject({ admitted: true })
          await settle(node, claim, '0.01')
        }
      }
      const move = async (node: typeof store): Promise<void> => {
        for (const id of ['acct_2', 'acct_3', 'acct_1', 'acct_3', 'acct_2', 'acct_1'] as const) {
          await node.keys.move(key.id, id, anAct(systemClock.now(), { verb: 'accounts.move-key' }))
        }
      }
      await Promise.all([
        ...Array.from({ length: 4 }, () => serve(store, 8)),
        ...Array.from({ length: 4 }, () => serve(other, 8)),
        move(store),
        move(other),
      ])
      await store.keys.move(key.id, 'acct_3', anAct())
      const findings = async () => (await store.audit()).findings
      expect(await findings()).toEqual([])
      const spent = () => store.admissions.spendByDay(0 as Day)
      const before = await spent()
      expect(before.reduce((sum, one) => sum + one.spent, 0n)).toBe(usd('0.64'))
      await cluster.run(address, `DROP TABLE moved_days; ${MIGRATIONS[1]}`)
      expect([await findings(), await spent()]).toEqual([[], before])
    })
  })
}
