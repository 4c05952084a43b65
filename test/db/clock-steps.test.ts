// Whatever the clock of the machine does between requests, nothing opens twice, and the books stay those of the ledger.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { openPostgres } from '#db/postgres/store.ts'
import { openVault } from '#db/vault.ts'
import type { Claim } from '#domain/admission.ts'
import { type Clock, DAY_MS, MINUTE_MS } from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { type Limits, NO_LIMITS } from '#domain/limits.ts'
import type { UsdNanos } from '#domain/money.ts'
import { newSecret } from '#domain/secret.ts'
import type { Store } from '#domain/store.ts'
import { admitClaim } from '#test/support/admit.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { type HandClock, handClock } from '#test/support/hand-clock.ts'
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
import { POSTGRES_BIN } from '#test/support/postgres.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { FULL } from '#test/support/tier.ts'

const KEYS = 2
const SEED = process.env['SEED'] === undefined ? null : Number(process.env['SEED'])
const HOLD = 100n as UsdNanos

const orNone = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: null, freq: 2 })
const money = fc.integer({ min: 100, max: 1_500 }).map((amount) => BigInt(amount) as UsdNanos)
const someLimits: fc.Arbitrary<Limits> = fc
  .record({
    rpm: orNone(fc.integer({ min: 1, max: 4 })),
    rpd: orNone(fc.integer({ min: 1, max: 9 })),
    concurrency: orNone(fc.integer({ min: 1, max: 4 })),
    dailySpend: orNone(money),
    monthlySpend: orNone(money),
  })
  .map((some) => ({ ...NO_LIMITS, ...some }))

const whose = fc.nat(KEYS - 1)
const STEPS = [1_000, 30_000, 90_000, 10 * MINUTE_MS, DAY_MS / 8, 2 * DAY_MS, 40 * DAY_MS]
const step = fc.oneof(
  { weight: 40, arbitrary: fc.record({ do: fc.constant('admit' as const), whose }) },
  { weight: 20, arbitrary: fc.record({ do: fc.constant('settle' as const), which: fc.nat() }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(40_000) }) },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('step' as const),
      ms: fc.constantFrom(...STEPS, ...STEPS.map((ms) => -ms)),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('right' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const HALF_AN_HOUR = 30 * MINUTE_MS
const ask: Step = { do: 'admit', whose: 0 }
/** Behind, and right again within the minute of those before. */
const BEHIND: Step[] = [
  ...[ask, ask],
  { do: 'step', ms: -HALF_AN_HOUR },
  ...[ask, ask],
  { do: 'wait', ms: 1_000 },
  { do: 'right' },
  ...[ask, ask],
]

/** Ahead, then behind, and right again at a time that is before the one that it was ahead at. */
const AHEAD_THEN_BEHIND: Step[] = [
  { do: 'step', ms: 1_000 },
  ...[ask, ask],
  { do: 'wait', ms: 30_000 },
  ask,
  { do: 'step', ms: -90_000 },
  ask,
  { do: 'right' },
  ...[ask, ask],
]

/** Opens one store, and opens it again. */
type Reopen = (clock: Clock) => Promise<Store>

interface World {
  store: Store
  readonly reopen: Reopen
  readonly clock: HandClock
  /** By how much the steps of the clock have put it wrong. */
  wrongMs: number
  readonly keys: readonly ApiKey[]
  readonly shared: Limits
  /** With the time that had passed by then, whatever the clock said. */
  readonly admitted: { readonly claim: Claim; readonly passedMs: number }[]
  readonly running: Set<Claim>
  spent: UsdNanos
}

const BALANCE = usd('1')

async function open(reopen: Reopen, own: readonly Limits[], shared: Limits): Promise<World> {
  const clock = handClock('2026-08-31T23:50:00Z')
  const store = await reopen(clock)
  await store.accounts.create(anAccount({ limits: shared }), anAct())
  await store.ledger.credit(aTopUp(clock.now(), BALANCE), anAct())
  const keys = own.map((limits) => aKey(clock.now(), limits))
  for (const key of keys) await store.keys.issue(key, newSecret(), anAct())
  const running = new Set<Claim>()
  const none = { admitted: [], spent: 0n as UsdNanos, wrongMs: 0 }
  return { store, reopen, clock, keys, shared, running, ...none }
}

async function take(world: World, one: Step): Promise<void> {
  const { clock, keys, running } = world
  switch (one.do) {
    case 'admit': {
      const key = keys[one.whose]
      if (key === undefined) return
      const claim = aClaim(key, clock.now(), HOLD)
      if (!(await admitClaim(world.store.admissions, claim)).admitted) return
      expect(opened(world, claim, key)).toEqual([])
      world.admitted.push({ claim, passedMs: clock.monotonicMs() })
      running.add(claim)
      return
    }
    case 'settle': {
      const claim = [...running][one.which % Math.max(1, running.size)]
      if (claim === undefined) return
      running.delete(claim)
      world.spent = (world.spent + HOLD) as UsdNanos
      const [charge, activity] = [aCharge(HOLD), anActivity(claim, { cost: HOLD })]
      const settlement = { answer: null, at: clock.now(), charge, activity }
      expect(await world.store.admissions.settle(claim.generationId, settlement)).toBe(true)
      return
    }
    case 'wait':
      return clock.advance(one.ms)
    case 'step':
      world.wrongMs += one.ms
      return clock.step(one.ms)
    case 'right':
      clock.step(-world.wrongMs)
      world.wrongMs = 0
      return
    case 'restart':
      await world.store.close()
      world.store = await world.reopen(clock)
      running.clear()
  }
}

/**
 * Which windows and places were not free when the claim was admitted. A slot frees one window after its request (contract §8): when
 * that time has passed, or when a clock that jumped ahead says so.
 */
function opened({ admitted, running, shared, clock }: World, claim: Claim, key: ApiKey): string[] {
  const passed = clock.monotonicMs()
  const owners = [
    ['key', key.limits, (one: Claim) => one.keyId === key.id],
    ['account', shared, () => true],
  ] as const
  return owners.flatMap(([whose, { rpm, rpd, concurrency }, isOf]) => {
    const within = (spanMs: number) =>
      admitted.filter(
        ({ claim: one, passedMs }) =>
          isOf(one) &&
          passed - passedMs < spanMs &&
          one.at <= claim.at &&
          one.at > claim.at - spanMs,
      ).length
    const used = [
      ['rpm', within(MINUTE_MS), rpm],
      ['rpd', within(DAY_MS), rpd],
      ['concurrency', [...running].filter(isOf).length, concurrency],
    ] as const
    return used.flatMap(([name, taken, limit]) =>
      limit !== null && taken >= limit ? [`${whose} ${name}: ${taken} of ${limit} were taken`] : [],
    )
  })
}

/** Ceilings of a day or month of the ledger that were crossed by more than the one request that may. */
async function crossed({ store, keys, shared }: World): Promise<string[]> {
  const charges = await store.ledger.list({ kind: 'charge', limit: 1_000 })
  const rows = charges.map(({ keyId, day, amount }) => ({ keyId, day: day ?? 0, spent: -amount }))
  const monthOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 7)
  const owners = [
    ...keys.map(({ id, limits }) => [id, limits, (keyId: KeyId | null) => keyId === id] as const),
    ['account', shared, () => true] as const,
  ]
  return owners.flatMap(([whose, { dailySpend, monthlySpend }, isOf]) => {
    const own = rows.filter(({ keyId }) => isOf(keyId))
    const isOver = (
      ceiling: UsdNanos | null,
      periodOf: (day: number) => string | number,
    ): boolean =>
      ceiling !== null &&
      [...Map.groupBy(own, ({ day }) => periodOf(day)).values()].some(
        (of) => of.reduce((sum, { spent }) => sum + spent, 0n) > ceiling + HOLD,
      )
    return [
      ...(isOver(dailySpend, (day) => day) ? [`${whose}: a day`] : []),
      ...(isOver(monthlySpend, monthOf) ? [`${whose}: a month`] : []),
    ]
  })
}

