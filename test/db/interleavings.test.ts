// Any interleaving of requests, top-ups, changes, moves of keys, midnights and restarts leaves the books as plain arithmetic has them.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openStore } from '#db/index.ts'
import type { Claim } from '#domain/admission.ts'
import {
  type Day,
  dayOf,
  dayStart,
  instant,
  nextDay,
  nextMonthStart,
  renderDay,
} from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { type Limits, NO_LIMITS } from '#domain/limits.ts'
import type { UsdNanos } from '#domain/money.ts'
import { fixedCost, type OfferCost, outputCost } from '#domain/offer-cost.ts'
import { newSecret } from '#domain/secret.ts'
import type { Store } from '#domain/store.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { admitClaim } from '#test/support/admit.ts'
import { type HandClock, handClock } from '#test/support/hand-clock.ts'
import {
  aCharge,
  aClaim,
  aKey,
  anAccount,
  anAct,
  anActivity,
  aThreshold,
  aTopUp,
} from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { FULL } from '#test/support/tier.ts'
import { type PlainBooks, plainBooks, RACED } from './plain-books.ts'

const KEYS = 3
/** Walks whose seed meets every verdict, with the one below, always; the full tier then takes others, which are new each time. */
const KNOWN = { seed: 10, numRuns: 12 }
const NEW_RUNS = 150

const money = fc.nat(1_000).map((amount) => BigInt(amount) as UsdNanos)
const smallMoney = fc.nat(100).map((amount) => BigInt(amount) as UsdNanos)
/** What an offer costs: an amount, or tokens that may be lowered. */
const aCost: fc.Arbitrary<OfferCost> = fc.oneof(
  fc.tuple(money, fc.nat(300)).map(([base, tokens]) => fixedCost(base, tokens)),
  fc
    .record({
      promptTokens: fc.nat(300),
      base: smallMoney,
      perMillion: fc.nat(3_000_000).map((amount) => BigInt(amount) as UsdNanos),
      choices: fc.integer({ min: 1, max: 3 }),
      full: fc.nat(400),
      floor: fc.nat(40),
    })
    .map((one) => ({ ...one, fullOutput: outputCost(one.perMillion, one.choices, one.full) })),
)
const costs = fc.array(aCost, { minLength: 1, maxLength: 2 })
const orNone = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: null, freq: 2 })
const rarely = <T>(some: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: some })
const someLimits: fc.Arbitrary<Limits> = fc.record({
  rpm: orNone(fc.integer({ min: 1, max: 4 })),
  rpd: orNone(fc.integer({ min: 1, max: 12 })),
  tpm: rarely(fc.integer({ min: 1, max: 3_000 })),
  concurrency: orNone(fc.integer({ min: 1, max: 4 })),
  dailySpend: orNone(money),
  monthlySpend: orNone(money),
  endUserRpm: orNone(fc.integer({ min: 1, max: 3 })),
  endUserDailySpend: orNone(money),
  maxOutputTokens: fc.constant(null),
  allowedModels: fc.constant(null),
})
/** Often below what one request costs, or what is already spent, so that walks meet a spent one. */
const sharedMoney = fc.oneof(money, smallMoney)
/** Of all keys together, and so wider; end users have none. */
const sharedLimits: fc.Arbitrary<Limits> = fc.record({
  endUserRpm: fc.constant(null),
  endUserDailySpend: fc.constant(null),
  maxOutputTokens: fc.constant(null),
  allowedModels: fc.constant(null),
  rpm: rarely(fc.integer({ min: 1, max: 9 })),
  tpm: rarely(fc.integer({ min: 1, max: 9_000 })),
  rpd: rarely(fc.integer({ min: 1, max: 30 })),
  concurrency: rarely(fc.integer({ min: 1, max: 7 })),
  dailySpend: rarely(sharedMoney),
  monthlySpend: rarely(sharedMoney),
})
const whose = fc.nat(KEYS - 1)
const ACCOUNTS = ['acct_1', 'acct_2'] as const
/** Mostly the first, which has all keys in the beginning. */
const account = fc.constantFrom(ACCOUNTS[0], ...ACCOUNTS)
const endUser = fc.constantFrom(null, 'ann', 'bob')
const paid = fc.double({ min: 0, max: 1, noNaN: true })

