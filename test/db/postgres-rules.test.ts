// The rule of admission is written twice, in the domain and in the database: both judge the same random standings alike.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { askAdmission, toVerdict } from '#db/postgres/admission/admit.ts'
import { type Database, openDatabase } from '#db/postgres/engine/database.ts'
import {
  type Claim,
  type EndUserStanding,
  judgeClaim,
  type Standing,
  type Use,
} from '#domain/admission.ts'
import { dayOf, type Instant, instant, later } from '#domain/clock.ts'
import { type GenerationId, newEpochId, newGenerationId } from '#domain/id.ts'
import { type Limits, NO_LIMITS } from '#domain/limits.ts'
import { NO_MONEY, type UsdNanos } from '#domain/money.ts'
import { type OfferCost, outputCost } from '#domain/offer-cost.ts'
import { Window } from '#domain/window.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { aClaim, aKey } from '#test/support/nouns.ts'
import { POSTGRES_BIN } from '#test/support/postgres.ts'
import { FULL } from '#test/support/tier.ts'

const STANDINGS = FULL ? 100_000 : 400
const BATCH = 250

/** The same for the same seed. */
function drawer(seed: number) {
  let state = seed
  const draw = (): number => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0
    let x = Math.imul(state ^ (state >>> 12), 0x297a2d39)
    x ^= x >>> 15
    return (x >>> 0) / 2 ** 32
  }
  const below = (most: number): number => Math.floor(draw() * most)
  return {
    below,
    chance: (share: number): boolean => draw() < share,
    /** Often alike, so that limits are met exactly. */
    usd: (): UsdNanos =>
      (draw() < 0.2 ? NO_MONEY : BigInt(below(40)) * 25_000_000n + BigInt(below(3))) as UsdNanos,
  }
}
type Draw = ReturnType<typeof drawer>

const SECOND = 1_000
const NOW = instant(Date.parse('2026-08-22T12:00:00Z'))

interface Slot {
  readonly at: Instant
  readonly id: GenerationId
  /** Negative while it is in progress. */
  readonly weight: number
}

function drawLimits({ chance, below, usd }: Draw, isOfKey: boolean): Limits {
  const some = <T>(value: T): T | null => (chance(0.4) ? value : null)
  return {
    ...NO_LIMITS,
    rpm: some(1 + below(6)),
    rpd: some(1 + below(8)),
    tpm: some(1 + below(4_000)),
    concurrency: some(1 + below(5)),
    dailySpend: some(usd()),
    monthlySpend: some(usd()),
    ...(isOfKey && { endUserRpm: some(1 + below(4)), endUserDailySpend: some(usd()) }),
  }
}

const drawSlots = ({ below, chance }: Draw): readonly Slot[] =>
  Array.from({ length: below(8) }, () => later(NOW, -below(chance(0.7) ? 70 : 90_000) * SECOND))
    .sort((a, b) => a - b)
    .map((at) => ({
      at,
      id: newGenerationId(at),
      weight: chance(0.4) ? -(1 + below(900)) : below(900),
    }))

function drawOffer({ below, chance, usd }: Draw): OfferCost {
  const choices = 1 + below(3)
  const full = below(5_000)
  const perMillion = (usd() * 1_000n + BigInt(below(1_000))) as UsdNanos
  return {
    promptTokens: below(500),
    base: usd(),
    perMillion,
    choices,
    full,
    floor: chance(0.3) ? full : below(full + 1),
    fullOutput: outputCost(perMillion, choices, full),
  }
}

function windowOf(slots: readonly Slot[], spanMs: number, weighs: boolean): Window {
  const window = new Window(spanMs, weighs)
  const inSpan = slots.filter(({ at }) => at > NOW - spanMs)
  if (weighs) window.restoreWeighed(inSpan, NOW)
  else
    window.restore(
      inSpan.map(({ at }) => at),
      NOW,
    )
  return window
}

function drawUse(limits: Limits, slots: readonly Slot[], draw: Draw): Use {
  const spending = () => ({ spent: draw.usd(), held: draw.usd() })
  return {
    minute: limits.rpm === null ? null : windowOf(slots, 60 * SECOND, false),
    day: limits.rpd === null ? null : windowOf(slots, 86_400 * SECOND, false),
    tokens: limits.tpm === null ? null : windowOf(slots, 60 * SECOND, true),
    daySpend: spending(),
    monthSpend: spending(),
  }
}