async function compare(world: World): Promise<void> {
  const { store, clock, keys, running, spent } = world
  const balance = BALANCE - spent
  expect(await store.audit()).toMatchObject({
    balances: [{ balance, ledgerSum: balance }],
    findings: [],
  })
  for (const { id } of keys) {
    const own = [...running].filter(({ keyId }) => keyId === id).length
    expect(await store.admissions.usage(id, clock.now())).toMatchObject({
      requestsInProgress: own,
      reserved: BigInt(own) * HOLD,
    })
  }
  expect(await crossed(world)).toEqual([])
}

/** `create` makes an empty store. */
async function walk(
  create: () => Promise<Reopen> | Reopen,
  { numRuns, seed }: { readonly numRuns: number; readonly seed: number },
): Promise<void> {
  let runs = 0
  let admitted = 0
  const walks = fc.asyncProperty(
    fc.array(someLimits, { minLength: KEYS, maxLength: KEYS }),
    someLimits,
    fc.array(step, { minLength: 40, maxLength: 80 }),
    async (own, shared, steps) => {
      runs++
      const world = await open(await create(), own, shared)
      try {
        for (const one of steps) {
          await take(world, one)
          await compare(world)
        }
        admitted += world.admitted.length
      } finally {
        await world.store.close()
      }
    },
  )
  const limits = { ...NO_LIMITS, rpm: 2 }
  const examples: [Limits[], Limits, Step[]][] = [
    [[limits, limits], NO_LIMITS, BEHIND],
    [[NO_LIMITS, NO_LIMITS], limits, BEHIND],
    [[limits, limits], NO_LIMITS, AHEAD_THEN_BEHIND],
    [[NO_LIMITS, NO_LIMITS], limits, AHEAD_THEN_BEHIND],
  ]
  await fc.assert(walks, { seed, numRuns, examples })
  expect(admitted).toBeGreaterThan(runs * 2)
}

test('nothing opens twice', async () => {
  const parent = tempDirectory()
  let count = 0
  const create = (): Reopen => {
    const dataDir = join(parent, `${count++}`)
    mkdirSync(dataDir)
    return (clock) => openStore({ dataDir, clock })
  }
  await walk(create, {
    numRuns: FULL ? 200 : 6,
    seed: SEED ?? Math.floor(Math.random() * 2 ** 31),
  })
}, 600_000)

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('PostgreSQL', () => {
    const cluster = clusterForAll(bin)

    test('nothing opens twice', async () => {
      const vault = openVault(new Uint8Array(32).fill(7))
      const create = async (): Promise<Reopen> => {
        const address = await cluster.create()
        return (clock) => openPostgres({ address, clock, node: 'a', vault })
      }
      // It knows no time but its clock's, and may take one that was set forward in between for time that passed.
      await walk(create, { numRuns: FULL ? 20 : 5, seed: SEED ?? 782_555_575 })
    }, 600_000)
  })
}
