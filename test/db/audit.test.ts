// The audit on a disk: whatever is tampered with is found, by its name and to the nano-dollar; and what older binaries kept is read.
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { DATABASE_FILE } from '#db/file-name.ts'
import { openStore } from '#db/index.ts'
import { NEWEST_SCHEMA_VERSION } from '#db/sqlite/engine/schema-version.ts'
import { MIGRATIONS } from '#db/sqlite/migrations/index.ts'
import { MAX_FINDINGS } from '#domain/audit.ts'
import { DAY_MS, dayOf, renderDay } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { MAX_USD_NANOS, renderUsd } from '#domain/money.ts'
import { newSecret } from '#domain/secret.ts'
import type { Store } from '#domain/store.ts'
import { handClock } from '#test/support/hand-clock.ts'
import {
  aCharge,
  aClaim,
  aKey,
  anAccount,
  anAct,
  anActivity,
  aTopUp,
  usd,
} from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

let clock: ReturnType<typeof handClock>
let dataDir: string
let store: Store
let key: ApiKey

beforeEach(async () => {
  clock = handClock('2026-08-22T12:00:00Z')
  dataDir = tempDirectory()
  store = await openStore({ dataDir, clock })
  await store.accounts.create(anAccount(), anAct())
  await store.ledger.credit(aTopUp(clock.now(), usd('100')), anAct())
  key = aKey(clock.now())
  await store.keys.issue(key, newSecret(), anAct())
})

async function serve(endUser: string | null, amount: string): Promise<void> {
  const claim = { ...aClaim(key, clock.now(), usd(amount)), endUser }
  await store.admissions.admit(claim)
  const charge = aCharge(usd(amount))
  const activity = anActivity(claim, { endUser, cost: charge.amount })
  await store.admissions.settle(claim.generationId, {
    answer: null,
    at: clock.now(),
    charge,
    activity,
  })
}

/** Writes to the file of a closed store, then opens it again. */
async function tamper(...lines: readonly string[]): Promise<void> {
  await store.close()
  const database = new Database(join(dataDir, DATABASE_FILE))
  for (const sql of lines) database.run(sql)
  database.close(true)
  store = await openStore({ dataDir, clock })
}

const findings = async () => (await store.audit()).findings

test('charges of one transaction that are beyond 2^53 together are added up exactly', async () => {
  const most = renderUsd(MAX_USD_NANOS)
  await store.ledger.credit(aTopUp(clock.now(), usd('9000000')), anAct())
  const claims = [1, 2, 3].map(() => ({ ...aClaim(key, clock.now(), usd('1')), endUser: 'ann' }))
  for (const claim of claims) await store.admissions.admit(claim)
  await Promise.all(
    claims.map(({ generationId }, n) => {
      const charge = aCharge(usd(most))
      const activity = anActivity(claims[n] as (typeof claims)[number], { cost: charge.amount })
      const settlement = { answer: null, at: clock.now(), charge, activity }
      return store.admissions.settle(generationId, settlement)
    }),
  )
  expect(await findings()).toEqual([])
})

