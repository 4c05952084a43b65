// The audit in PostgreSQL reads the ledger in slices: whatever is planted is found, and what requests do meanwhile is no difference.
import { describe, expect, test } from 'vitest'
import { repeated } from '#db/postgres/engine/errors.ts'
import { audit } from '#db/postgres/money/audit.ts'
import type { Audit } from '#domain/audit.ts'
import { type Day, dayOf, later, systemClock } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import type { GatewayStore } from '#signin/store.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { claimAt, issue, openNode, openTables, settle } from '#test/support/nodes.ts'
import { anAccount, anAct, aTopUp, usd } from '#test/support/nouns.ts'
import { POSTGRES_BIN } from '#test/support/postgres.ts'
import { FULL } from '#test/support/tier.ts'

/** So small that every test has several. */
const SLICE = 2

async function serve(store: GatewayStore, key: ApiKey, amount: string, endUser: string | null) {
  const claim = { ...claimAt(store, key, amount), endUser }
  expect(await store.admissions.admit(claim)).toMatchObject({ admitted: true })
  await settle(store, claim, amount)
}

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('the audit', () => {
    const cluster = clusterForAll(bin)

    async function start() {
      const address = await cluster.create()
      const store = await openNode(address, 'a')
      const key = await issue(store, {})
      await store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
      await serve(store, key, '0.5', null)
      await serve(store, key, '0.25', 'ann')
      const tables = openTables(address)
      const day = dayOf(systemClock.now())
      const what = async () => {
        const { findings } = await audit(tables, SLICE)
        return findings.map((one) => ('engine' in one ? one.engine : one.what)).toSorted()
      }
      expect(await audit(tables, SLICE)).toMatchObject({
        ...{ entries: 3, keyDays: 1, endUserDays: 1, openHolds: 0, findings: [] },
        balances: [
          { accountId: 'acct_1', balance: usd('99.25'), ledgerSum: usd('99.25') },
          { accountId: 'acct_2', balance: 0n, ledgerSum: 0n },
        ],
      })
      return { address, store, key, tables, day, what }
    }
    const PLANTED: readonly (readonly [name: string, sql: string, found: readonly string[]])[] = [
      [
        'a balance',
        'UPDATE account_state SET balance_nanos = balance_nanos + 1',
        ['balance', 'balance'],
      ],
      [
        'a day of a key, which is that of its state no more',
        'UPDATE key_days SET spent_nanos = spent_nanos - 10',
        ['key_day', 'live_key_day', 'live_key_month'],
      ],
      [
        'what a key has spent on its day',
        'UPDATE key_state SET spent_day = spent_day + 1',
        ['live_key_day'],
      ],
      [
        'and in its month',
        'UPDATE key_state SET spent_month = spent_month + 1',
        ['live_key_month'],
      ],
      [
        'what an account has spent on its day',
        `UPDATE account_state SET summed = true, day = d.day, spent_day = 7, spent_month = d.spent_nanos
         FROM key_days d WHERE account_id = 'acct_1'`,
        ['live_account_day'],
      ],
      [
        'and in its month',
        `UPDATE account_state SET summed = true, day = d.day, spent_day = d.spent_nanos, spent_month = 7
         FROM key_days d WHERE account_id = 'acct_1'`,
        ['live_account_month'],
      ],
      ['what a key holds of its day', 'UPDATE key_state SET held_day = held_day + 1', ['hold']],
      [
        'what an account holds of its month',
        `UPDATE account_state s SET summed = true, day = d.day, spent_day = d.spent_nanos, spent_month = d.spent_nanos,
           held_month = 1
         FROM key_days d WHERE s.account_id = 'acct_1'`,
        ['hold'],
      ],
      ['fewer requests than charges', 'UPDATE key_days SET requests = 1', ['requests']],
      [
        'a day that is gone',
        'DELETE FROM key_days',
        ['key_day', 'live_key_day', 'live_key_month', 'requests'],
      ],
      ['a day that never was', 'INSERT INTO key_days SELECT id, 9, 7, 1 FROM keys', ['key_day']],
      ['a day of an end user', 'UPDATE end_user_days SET spent_nanos = 0', ['end_user_day']],
      [
        'an end user by another name',
        'UPDATE end_user_days SET end_user = upper(end_user)',
        ['end_user_day', 'end_user_day', 'requests'],
      ],
      [
        'an entry that was taken out',
        "ALTER TABLE ledger DISABLE TRIGGER USER; DELETE FROM ledger WHERE end_user = 'ann'",
        ['balance', 'end_user_day', 'key_day'],
      ],
      [
        'an entry that was put in',
        "INSERT INTO ledger (id, account_id, kind, amount_nanos, at, rub_per_usd) VALUES ('led_0', 'acct_2', 'top_up', 5, 0, '1')",
        ['balance'],
      ],
      [
        'an entry of an account that is nowhere',
        "INSERT INTO ledger (id, account_id, kind, amount_nanos, at, rub_per_usd) VALUES ('led_0', 'acct_9', 'top_up', 5, 0, '1')",
        ['balance'],
      ],
      ['what is held', 'UPDATE account_state SET held_nanos = 1', ['hold', 'hold']],
      ['what is in progress', 'UPDATE key_state SET in_progress = 1', ['hold']],
      [
        'a hold of a request that was charged',
        `INSERT INTO holds (generation_id, request_id, account_id, key_id, model, amount_nanos, admitted_at, day, node, epoch, surface, tokens)
         SELECT generation_id, 'r', account_id, key_id, 'm', 0, at, day, 'a', 'e', 'chat', 1 FROM ledger WHERE end_user = 'ann'`,
        ['hold', 'hold', 'hold'],
      ],
    ]
    // What else it finds, the rule of both engines finds in the other one (audit.test.ts).
    const SOME = PLANTED.filter((_, place) => FULL || place % 3 === 0)
    test.each(SOME)('finds %s', async (_, sql, found) => {
      const { address, what } = await start()
      await cluster.run(address, sql)
      expect(await what()).toEqual(found)
    })

    test('finds a day of keys that were moved', async () => {
      const { address, store, key, day, tables, what } = await start()
      await store.keys.move(key.id, 'acct_2', anAct())
      expect(await what()).toEqual([])
      await cluster.run(address, "DELETE FROM moved_days WHERE account_id = 'acct_2'")
      expect((await audit(tables, SLICE)).findings).toEqual([
        {
          ...{ what: 'moved_day', subject: 'acct_2', day: day as Day, endUser: null },
          ...{ kept: 0n, ledger: usd('-0.75') },
        },
      ])
    })

    test('is of one moment, whatever is charged, credited and moved behind it and before it', async () => {
      const { address, store, key, tables } = await start()
      const credit = aTopUp(systemClock.now(), usd('50'), { accountId: 'acct_2' })
      await store.ledger.credit(credit, anAct())
      const more = FULL ? 3_000 : 300
      for (let n = 0; n < more; n += 100) {
        await Promise.all(
          Array.from({ length: 100 }, (_, i) => serve(store, key, '0.0001', `user ${i % 7}`)),
        )
      }
      // Their ids lie behind what is read first.
      const early = await Promise.all(
        Array.from({ length: 40 }, async () => {
          const claim = claimAt(store, key, '0.0001')
          expect(await store.admissions.admit(claim)).toMatchObject({ admitted: true })
          return claim
        }),
      )
      let isOver = false
      const audits = (async () => {
        const found: Audit[] = []
        for (let n = 0; n < (FULL ? 12 : 4); n++) found.push(await audit(tables, 20))
        isOver = true
        return found
      })()
      let served = 0
      while (!isOver) {
        const late = early.pop()
        await Promise.all([
          serve(store, key, '0.0001', 'ann'),
          late && settle(store, late, '0.0001'),
          store.ledger.credit(aTopUp(systemClock.now(), usd('0.01')), anAct()),
          store.keys.move(key.id, served % 2 === 0 ? 'acct_2' : 'acct_1', anAct()),
          // Of an older time than all others; a key that moves while a batch waits for its account may end either in a deadlock.
          repeated(() =>
            cluster.run(
              address,
              `WITH put AS (INSERT INTO ledger (id, account_id, kind, amount_nanos, at, rub_per_usd)
               VALUES ('${aTopUp(later(systemClock.now(), -86_400_000), 0n as never).id}', 'acct_1', 'top_up', 5, 0, '1'))
               UPDATE account_state SET balance_nanos = balance_nanos + 5 WHERE account_id = 'acct_1'`,
            ),
          ),
        ])
        served++
      }
      for (const { findings } of await audits) expect(findings).toEqual([])
      expect(served).toBeGreaterThan(3)
    })

    test.runIf(FULL)(
      'has no transaction open for a second, over half a million of entries',
      async () => {
        const { address, tables } = await start()
        await cluster.run(
          address,
          `INSERT INTO ledger (id, account_id, kind, amount_nanos, at, key_id, generation_id, rub_per_usd, day)
         SELECT 'led_' || lpad(n::text, 26, '0'), 'acct_1', 'charge', 0, 0, k.id, 'gen-' || lpad(n::text, 26, '0'), '1', n / 1000
         FROM generate_series(1, 500000) n, keys k;
         INSERT INTO key_days SELECT id, n, 0, 1000 FROM keys, generate_series(0, 499) n;
         INSERT INTO key_days SELECT id, 500, 0, 1 FROM keys; UPDATE key_days SET requests = 999 WHERE day = 0; ANALYZE`,
        )
        let isOver = false
        const auditing = audit(tables).finally(() => {
          isOver = true
        })
        let longest = 0
        while (!isOver) {
          const [row] = await cluster.run<{ ms: number }>(
            address,
            `SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start) * 1000), 0)::int AS ms FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL`,
          )
          longest = Math.max(longest, row?.ms ?? 0)
        }
        expect(await auditing).toMatchObject({ entries: 500_003, findings: [] })
        expect(longest).toBeLessThan(1_000)
      },
    )
  })
}
