// A full disk stops admissions and operators, never loses a charge, and is over when there is room again.

import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { connect } from '#db/sqlite/engine/connection.ts'
import { startLogSync } from '#db/sqlite/engine/log-sync.ts'
import { migrate } from '#db/sqlite/engine/migrate.ts'
import { openDatabase } from '#db/sqlite/engine/open.ts'
import { createStore } from '#db/sqlite/store.ts'
import { openVault } from '#db/vault.ts'
import type { Claim } from '#domain/admission.ts'
import { DAY_MS, dayOf, type Instant } from '#domain/clock.ts'
import { newGenerationId } from '#domain/id.ts'
import { newSecret } from '#domain/secret.ts'
import { openSmallDisk } from '#test/acceptance/faults/small-disk.ts'
import { admitClaim } from '#test/support/admit.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { aRepeat, findAnswer, keepAnswer } from '#test/support/keep-answer.ts'
import {
  aCharge,
  aClaim,
  aKey,
  aNotice,
  anAccount,
  anAct,
  anActivity,
  anOwner,
  aThreshold,
  aTopUp,
  usd,
} from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

async function open(directory = tempDirectory()) {
  const path = join(directory, 'gateway.db')
  const clock = handClock('2026-08-22T12:00:00Z')
  const database = openDatabase(path)
  migrate(database, path)
  const rest = { clock, vault: openVault(new Uint8Array(32).fill(1)), syncCharges: false }
  const opening = { owner: anOwner(), at: clock.now() }
  const connection = connect(database, startLogSync(path), rest)
  const store = createStore(connection, path, opening, () => {})
  const mostPages = (pages: number) => database.run(`PRAGMA max_page_count = ${pages}`)
  const isWritable = async () => (await store.health({ checkIntegrity: false })).writable

  await store.accounts.create(anAccount(), anAct())
  await store.ledger.credit(aTopUp(clock.now(), usd('100')), anAct())
  const key = aKey(clock.now())
  await store.keys.issue(key, newSecret(), anAct())
  return { clock, database, store, key, mostPages, isWritable }
}

test('a full disk refuses, keeps what was owed, and recovers', async () => {
  const { clock, store, key, mostPages, isWritable } = await open()

  const settled: Promise<boolean>[] = []
  const acknowledged = new Set<string>()
  const serve = async () => {
    const claim = aClaim(key, clock.now())
    await admitClaim(store.admissions, claim)
    const settling = store.admissions.settle(claim.generationId, {
      answer: null,
      at: clock.now(),
      charge: aCharge(usd('0.01')),
      activity: anActivity(claim, { cost: usd('0.01'), endUser: 'x'.repeat(256) }),
    })
    settled.push(settling)
    void settling.then(() => acknowledged.add(claim.generationId))
  }

  mostPages(1) // SQLite takes the current size instead.
  for (let n = 0; n < 500 && (await isWritable()); n++) await serve()
  expect(await isWritable()).toBe(false)

  // Refused before anything is taken, and said so.
  const refused = { code: 'store_unavailable', status: 503 }
  await expect(admitClaim(store.admissions, aClaim(key, clock.now()))).rejects.toMatchObject(
    refused,
  )
  await expect(store.ledger.credit(aTopUp(clock.now(), usd('1')), anAct())).rejects.toMatchObject(
    refused,
  )
  await expect(store.keys.revoke(key.id, anAct(clock.now()))).rejects.toMatchObject(refused)
  // Reading goes on.
  expect(await store.keys.find(key.id)).toMatchObject({ id: key.id, revokedAt: null })
  expect((await store.health({ checkIntegrity: true })).integrityFindings).toEqual([])
  expect(acknowledged.size).toBeLessThan(settled.length)

  mostPages(1_000_000)
  expect(await Promise.all(settled)).not.toContain(false)
  expect(await isWritable()).toBe(true)
  await serve()
  await Promise.all(settled)
  const charges = await store.ledger.list({ kind: 'charge', limit: 1_000 })
  expect(new Set(charges.map(({ generationId }) => generationId))).toEqual(acknowledged)
  expect(charges).toHaveLength(settled.length)
  const owed = usd('100') - BigInt(settled.length) * usd('0.01')
  expect(await store.audit()).toMatchObject({
    balances: [{ balance: owed, ledgerSum: owed }],
    findings: [],
  })
  expect(await store.admissions.usage(key.id, clock.now())).toMatchObject({
    requestsInProgress: 0,
    reserved: 0n,
    spendDay: usd('100') - owed,
  })
  await store.close()
})