describe('what was tampered with is found', () => {
  const today = () => dayOf(clock.now())

  beforeEach(async () => {
    await serve(null, '0.5')
    await serve('ann', '0.25')
  })

  test('a balance', async () => {
    await tamper('UPDATE accounts SET balance_nanos = balance_nanos + 1')
    const sums = { kept: usd('99.250000001'), ledger: usd('99.25') }
    const where = { subject: 'acct_1', day: null, endUser: null }
    expect(await findings()).toEqual([{ what: 'balance', ...where, ...sums }])
    // What serves reckons with the wrong balance too, once it has read it.
    await store.admissions.admit(aClaim(key, clock.now()))
    expect(await findings()).toMatchObject([
      { what: 'balance' },
      { engine: 'live_balance', subject: 'acct_1', sum: { day: null, ...sums } },
    ])
  })

  test('a day of a key, of which a part rests', async () => {
    await tamper(
      'INSERT INTO resting_key_days SELECT key_id, day, spent_nanos - 7, requests - 1 FROM key_days',
      'UPDATE key_days SET spent_nanos = 7, requests = 1',
    )
    await store.admissions.quota([key.id], clock.now())
    expect(await findings()).toEqual([])
    await tamper(
      'UPDATE resting_key_days SET spent_nanos = spent_nanos + 1, requests = requests - 1',
    )
    const where = { subject: key.id, day: today(), endUser: null }
    expect(await findings()).toEqual([
      { what: 'key_day', ...where, kept: usd('0.750000001'), ledger: usd('0.75') },
      { what: 'requests', ...where, requests: 1, charges: 2 },
    ])
  })

  test('a day of a key, and with it the day and the month that are reckoned with', async () => {
    await tamper('UPDATE key_days SET spent_nanos = spent_nanos - 10')
    const sums = { kept: usd('0.74999999'), ledger: usd('0.75') }
    const where = { subject: key.id, day: today(), endUser: null }
    const finding = { what: 'key_day', ...where, ...sums }
    expect(await findings()).toEqual([finding])
    await store.admissions.quota([key.id], clock.now())
    expect(await findings()).toEqual([
      finding,
      {
        what: 'engine',
        engine: 'live_key_day',
        subject: key.id,
        message: `on ${renderDay(today())} the running gateway has $0.74999999, but the ledger adds up to $0.75 (difference -$0.00000001)`,
        sum: { day: today(), ...sums },
      },
      {
        what: 'engine',
        engine: 'live_key_month',
        subject: key.id,
        message:
          'in 2026-08 the running gateway has $0.74999999, but the ledger adds up to $0.75 (difference -$0.00000001)',
        sum: { day: today() - 21, ...sums },
      },
    ])
  })

  test('the day and the month of an account that are reckoned with, a moved key among its keys', async () => {
    await store.accounts.amend('acct_1', { limits: { dailySpend: usd('9') } }, anAct())
    await store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
    const other = aKey(clock.now())
    await store.keys.issue(other, newSecret(), anAct())
    await store.keys.move(key.id, 'acct_2', anAct())
    const use = () => store.admissions.accountUse(['acct_1'], clock.now())
    expect(await use()).toMatchObject([{ spendDay: usd('0.75') }])
    expect(await findings()).toEqual([])
    await tamper(`INSERT INTO key_days VALUES ('${other.id}', ${today()}, 7, 1)`)
    await use()
    const sums = { kept: usd('0.750000007'), ledger: usd('0.75') }
    expect((await findings()).filter(({ subject }) => subject === 'acct_1')).toMatchObject([
      { engine: 'live_account_day', sum: { day: today(), ...sums } },
      { engine: 'live_account_month', sum: { day: today() - 21, ...sums } },
    ])
  })

  test('a day that is gone, one that never was, and one with fewer requests than charges', async () => {
    await tamper('UPDATE key_days SET requests = 1')
    expect(await findings()).toEqual([
      { what: 'requests', subject: key.id, day: today(), endUser: null, requests: 1, charges: 2 },
    ])
    await tamper('DELETE FROM key_days')
    expect(await findings()).toMatchObject([
      { what: 'key_day', kept: 0n, ledger: usd('0.75') },
      { what: 'requests', requests: 0, charges: 2 },
    ])
    await tamper(
      `INSERT INTO key_days SELECT key_id, ${today()}, 750000000, 2 FROM ledger WHERE kind = 'charge' LIMIT 1`,
      `INSERT INTO key_days SELECT key_id, ${today() - 9}, 7, 1 FROM ledger WHERE kind = 'charge' LIMIT 1`,
    )
    expect(await findings()).toMatchObject([{ what: 'key_day', day: today() - 9, kept: 7n }])
  })

  test('a day of keys that were moved', async () => {
    await store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
    await store.keys.move(key.id, 'acct_2', anAct())
    expect(await findings()).toEqual([])
    await tamper("DELETE FROM moved_days WHERE account_id = 'acct_2'")
    expect(await findings()).toEqual([
      {
        ...{ what: 'moved_day', subject: 'acct_2', day: today(), endUser: null },
        ...{ kept: 0n, ledger: usd('-0.75') },
      },
    ])
  })

  test('a day of an end user', async () => {
    await tamper('UPDATE end_user_days SET spent_nanos = 0')
    expect(await findings()).toEqual([
      {
        what: 'end_user_day',
        subject: key.id,
        day: today(),
        endUser: 'ann',
        kept: 0n,
        ledger: usd('0.25'),
      },
    ])
    await tamper('UPDATE end_user_days SET spent_nanos = 250000000, end_user = upper(end_user)')
    expect(await findings()).toMatchObject([
      { endUser: 'ANN', kept: usd('0.25'), ledger: 0n },
      { endUser: 'ann', kept: 0n, ledger: usd('0.25') },
      { what: 'requests', endUser: 'ann' },
    ])
  })

  test('an entry that was taken out of the ledger, or put in', async () => {
    await tamper(
      'DROP TRIGGER ledger_is_append_only_delete',
      "DELETE FROM ledger WHERE end_user = 'ann'",
    )
    expect(await findings()).toMatchObject([
      { what: 'balance', kept: usd('99.25'), ledger: usd('99.5') },
      { what: 'end_user_day', kept: usd('0.25'), ledger: 0n },
      { what: 'key_day', kept: usd('0.75'), ledger: usd('0.5') },
    ])
  })

  test('a hold without a request in progress, and one that was already charged', async () => {
    const claim = aClaim(key, clock.now())
    await store.admissions.admit(claim)
    const beside = (sql: string, ...values: string[]): void => {
      const database = new Database(join(dataDir, DATABASE_FILE))
      database.query(sql).run(...values)
      database.close(true)
    }
    expect(await store.audit()).toMatchObject({ openHolds: 1, findings: [] })
    beside(`INSERT INTO holds SELECT 'gen-stray', request_id, account_id, key_id, model, amount_nanos,
      admitted_at, end_user, node, epoch, day, counted_as,
      idempotency_key, body_sha256, surface, session FROM holds`)
    beside('DELETE FROM holds WHERE generation_id = ?', claim.generationId)
    beside(
      `INSERT INTO ledger (id, account_id, kind, amount_nanos, at, key_id, generation_id, rub_per_usd, day)
       SELECT 'led_stray', account_id, kind, 0, at, key_id, 'gen-stray', rub_per_usd, day
       FROM ledger WHERE kind = 'charge' LIMIT 1`,
    )
    expect(await findings()).toMatchObject([
      { what: 'requests' },
      {
        engine: 'hold',
        subject: 'gen-stray',
        message: 'its hold is recorded, but no request in progress has it',
      },
      {
        engine: 'hold',
        subject: claim.generationId,
        message: 'it is in progress, but its hold is not recorded',
      },
      { what: 'hold', subject: 'gen-stray' },
    ])
  })

  test('findings beyond the maximum are counted, not listed', async () => {
    await tamper(`WITH RECURSIVE days (day) AS (SELECT 1 UNION ALL SELECT day + 1 FROM days WHERE day < 2500)
      INSERT INTO key_days SELECT id, day, 7, 1 FROM keys, days`)
    const { findings: listed, found, keyDays } = await store.audit()
    expect([listed.length, found, keyDays]).toEqual([MAX_FINDINGS, 2_500, 2_501])
  })
})

