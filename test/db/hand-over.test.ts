// A store that one process hands to the next: what is held goes on as if nobody had closed it, and whatever nobody brings is void.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DATABASE_FILE } from '#db/file-name.ts'
import { openFront } from '#db/front/front.ts'
import { type Keeper, openKeeper } from '#db/front/keeper.ts'
import type { Link } from '#db/front/link.ts'
import { openStore } from '#db/index.ts'
import { openDatabase } from '#db/sqlite/engine/open.ts'
import { schemaVersion } from '#db/sqlite/engine/schema-version.ts'
import { tryUpgrade } from '#db/sqlite/files/try-upgrade.ts'
import { MIGRATIONS } from '#db/sqlite/migrations/index.ts'
import type { Claim, OpenAdmission } from '#domain/admission.ts'
import { DAY_MS, type Instant } from '#domain/clock.ts'
import { NO_LIMITS } from '#domain/limits.ts'
import type { Owner } from '#domain/owner.ts'
import type { GatewayStore } from '#signin/store.ts'
import { admitClaim } from '#test/support/admit.ts'
import { type HandClock, handClock } from '#test/support/hand-clock.ts'
import { aRepeat } from '#test/support/keep-answer.ts'
import {
  aCharge,
  aClaim,
  aKey,
  anAccount,
  anAct,
  anActivity,
  anOwner,
  aTopUp,
  usd,
} from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

const LIMITS = {
  rpm: 10,
  rpd: 100,
  tpm: 100_000,
  concurrency: 5,
  dailySpend: usd('1'),
  monthlySpend: usd('2'),
  endUserRpm: 5,
  endUserDailySpend: usd('0.5'),
}

const key = aKey(0 as Instant, LIMITS)
const limits = { ...NO_LIMITS, rpm: 50, tpm: 100_000, concurrency: 9, dailySpend: usd('5') }

async function open(
  dataDir: string,
  clock: HandClock,
  held: readonly OpenAdmission[] = [],
): Promise<GatewayStore> {
  const store = await openStore({ dataDir, clock, held })
  onTestFinished(() => store.close())
  return store
}

async function furnished(dataDir: string, clock: HandClock): Promise<GatewayStore> {
  const store = await open(dataDir, clock)
  await store.accounts.create(anAccount({ limits }), anAct())
  await store.ledger.credit(aTopUp(clock.now(), usd('10')), anAct())
  await store.keys.issue(key, `if-${key.id}` as never, anAct())
  return store
}

async function admit(
  store: GatewayStore,
  clock: HandClock,
  owner: Owner,
  stated: Partial<Claim> = {},
): Promise<Claim> {
  const claim = { ...aClaim(key, clock.now(), usd('0.1')), owner, ...stated }
  expect(await admitClaim(store.admissions, claim)).toMatchObject({ admitted: true })
  return claim
}

/** All that the limits are judged by. */
async function standing(store: GatewayStore, clock: HandClock): Promise<unknown> {
  const { admissions } = store
  const at = clock.now()
  const next = { ...aClaim(key, at), endUser: 'ann' }
  return {
    usage: await admissions.usage(key.id, at),
    account: await admissions.accountUse([key.accountId], at),
    quota: await admissions.quota([key.id], at),
    verdict: await admissions.judge(next),
    dear: await admissions.judge({ ...next, offers: aClaim(key, at, usd('0.35')).offers }),
  }
}

const settle = (store: GatewayStore, claim: Claim, at: Instant): Promise<boolean> =>
  store.admissions.settle(claim.generationId, {
    at,
    charge: aCharge(usd('0.04')),
    activity: anActivity(claim, { cost: usd('0.04') }),
    answer: null,
  })

const handOver = async (store: GatewayStore): Promise<readonly OpenAdmission[]> =>
  (await store.handOver?.()) ?? []

test('limits and money stand as they stood, and each hold is settled once', async () => {
  const [dataDir, clock] = [tempDirectory(), handClock('2026-08-22T12:00:00Z')]
  const owner = anOwner()
  const before = await furnished(dataDir, clock)
  const repeat = aRepeat()
  const claims = [
    await admit(before, clock, owner, { endUser: 'ann' }),
    await admit(before, clock, owner, { endUser: 'ann', repeat }),
    await admit(before, clock, owner),
  ]
  clock.advance(5)
  const stood = await standing(before, clock)
  const store = await open(dataDir, clock, await handOver(before))
  expect(await standing(store, clock)).toEqual(stood)
  const again = { ...aClaim(key, clock.now()), owner, repeat }
  expect(await store.admissions.admit(again)).toMatchObject({ repetition: { is: 'running' } })
  for (const claim of claims) {
    expect(await settle(store, claim, clock.now())).toBe(true)
    expect(await settle(store, claim, clock.now())).toBe(false)
  }
  expect(await store.audit()).toMatchObject({ openHolds: 0, findings: [] })
  expect(await store.admissions.spending([key.id], clock.now())).toMatchObject([
    { spendDay: usd('0.12'), reserved: 0n, requestsInProgress: 0 },
  ])
})

test('what was admitted before midnight counts on its day, whoever has the store after', async () => {
  const [dataDir, clock] = [tempDirectory(), handClock('2026-08-31T23:59:59Z')]
  const owner = anOwner()
  const before = await furnished(dataDir, clock)
  const yesterdays = await admit(before, clock, owner, { endUser: 'ann' })
  clock.advance(2_000)
  const todays = await admit(before, clock, owner, { endUser: 'ann' })
  const stood = await standing(before, clock)
  const store = await open(dataDir, clock, await handOver(before))
  expect(await standing(store, clock)).toEqual(stood)
  await settle(store, yesterdays, clock.now())
  await settle(store, todays, clock.now())
  expect(await store.admissions.spending([key.id], clock.now())).toMatchObject([
    { spendDay: usd('0.04'), spendMonth: usd('0.04') },
  ])
  clock.advance(-DAY_MS)
  expect(await store.audit()).toMatchObject({ openHolds: 0, findings: [] })
})