interface Drawn {
  readonly claim: Claim
  readonly standing: Standing
  readonly endUser: EndUserStanding | null
  readonly ofKey: readonly Slot[]
  /** Of other keys of its account. */
  readonly ofAccount: readonly Slot[]
}

function drawOne(draw: Draw, nth: number): Drawn {
  const { below, chance, usd } = draw
  const limits = drawLimits(draw, true)
  const accountLimits = drawLimits(draw, false)
  const key = { ...aKey(NOW, limits), accountId: `acct_${nth}` as const }
  const ofKey = drawSlots(draw)
  const ofAccount = chance(0.5) ? drawSlots(draw) : []
  const all = [...ofKey, ...ofAccount].toSorted((a, b) => a.at - b.at)
  const offers = Array.from({ length: 1 + below(3) }, () => drawOffer(draw))
  const claim: Claim = {
    ...aClaim(key, NOW),
    owner: { node: 'a', epoch: newEpochId(NOW) },
    endUser: chance(0.5) ? 'ann' : null,
    offers,
  }
  const held = usd()
  return {
    claim,
    ofKey,
    ofAccount,
    standing: {
      key: { limits },
      today: dayOf(NOW),
      inProgress: below(5),
      ...drawUse(limits, ofKey, draw),
      account: {
        balance: chance(0.3) ? ((usd() * 1_000n) as UsdNanos) : usd(),
        held,
        inProgress: below(6),
        limits: accountLimits,
        use: drawUse(accountLimits, all, draw),
      },
    },
    endUser:
      claim.endUser === null
        ? null
        : {
            minute: limits.endUserRpm === null ? null : windowOf(ofKey, 60 * SECOND, false),
            daySpend: { spent: usd(), held: chance(0.5) ? NO_MONEY : usd() },
            inProgress: 1,
          },
  }
}

const limitsText = (limits: Limits): string =>
  JSON.stringify(limits, (_, value) => (typeof value === 'bigint' ? Number(value) : value))

/** A row of the log whose prompt has so many tokens. */
const LOGGED = `INSERT INTO activity (generation_id, request_id, account_id, key_id, admitted, model, stream, status, ended_by, started_at, admitted_at,
    total_ms, input_tokens, cache_read_tokens, cache_write_tokens, image_input_tokens, output_tokens, reasoning_tokens, image_output_tokens, input_images,
    output_images, search_units, cost_nanos, cost_rub_micros, operator_cost_nanos, cache_write_1h_tokens, surface)
  SELECT *, 'r', 'a', 'k', true, 'm', false, 200, 'completed', 0, 0, 0, $tokens::bigint, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'chat' FROM (SELECT $id::text) x`
const HELD = `INSERT INTO holds (generation_id, request_id, account_id, key_id, model, amount_nanos, admitted_at, day, node, epoch, surface, tokens, counted_as)
  VALUES ($id, 'r', $account, $key, 'm', $amount, 0, $day, 'a', 'e', 'chat', $tokens, $name)`