test('what is charged today is in the ledger of an older binary too: the migration finds day and end user', async () => {
  await serve('ann', '0.5')
  await serve(null, '0.25')
  clock.advance(DAY_MS)
  await serve('bob', '0.125')
  await serve('ann', '0.125')
  const charges = () => store.ledger.list({ limit: 9 })
  const before = await charges()
  await store.close()

  const database = new Database(join(dataDir, DATABASE_FILE))
  const index = MIGRATIONS.findIndex((sql) => sql.includes('ledger ADD COLUMN day'))
  // Bob is one of those who were not told apart.
  database.run("UPDATE end_user_days SET end_user = '' WHERE end_user = 'bob'")
  for (const column of ['day', 'end_user']) database.run(`ALTER TABLE ledger DROP COLUMN ${column}`)
  database.run(MIGRATIONS[index] ?? '')
  database.close(true)

  store = await openStore({ dataDir, clock })
  expect(await charges()).toEqual(
    before.map((entry) => (entry.endUser === 'bob' ? { ...entry, endUser: '' } : entry)),
  )
  expect(await findings()).toEqual([])
  expect((await store.health({ checkIntegrity: false })).schemaVersion).toBe(NEWEST_SCHEMA_VERSION)
  await expect(tamper('UPDATE ledger SET day = 0')).rejects.toThrow('append-only')
})