test('what nobody brings is void, and what has ended in other hands stays ended', async () => {
  const [dataDir, clock] = [tempDirectory(), handClock('2026-08-22T12:00:00Z')]
  const before = await furnished(dataDir, clock)
  const [kept, lost] = [
    await admit(before, clock, anOwner()),
    await admit(before, clock, anOwner()),
  ]
  const held = await handOver(before)
  const brought = held.filter(({ claim }) => claim.generationId === kept.generationId)
  const between = await open(dataDir, clock, brought)
  expect(await settle(between, lost, clock.now())).toBe(false)
  expect(await settle(between, kept, clock.now())).toBe(true)
  await between.close()
  // It had never served, so the one before opens it again.
  const again = await open(dataDir, clock, brought)
  expect(await settle(again, kept, clock.now())).toBe(false)
  expect(await again.audit()).toMatchObject({ openHolds: 0, findings: [], entries: 2 })
})

/** Two keepers, and a process at the first of them. */
async function openPair() {
  const [dataDir, clock] = [tempDirectory(), handClock('2026-08-22T12:00:00Z')]
  const first = await furnished(dataDir, clock)
  const places = [`${dataDir}/one`, `${dataDir}/two`] as const
  /** What the keepers have seen, in order. */
  const seen: string[] = []
  const keep = (nth: 0 | 1, joined: (link: Link) => void = () => {}): Keeper => {
    const note = (what: string): void => void seen.push(`${what} ${nth}`)
    const keeper = openKeeper({
      clock,
      unix: places[nth],
      joined(link) {
        note('joins')
        joined(link)
        return () => undefined
      },
      left: (_, isMoving) => note(isMoving ? 'leaves' : 'is lost to'),
      gone: () => note('takes back what it asked of'),
    })
    onTestFinished(() => keeper.close())
    return keeper
  }
  const one = keep(0)
  one.lend(first)
  one.welcome([])
  const front = await openFront(places[0], {
    answer: (_method, [unix]) => void front.link.move(unix as string),
    lost: () => void seen.push('is lost'),
  })
  return { dataDir, clock, first, places, keep, one, ...front, seen }
}

test('a process that leaves one keeper for the next has every call answered once', async () => {
  const { dataDir, clock, first, places, keep, one, store, link, seen } = await openPair()
  const two = keep(1)
  const { owner } = store
  const current = { catalogue: first.catalogue.current().version }
  const early = Array.from({ length: 3 }, () => admit(store, clock, owner, current))
  const moving = link.move(places[1])
  const late = Array.from({ length: 2 }, () => admit(store, clock, owner, current))
  const claims = await Promise.all(early)
  await until(() => seen.includes('leaves 0'))
  one.close()
  const held = await handOver(first)
  expect(held).toHaveLength(3)
  const second = await open(dataDir, clock, held)
  two.lend(second)
  two.welcome([owner])
  await moving
  claims.push(...(await Promise.all(late)))
  for (const claim of claims) expect(await settle(store, claim, clock.now())).toBe(true)
  expect(seen).toEqual(['joins 0', 'leaves 0', 'joins 1'])
  expect(await second.audit()).toMatchObject({ openHolds: 0, findings: [] })
})

test('who has left waits for those that are slow to, and at both keepers until one serves', async () => {
  const { first, places, keep, one, store, link, seen } = await openPair()
  const slow = await openFront(places[0], { answer: () => undefined, lost: () => {} })
  keep(1)
  const moving = link.move(places[1])
  await until(() => seen.includes('leaves 0'))
  // It goes on asking meanwhile, and so does the other.
  for (let n = 0; n < 10; n++) {
    await slow.store.accounts.find('acct_none' as never)
    await Bun.sleep(5)
  }
  one.close()
  // The next one hangs: the one before keeps the store again.
  const again = keep(0)
  again.lend(first)
  again.welcome([store.owner])
  await moving
  await until(() => seen.length > 5)
  expect(seen.slice(2)).toEqual([
    'leaves 0',
    'is lost to 0',
    'joins 0',
    'takes back what it asked of 1',
  ])
})

test('who is sent on in the moment in which it is let in goes on', async () => {
  const { first, places, keep, one, store, link, seen } = await openPair()
  const two = keep(1, (joined) => joined.tell('move', [places[0]]))
  void link.move(places[1])
  await until(() => seen.includes('leaves 0'))
  one.close()
  two.lend(first)
  two.welcome([store.owner])
  await until(() => seen.includes('leaves 1'))
  expect(seen).toEqual(['joins 0', 'leaves 0', 'joins 1', 'leaves 1'])
})

test('an upgrade is tried with a copy, which leaves nothing behind and the database as it is', async () => {
  const dataDir = tempDirectory()
  const path = join(dataDir, DATABASE_FILE)
  const database = openDatabase(path)
  for (const sql of MIGRATIONS.slice(0, 24)) database.run(sql)
  database.run('PRAGMA user_version = 24')
  onTestFinished(() => database.close())
  const before = readdirSync(dataDir)
  expect(tryUpgrade(dataDir)).toBeGreaterThan(0)
  expect(schemaVersion(database)).toBe(24)
  expect(readdirSync(dataDir)).toEqual(before)
  // What stands in the way of an upgrade is found out.
  database.run('DROP TABLE holds')
  expect(() => tryUpgrade(dataDir)).toThrow()
  expect(readdirSync(dataDir)).toEqual(before)
})

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Bun.sleep(1)
}