async function write(database: Database, drawn: Drawn): Promise<void> {
  const { claim, standing, endUser, ofKey, ofAccount } = drawn
  const { account } = standing
  const { keyId: key, accountId: id } = claim
  const day = dayOf(NOW)
  const all = [
    ...ofKey.map((slot) => ({ ...slot, isOwn: true })),
    ...ofAccount.map((slot) => ({ ...slot, isOwn: false })),
  ].toSorted((a, b) => a.at - b.at)
  await database.transact(async (tx) => {
    await tx.run(
      'INSERT INTO accounts (id, name, created_at, limits) VALUES (?, ?, 0, ?)',
      ...[id, id, limitsText(account.limits)],
    )
    const last = all.at(-1)?.at ?? 0
    await tx.run(
      `INSERT INTO account_state (account_id, balance_nanos, held_nanos, in_progress, pos, newest_at, taken, day, summed, spent_day, held_day, spent_month, held_month)
       VALUES ($id, $balance, $held, $inProgress, $last, $last, $taken, $day, true, $sd, $hd, $sm, $hm)`,
      {
        ...{ id, balance: account.balance, held: account.held, inProgress: account.inProgress },
        ...{ last, taken: all.length, day },
        ...sums(account.use),
      },
    )
    await tx.run(
      `INSERT INTO keys (id, account_id, name, kind, label, limits, created_at, updated_at) VALUES (?, ?, 'k', 'ordinary', 'l', ?, 0, 0)`,
      ...[key, id, limitsText(standing.key.limits)],
    )
    await tx.run(
      `INSERT INTO key_state (key_id, in_progress, taken, day, spent_day, held_day, spent_month, held_month)
       VALUES ($key, $inProgress, $taken, $day, $sd, $hd, $sm, $hm)`,
      { key, inProgress: standing.inProgress, taken: ofKey.length, day, ...sums(standing) },
    )
    let nth = 0
    let place = 0
    for (const { at, id: generation, weight, isOwn } of all) {
      place++
      if (isOwn) nth++
      await tx.run(
        `INSERT INTO slots (generation_id, key_id, account_id, at, pos, nth, account_nth, end_user)
         VALUES ($generation, $owner, $id, $at, $at, $nth, $place, $name)`,
        {
          generation,
          owner: isOwn ? key : `other_${id}`,
          id,
          at,
          nth: isOwn ? nth : 0,
          place,
          name: isOwn ? 'ann' : null,
        },
      )
      const tokens = Math.abs(weight)
      if (weight >= 0) await tx.run(LOGGED, { id: generation, tokens })
      else {
        const of = { account: 'none', key: 'none', amount: 0, day, name: null }
        await tx.run(HELD, { id: generation, tokens, ...of })
      }
    }
    if (endUser === null) return
    await tx.run(
      "INSERT INTO end_user_days (key_id, day, end_user, spent_nanos, requests) VALUES (?, ?, 'ann', ?, 1)",
      ...[key, day, endUser.daySpend.spent],
    )
    const of = { account: id, key, amount: endUser.daySpend.held, day, name: 'ann' }
    await tx.run(HELD, { id: `held ${key}`, tokens: 1, ...of })
  })
}

const sums = (use: Pick<Use, 'daySpend' | 'monthSpend'> | null) => ({
  sd: use?.daySpend.spent ?? 0,
  hd: use?.daySpend.held ?? 0,
  sm: use?.monthSpend.spent ?? 0,
  hm: use?.monthSpend.held ?? 0,
})

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('the rule of admission', () => {
    const cluster = clusterForAll(bin)
    let database: Database
    beforeAll(async () => {
      const owner = { node: 'a', epoch: newEpochId(NOW) }
      const address = await cluster.create()
      database = openDatabase(address, {
        clock: handClock('2026-08-22T12:00:00Z'),
        owner,
        vault: null,
      })
    })
    afterAll(async () => {
      await database.close()
    })

    test(
      'is the same in the domain and in the database: verdict, money and hold',
      async () => {
        const draw = drawer(7)
        const seen = new Map<string, number>()
        for (let done = 0; done < STANDINGS; done += BATCH) {
          const batch = Array.from({ length: BATCH }, (_, nth) => drawOne(draw, done + nth))
          for (const drawn of batch) await write(database, drawn)
          const rows = await askAdmission(
            database,
            batch.map(({ claim }) => claim),
            false,
            { now: () => NOW, epoch: () => database.owner.epoch },
          )
          batch.forEach(({ claim, standing, endUser }, nth) => {
            const expected = judgeClaim(claim, standing, endUser)
            const verdict = toVerdict(rows[nth], claim)
            if (typeof verdict !== 'object' || !('grant' in verdict)) throw new Error('no verdict')
            const refusal = verdict.admitted ? null : verdict.refusal
            const name = refusal === null ? 'admitted' : `${refusal.of ?? 'key'} ${refusal.limit}`
            seen.set(name, (seen.get(name) ?? 0) + 1)
            expect({ nth: done + nth, grant: verdict.grant, refusal }).toEqual({
              nth: done + nth,
              ...expected,
            })
          })
          await database.run('TRUNCATE slots, holds, activity, end_user_days')
        }
        // Each rule has refused, and some were admitted.
        expect([...seen.keys()].sort()).toEqual([
          'account concurrency_limit',
          'account daily_spend_limit_usd',
          'account monthly_spend_limit_usd',
          'account rpd_limit',
          'account rpm_limit',
          'account tpm_limit',
          'admitted',
          'key balance_usd',
          'key concurrency_limit',
          'key daily_spend_limit_usd',
          'key end_user_daily_usd',
          'key end_user_rpm',
          'key monthly_spend_limit_usd',
          'key rpd_limit',
          'key rpm_limit',
          'key tpm_limit',
        ])
      },
      FULL ? 1_800_000 : 240_000,
    )
  })
}