test('a line that is written late, and that the full disk refused again and again, is in a report once', async () => {
  const { clock, database, store, key, mostPages, isWritable } = await open()
  const since = (dayOf(clock.now()) * DAY_MS) as Instant
  const look = async (by: 'key' | 'model') =>
    (await store.activity.usage({ by, thenBy: null, top: 9, since })).total.requests
  const admit = async () => {
    const claim = aClaim(key, clock.now())
    await admitClaim(store.admissions, claim)
    return claim
  }
  const settle = (claim: Claim, endUser: string) =>
    store.admissions.settle(claim.generationId, {
      answer: null,
      at: clock.now(),
      charge: aCharge(usd('0.01')),
      activity: anActivity(claim, { cost: usd('0.01'), endUser }),
    })

  const claims: Claim[] = []
  for (let n = 0; n < 50; n++) claims.push(await admit())
  clock.advance(1_000)
  await settle(await admit(), 'u_1')
  for (const by of ['key', 'model'] as const) expect(await look(by)).toBe(1)
  // Room for all but the last.
  const pages = database.query<{ page_count: number }, []>('PRAGMA page_count').get()?.page_count
  mostPages((pages ?? 0) + 500)
  const settled = claims.map((claim, n) => settle(claim, 'x'.repeat(n < 49 ? 8 : 8_000_000)))
  for (let n = 0; n < 50; n++) expect(await look('model')).toBe(1)
  expect(await isWritable()).toBe(false)
  mostPages(1_000_000)
  await Promise.all(settled)
  for (const by of ['key', 'model'] as const) expect(await look(by)).toBe(51)
  await store.close()
})

test('to look for mails that are due says nothing of a full disk', async () => {
  const disk = openSmallDisk(8)
  if (disk === undefined) return
  onTestFinished(disk.close)
  const { clock, store, isWritable } = await open(disk.cli.dataDir)
  disk.fill(0)
  await vi.waitFor(async () => expect(await isWritable()).toBe(false), { timeout: 10_000 })
  const nothing = { mails: [], nextAt: null }
  expect(await store.signin.codeMails.claim(clock.now(), clock.now(), 9)).toEqual(nothing)
  expect(await isWritable()).toBe(false)
  disk.free()
  await store.close()
})

test('a notice that the full disk refused is written once there is space, unchanged', async () => {
  const { clock, store, key, mostPages, isWritable } = await open()
  await store.thresholds.set(aThreshold({ webhookUrl: null }), undefined, anAct(clock.now()))
  const claim = aClaim(key, clock.now(), usd('90'))
  await admitClaim(store.admissions, claim)
  // Due all the time: but where nothing can be noted of a try, none is begun.
  await store.notices.post([aNotice(clock.now())], anAct())
  const noise = aClaim(key, clock.now())
  mostPages(1)
  for (let n = 0; n < 500 && (await isWritable()); n++) {
    const stated = { generationId: newGenerationId(clock.now()), endUser: 'x'.repeat(256) }
    store.activity.note(anActivity(noise, stated))
  }
  expect(await isWritable()).toBe(false)

  const charge = aCharge(usd('90'))
  const activity = anActivity(claim, { cost: charge.amount })
  const settlement = { at: clock.now(), charge, activity, answer: null }
  const settled = store.admissions.settle(claim.generationId, settlement)
  expect(await store.notices.claim(clock.now(), clock.now(), 9)).toEqual([])
  const crossedAt = clock.now()
  clock.advance(60_000)
  mostPages(1_000_000)
  expect(await settled).toBe(true)
  expect((await store.thresholds.find('acct_1')).mark).toEqual({ notifiedAt: crossedAt })
  const [told, ...more] = (await store.notices.list({ limit: 9 })).filter(
    ({ channel }) => channel === 'email',
  )
  expect(more).toEqual([])
  expect(told).toMatchObject({ createdAt: crossedAt, nextTryAt: crossedAt })
  expect(JSON.parse(told?.body ?? '')).toMatchObject({
    timestamp: '2026-08-22T12:00:00Z',
    data: { balance_usd: '10.00' },
  })
  expect(await store.notices.claim(clock.now(), clock.now(), 9)).toHaveLength(2)
  await store.close()
})

test('an answer for which there is no room is not kept, and blocks no other request', async () => {
  const { clock, database, store, key, mostPages, isWritable } = await open()
  const keep = async (name: string, length: number): Promise<boolean> => {
    const stated = { repeat: aRepeat(name), body: new Uint8Array(length) }
    return (await keepAnswer(store, key, clock.now(), stated)) !== null
  }
  const pages = () =>
    database.query<{ page_count: number }, []>('PRAGMA page_count').get()?.page_count ?? 0
  expect(await keep('before', 1_000)).toBe(true)
  // The first pieces still fit, the others do not.
  mostPages(pages() + 150)
  expect(await keep('too much', 2_000_000)).toBe(false)
  expect(await isWritable()).toBe(true)
  const rows = database.query<{ n: number }, []>('SELECT count(*) AS n FROM answers')
  expect(rows.get()).toEqual({ n: 1 })
  expect((await admitClaim(store.admissions, aClaim(key, clock.now()))).admitted).toBe(true)
  expect(await keep('after', 1_000)).toBe(true)
  for (const name of ['before', 'after']) {
    expect(await findAnswer(store, key, clock.now(), aRepeat(name))).toBeDefined()
  }
  expect(await findAnswer(store, key, clock.now(), aRepeat('too much'))).toBeUndefined()
  await store.close()
})