const step = fc.oneof(
  {
    weight: 40,
    arbitrary: fc.record({ do: fc.constant('admit' as const), whose, endUser, offers: costs }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('burst' as const),
      whose,
      endUser,
      claims: fc.array(costs, { minLength: 2, maxLength: 8 }),
    }),
  },
  {
    weight: 30,
    arbitrary: fc.record({ do: fc.constant('settle' as const), which: fc.nat(), share: paid }),
  },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('void' as const), which: fc.nat() }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('topUp' as const), account, amount: smallMoney }),
  },
  {
    weight: 10,
    arbitrary: fc.record({ do: fc.constant('threshold' as const), account, below: orNone(money) }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('move' as const), whose, account }) },
  {
    weight: 10,
    arbitrary: fc.record({ do: fc.constant('amend' as const), whose, limits: someLimits }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('amendAccount' as const),
      account,
      limits: sharedLimits,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('race' as const),
      whose,
      of: fc.constantFrom('key', 'account'),
      limit: fc.constantFrom(...RACED),
      offers: costs,
    }),
  },
  { weight: 20, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(40_000) }) },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('jump' as const),
      to: fc.constantFrom('midnight', 'month', 'window'),
      offBy: fc.integer({ min: -1, max: 1 }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  // Rare: a run whose keys are all revoked learns nothing more.
  { weight: 1, arbitrary: fc.record({ do: fc.constant('revoke' as const), whose }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
type Race = Extract<Step, { readonly do: 'race' }>

const ASKED = [fixedCost(10n as UsdNanos, 50)]
const OWNERS = ['key', 'account'] as const
/** A walk that runs every race while nothing else is held, so that one of the two hundred gets the last of the limit. */
const RACES: readonly Step[] = [
  ...OWNERS.flatMap((of) =>
    RACED.flatMap((limit): Step[] => [
      { do: 'race', whose: 0, of, limit, offers: ASKED },
      { do: 'settle', which: 0, share: 1 },
    ]),
  ),
  // Rare elsewhere.
  ...(['dailySpend', 'monthlySpend'] as const).flatMap((ceiling): Step[] => [
    {
      do: 'amendAccount',
      account: 'acct_1',
      limits: { ...NO_LIMITS, [ceiling]: 1n as UsdNanos },
    },
    { do: 'admit', whose: 0, endUser: null, offers: ASKED },
  ]),
]

const share = (account: 'acct_1' | 'acct_2', dailySpend: bigint): Step => ({
  do: 'amendAccount',
  account,
  limits: { ...NO_LIMITS, dailySpend: dailySpend as UsdNanos },
})
const ask = (whose: number): Step => ({ do: 'admit', whose, endUser: null, offers: ASKED })
const pay: Step = { do: 'settle', which: 0, share: 1 }
/** A walk in which what a key has spent, and what it spends of a request in progress, goes with it. */
const MOVES: readonly Step[] = [
  share('acct_1', 15n),
  share('acct_2', 25n),
  ...[ask(0), pay, ask(1), pay],
  { do: 'move', whose: 0, account: 'acct_2' },
  ...[ask(1), pay],
  { do: 'move', whose: 2, account: 'acct_2' },
  ask(0),
  { do: 'move', whose: 0, account: 'acct_1' },
  ...[ask(2), pay, pay],
  share('acct_2', 15n),
  ask(2),
]

interface World {
  store: Store
  readonly dataDir: string
  readonly clock: HandClock
  readonly keys: readonly ApiKey[]
  readonly claims: Claim[]
  readonly books: PlainBooks
  /** The races that were run, with what became of the last of the limit. */
  readonly raced: Set<string>
}

async function open(
  dataDir: string,
  balance: UsdNanos,
  limits: readonly Limits[],
  raced: Set<string>,
): Promise<World> {
  mkdirSync(dataDir)
  const clock = handClock('2026-08-31T23:58:30Z')
  const store = await openStore({ dataDir, clock })
  const books = plainBooks()
  const plain = { limits: NO_LIMITS, threshold: null, mark: null, told: 0 }
  for (const accountId of ACCOUNTS) {
    await store.accounts.create(anAccount({ id: accountId, name: accountId }), anAct())
    await store.ledger.credit(aTopUp(clock.now(), balance, { accountId }), anAct())
    books.accounts.set(accountId, { ...plain, balance })
  }
  const keys = limits.map((one) => aKey(clock.now(), one))
  for (const key of keys) {
    await store.keys.issue(key, newSecret(), anAct())
    books.keys.set(key.id, { limits: key.limits, revoked: false, accountId: key.accountId })
  }
  return { store, dataDir, clock, keys, claims: [], books, raced }
}

async function admit(
  world: World,
  key: ApiKey,
  endUser: string | null,
  offers: readonly OfferCost[],
): Promise<void> {
  const claim = { ...aClaim(key, world.clock.now()), endUser, offers }
  const expected = world.books.admit(claim)
  world.claims.push(claim)
  const verdict = await admitClaim(world.store.admissions, claim)
  const told = verdict.admitted
    ? { code: null, limit: null, of: null, resetsAt: null }
    : {
        code: verdict.refusal?.code,
        limit: verdict.refusal?.limit,
        of: verdict.refusal?.of ?? null,
        resetsAt: verdict.refusal?.resetsAt,
      }
  expect(told).toEqual(expected)
}

async function resolve(world: World, which: number, share: number | null): Promise<void> {
  const { books, claims } = world
  const running = claims.filter(
    ({ generationId }) => books.requests.get(generationId)?.cost === null,
  )
  // Mostly one in progress, so that much is spent; else any, which has to change nothing.
  const some = which % 4 === 3 || running.length === 0 ? claims : running
  const claim = some[which % some.length]
  if (!claim) return
  const request = books.requests.get(claim.generationId)
  const held = request?.hold ?? 0n
  const outputTokens = Math.floor((request?.tokensHeld ?? 0) * (share ?? 0))
  const cost = BigInt(Math.floor(Number(held) * (share ?? 0))) as UsdNanos
  const expected = books.resolve(claim.generationId, cost, outputTokens, world.clock.now())
  const settled = await world.store.admissions.settle(claim.generationId, {
    answer: null,
    at: world.clock.now(),
    charge: share === null ? null : aCharge(cost),
    activity: anActivity(claim, {
      cost,
      endUser: claim.endUser,
      usage: { ...NO_USAGE, outputTokens },
    }),
  })
  expect(settled).toBe(expected)
}

const AT_ONCE = 200

/** The last slot, place, token or nano-dollar of a limit, and two hundred who want it at once: it is exceeded by one request at most. */
async function race(world: World, key: ApiKey, { of, limit, offers }: Race): Promise<void> {
  const { books, clock, keys, store } = world
  const now = clock.now()
  const accountId = books.keys.get(key.id)?.accountId ?? 'acct_1'
  const owner = of === 'key' ? key.id : accountId
  const last = books.taken(limit, owner, now) + 1
  const whose = of === 'key' ? books.keys.get(key.id) : books.accounts.get(accountId)
  if (!whose) return
  const together = keys.filter(({ id }) => books.keys.get(id)?.accountId === accountId)
  const { limits: before } = whose
  const set = async (limits: Limits): Promise<void> => {
    whose.limits = limits
    if (of === 'account') await store.accounts.amend(accountId, { limits }, anAct(now))
    else await store.keys.amend(key.id, { limits }, anAct(now))
  }
  await set({ ...before, [limit]: limit.endsWith('Spend') ? BigInt(last) : last })
  // What has to be read for the new limit is read before, so that they are judged in the order in which they ask.
  const ids = keys.map(({ id }) => id)
  await store.admissions.quota(ids, now)
  const known = new Set(books.requests.keys())
  const racing = Array.from({ length: AT_ONCE }, (_, n) =>
    admit(world, of === 'key' ? key : (together[n % together.length] ?? key), null, offers),
  )
  await Promise.all(racing)
  const come = [...books.requests].filter(([id]) => !known.has(id)).map(([, one]) => one)
  const most = {
    tpm: Math.max(0, ...come.map(({ tokensHeld }) => tokensHeld)),
    dailySpend: Math.max(0, ...come.map(({ hold }) => Number(hold))),
    monthlySpend: Math.max(0, ...come.map(({ hold }) => Number(hold))),
  }
  const excess = books.taken(limit, owner, now) - last
  expect(excess).toBeLessThanOrEqual({ rpm: 0, rpd: 0, concurrency: 0, ...most }[limit])
  world.raced.add(`${of} ${limit} ${come.length === 0 ? 'refused' : 'taken'}`)
  await set(before)
}

function jump({ clock }: World, to: string, offBy: number): void {
  const today = dayOf(clock.now())
  const targets: Record<string, number> = {
    midnight: dayStart(nextDay(today)),
    month: dayStart(nextMonthStart(today)),
    window: clock.now() + 60_000,
  }
  const target = (targets[to] ?? 0) + offBy
  if (target > clock.now()) clock.set(instant(target))
}

async function take(world: World, one: Step): Promise<void> {
  const { clock, books } = world
  const key = 'whose' in one ? world.keys[one.whose] : world.keys[0]
  if (!key) return
  switch (one.do) {
    case 'admit':
      return admit(world, key, one.endUser, one.offers)
    case 'burst':
      await Promise.all(one.claims.map((offers) => admit(world, key, one.endUser, offers)))
      return
    case 'settle':
      return resolve(world, one.which, one.share)
    case 'void':
      return resolve(world, one.which, null)
    case 'race':
      if (books.keys.get(key.id)?.revoked) return
      return race(world, key, one)
    case 'topUp':
      books.topUp(one.account, one.amount, clock.now())
      expect(
        await world.store.ledger.credit(
          aTopUp(clock.now(), one.amount, { accountId: one.account }),
          anAct(),
        ),
      ).toBe(books.accounts.get(one.account)?.balance)
      return
    case 'threshold':
      books.setThreshold(one.account, one.below, clock.now())
      await world.store.thresholds.set(
        aThreshold({ accountId: one.account, below: one.below, webhookUrl: null }),
        undefined,
        anAct(clock.now()),
      )
      return
    case 'amend': {
      const known = books.keys.get(key.id)
      const amended = world.store.keys.amend(key.id, { limits: one.limits }, anAct(clock.now()))
      if (known?.revoked) return void (await expect(amended).rejects.toThrow())
      await amended
      if (known) known.limits = one.limits
      return
    }
    case 'amendAccount': {
      await world.store.accounts.amend(one.account, { limits: one.limits }, anAct(clock.now()))
      const known = books.accounts.get(one.account)
      if (known) known.limits = one.limits
      return
    }
    case 'move': {
      const moved = world.store.keys.move(key.id, one.account, anAct(clock.now()))
      if (books.keys.get(key.id)?.revoked) return void (await expect(moved).rejects.toThrow())
      await moved
      books.move(key.id, one.account)
      return
    }
    case 'revoke': {
      await world.store.keys.revoke(key.id, anAct(clock.now()))
      const known = books.keys.get(key.id)
      if (known) known.revoked = true
      return
    }
    case 'wait':
      return clock.advance(one.ms)
    case 'jump':
      return jump(world, one.to, one.offBy)
    case 'restart':
      await world.store.close()
      world.store = await openStore({ dataDir: world.dataDir, clock })
      books.crash()
  }
}

const toldBy = ({ accounts }: PlainBooks): number =>
  [...accounts.values()].reduce((sum, { told }) => sum + told, 0)

async function compare({ store, clock, keys, books }: World): Promise<void> {
  const balances = [...books.accounts.values()].map(({ balance }) => ({
    balance,
    ledgerSum: balance,
  }))
  expect(await store.audit()).toMatchObject({ balances, findings: [] })
  for (const { id } of keys) {
    expect(await store.admissions.usage(id, clock.now())).toMatchObject(
      books.usage(id, clock.now()),
    )
  }
  expect(books.overshoots()).toEqual([])
  const days = (await store.admissions.spendByDay(0 as Day)).filter(({ spent }) => spent > 0n)
  for (const [id, { mark }] of books.accounts) {
    const own = days.filter(({ accountId }) => accountId === id)
    expect(new Map(own.map(({ day, spent }) => [renderDay(day), spent]))).toEqual(books.daysOf(id))
    expect((await store.thresholds.find(id)).mark?.notifiedAt ?? null).toBe(mark)
  }
  expect(await store.notices.list({ limit: 10_000 })).toHaveLength(toldBy(books))
}

/** Every request has exactly one line, and one entry if it cost anything or was charged nothing. */
async function compareLog({ store, books }: World): Promise<void> {
  const lines = await store.activity.list({ limit: 10_000 })
  const resolved = [...books.requests].filter(([, { cost }]) => cost !== null)
  expect(lines.map(({ generationId }) => generationId).sort()).toEqual(
    resolved.map(([id]) => id).sort(),
  )
  const charges = await store.ledger.list({ kind: 'charge', limit: 10_000 })
  expect(new Set(charges.map(({ generationId }) => generationId)).size).toBe(charges.length)
  for (const { generationId, amount, keyId, accountId } of charges) {
    const request = books.requests.get(generationId ?? '')
    expect({ keyId, accountId, cost: -amount }).toEqual({
      keyId: request?.keyId,
      accountId: request?.accountId,
      cost: request?.cost,
    })
  }
  for (const { generationId, accountId } of lines) {
    expect(accountId).toBe(books.requests.get(generationId)?.accountId)
  }
}

const VERDICTS = [
  'admitted',
  'concurrency_limit_exceeded',
  'daily_spend_limit_exceeded',
  'end_user_daily_usd',
  'end_user_rpm',
  'insufficient_balance',
  'key_revoked',
  'monthly_spend_limit_exceeded',
  'rate_limit_exceeded',
  'spend_reserved',
  'tpm_limit',
  'concurrency_limit_exceeded of the account',
  'daily_spend_limit_exceeded of the account',
  'monthly_spend_limit_exceeded of the account',
  'rate_limit_exceeded of the account',
  'spend_reserved of the account',
]

test('the store and the plain books agree after every step', async () => {
  const parent = tempDirectory()
  const codes = new Set<string>()
  const raced = new Set<string>()
  let steps = 0
  let told = 0
  let runs = 0
  const walks = fc.asyncProperty(
    fc.array(fc.oneof(someLimits, fc.constant(NO_LIMITS)), { minLength: KEYS, maxLength: KEYS }),
    money,
    fc.array(step, { minLength: 60, maxLength: 100 }),
    async (limits, balance, walk) => {
      const world = await open(join(parent, `${runs++}`), balance, limits, raced)
      const { admit: judge } = world.books
      world.books.admit = (claim) => {
        const expected = judge(claim)
        codes.add(expected.code ?? 'admitted')
        if (expected.limit?.startsWith('end_user')) codes.add(expected.limit)
        if (expected.limit === 'tpm_limit') codes.add(expected.limit)
        if (expected.of) codes.add(`${expected.code} of the account`)
        return expected
      }
      try {
        for (const one of walk) {
          await take(world, one)
          await compare(world)
          steps++
        }
        await compareLog(world)
        told += toldBy(world.books)
      } finally {
        await world.store.close()
      }
    },
  )
  const known = [RACES, MOVES].map((walk): [Limits[], UsdNanos, Step[]] => [
    Array(KEYS).fill(NO_LIMITS),
    1_000n as UsdNanos,
    [...walk],
  ])
  await fc.assert(walks, { ...KNOWN, examples: known })
  // The walks went everywhere: every verdict was met, and the steps were not a handful.
  expect([...codes].sort()).toEqual([...VERDICTS].sort())
  expect([...raced].filter((one) => one.endsWith('taken')).sort()).toEqual(
    RACED.flatMap((limit) => [`account ${limit} taken`, `key ${limit} taken`]).sort(),
  )
  if (FULL) await fc.assert(walks, { numRuns: NEW_RUNS })
  expect(steps).toBeGreaterThan(runs * 50)
  expect(told).toBeGreaterThan(runs / 3)
}, 600_000)
