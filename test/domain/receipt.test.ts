// A receipt tells what the ledger says, to the nano-dollar, from what was counted; and who was asked, how often, how it ended.

import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ActivityEntry } from '#domain/activity.ts'
import type { ChatEvent } from '#domain/chat.ts'
import { later } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { chargeEntryId } from '#domain/id.ts'
import type { Caller } from '#domain/key.ts'
import type { LedgerEntry } from '#domain/ledger.ts'
import type { ImageChoice, Prices } from '#domain/model-card.ts'
import { negateUsd, roundToNanos, type UsdAttos } from '#domain/money.ts'
import { chargeFor } from '#domain/pricing.ts'
import { type Receipt, readReceipt, toReceipt } from '#domain/receipt.ts'
import { renderReceipt } from '#domain/receipt-report.ts'
import { type FailureKind, UpstreamFailure } from '#domain/upstream.ts'
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import type { Work } from '#domain/work.ts'
import { priceOf } from '#test/support/catalogue.ts'
import {
  aClaim,
  aHop,
  aKey,
  anAct,
  anActivity,
  aProvider,
  aRequest,
  aRoute,
  aTopUp,
  aVersion,
  perM,
  price,
  rate,
  usd,
} from '#test/support/nouns.ts'
import {
  eventually,
  finish,
  never,
  type Script,
  script,
  text,
  until,
} from '#test/support/scripted-upstream.ts'
import { FULL } from '#test/support/tier.ts'
import { COUNTED, openWalkBench, type Walk, type WalkBench } from './walk/walking.ts'

const RATE = rate('92.5')
const ANY: ImageChoice = { resolution: undefined, quality: undefined }

/** The receipt of this usage at these prices, charged as the walk charges it. */
function receiptOf(usage: Usage, prices: Partial<Prices>, image: ImageChoice | null = null) {
  const claim = aClaim(aKey(later(START, 0)), START)
  const version = aVersion(prices)
  const charge = chargeFor(usage, version, RATE, 'provider', image ?? ANY)
  const { amount: cost, costRub } = charge
  const entry = anActivity(claim, { usage, usageSource: 'provider', cost, costRub, image })
  const booked: LedgerEntry = {
    ...aTopUp(START, negateUsd(cost)),
    id: chargeEntryId(claim.generationId),
    kind: 'charge',
    rubPerUsd: RATE,
    priceVersion: version.id,
  }
  return toReceipt({ entry, keyName: 'worker', charge: booked, version })
}

const START = later(0 as ActivityEntry['startedAt'], 1_755_900_000_000)

const linesOf = (receipt: Receipt) =>
  renderReceipt(receipt).lines.map(
    (line) => `${line.count} ${line.class} × ${line.unit_price_usd} = ${line.amount_usd}`,
  )

describe('the lines', () => {
  test('name each class of tokens with its own price', () => {
    const usage = {
      ...NO_USAGE,
      inputTokens: 22,
      cacheReadTokens: 1_000,
      cacheWriteTokens: 100,
      outputTokens: 3,
      reasoningTokens: 2,
    }
    const receipt = receiptOf(usage, { cacheRead: perM('0.25') })
    expect(linesOf(receipt)).toEqual([
      '22 input_tokens × 0.0000025 = 0.000055',
      '1000 cache_read_tokens × 0.00000025 = 0.00025',
      '100 cache_write_tokens × 0.0000025 = 0.00025',
      '3 output_tokens × 0.00001 = 0.00003',
    ])
    expect(renderReceipt(receipt)).toMatchObject({
      cost_usd: '0.000585',
      cost_rub: 0.054113,
      rub_per_usd: '92.5',
      usage: { prompt_tokens: 1_122, completion_tokens: 3, reasoning_tokens: 2, images: 0 },
    })
  })

  test('show the prices of the tier that the prompt fell into', () => {
    const tier = {
      cacheRead: null,
      cacheWrite: null,
      cacheWrite1h: null,
      prompt: perM('5'),
      completion: perM('20'),
    }
    const tiers = [{ ...tier, aboveTokens: 200 }]
    const usage = { ...NO_USAGE, inputTokens: 200, outputTokens: 1 }
    expect(linesOf(receiptOf(usage, { tiers }))[0]).toBe('200 input_tokens × 0.0000025 = 0.0005')
    expect(linesOf(receiptOf({ ...usage, cacheReadTokens: 1 }, { tiers }))).toEqual([
      '200 input_tokens × 0.000005 = 0.001',
      '1 cache_read_tokens × 0.000005 = 0.000005',
      '1 output_tokens × 0.00002 = 0.00002',
    ])
  })

  test('show an image at the price of its size, which is named', () => {
    const imagePrices = [
      { resolution: '1024x1024', quality: 'low', usd: price('0.01') },
      { resolution: '1024x1024', quality: 'high', usd: price('0.19') },
    ]
    const usage = { ...NO_USAGE, outputImages: 2, imageOutputTokens: 8_000 }
    const low = receiptOf(usage, { imagePrices }, { resolution: '1024x1024', quality: 'low' })
    expect(linesOf(low)).toEqual([
      '8000 image_output_tokens × 0 = 0',
      '2 output_images × 0.01 = 0.02',
    ])
    expect(renderReceipt(low).image).toEqual({ resolution: '1024x1024', quality: 'low' })
    // Nothing was said of its size: the dearest was charged.
    const unsaid = receiptOf(usage, { imagePrices })
    expect(unsaid.total).toBe(usd('0.38'))
    expect(linesOf(unsaid)[1]).toBe('2 output_images × 0.19 = 0.38')
    expect(renderReceipt(unsaid).image).toBeNull()
  })

  test('of any usage at any price round to the charge exactly', () => {
    const atto = fc.bigInt({ min: 0n, max: 10n ** 14n }).map((amount) => amount as UsdAttos)
    const count = fc.nat(100_000)
    const counts: fc.Arbitrary<Usage> = fc.record({
      ...(Object.fromEntries(Object.keys(NO_USAGE).map((name) => [name, count])) as {
        [Name in keyof Usage]: typeof count
      }),
      serverCalls: fc.option(fc.record({ web_search: fc.nat(50) })),
    })
    const side = fc.constantFrom('*', 'a', 'b')
    const imagePrices = fc.array(fc.record({ resolution: side, quality: side, usd: atto }), {
      maxLength: 3,
    })
    const lists = fc.record({ prompt: atto, completion: atto, request: atto, imagePrices })
    const wish = fc.constantFrom('a', 'b', 'c', undefined)
    const image = fc.option(fc.record({ resolution: wish, quality: wish }))
    fc.assert(
      fc.property(counts, lists, image, (usage, prices, choice) => {
        const { lines, total } = receiptOf(usage, prices, choice)
        const sum = lines.reduce((all, { amount }) => all + amount, 0n)
        expect(roundToNanos(sum as UsdAttos)).toBe(total)
      }),
      { numRuns: FULL ? 500 : 50 },
    )
  })
})

describe('what the provider stated', () => {
  const stating = (statedCost: string | null, isCharged = true) => {
    const { entry, keyName } = receiptOf({ ...NO_USAGE, inputTokens: 100 }, {})
    const cost = statedCost === null ? null : usd(statedCost)
    const charge = aTopUp(START, usd('-0.00025'), { kind: 'charge' })
    return toReceipt({
      entry: { ...entry, statedCost: cost },
      keyName,
      charge: isCharged ? charge : undefined,
      version: undefined,
    }).statedDifference
  }

  test('is compared with what was charged', () => {
    expect(stating('0.0003')).toBe(usd('0.00005'))
    expect(stating('0.0002')).toBe(usd('-0.00005'))
    expect(stating('0.00025')).toBe(0n)
    expect(stating(null)).toBeNull()
    expect(stating('0.0003', false)).toBeNull()
  })
})

test('the attempt that answered has the time that waiting and failing left', () => {
  const failed = { model: 'acme/small', provider: 'spare', outcome: 'failed', reason: 'x' } as const
  const entry = anActivity(aClaim(aKey(START), START), {
    queuedMs: 40,
    totalMs: 340,
    failedAttempts: [{ ...failed, status: null, ms: 100, operatorCost: usd('0.002') }],
  })
  const receipt = toReceipt({ entry, keyName: 'worker', charge: undefined, version: undefined })
  expect(receipt.attempts.map(({ ms }) => ms)).toEqual([100, 200])
  expect(receipt.operatorCost).toBe(usd('0.002'))
})

describe('after a walk', () => {
  let bench: WalkBench

  beforeEach(async () => {
    bench = await openWalkBench()
    await bench.store.providers.add(aProvider({ name: 'beta' }), [], [], anAct())
  })
  afterEach(() => bench.store.close())

  async function receiptFor(caller: Caller): Promise<Receipt> {
    const { line, charged } = await bench.books(caller)
    const receipt = await readReceipt(bench.store, line)
    expect(receipt.total).toBe(charged)
    const sum = receipt.lines.reduce((all, { amount }) => all + amount, 0n)
    expect(roundToNanos(sum as UsdAttos)).toBe(receipt.total)
    return receipt
  }

  const walk = async (of: Script, request?: Work, wishes = {}): Promise<Receipt> =>
    receiptFor((await bench.walk(bench.depsOf(of), request, wishes)).caller)

  const outcomes = ({ attempts }: Receipt) =>
    attempts.map(({ provider, outcome, status, ms }) => [provider, outcome, status, ms])

  /** Takes its time to fail, or to answer. */
  const takes = (ms: number, failure: UpstreamFailure | null, after: readonly ChatEvent[] = []) =>
    script(
      async function* () {
        if (after.length > 0) yield after
        if (failure && after.length > 0) throw failure
        bench.clock.advance(ms)
        yield [text('hello'), finish(), COUNTED]
      },
      async () => {
        if (!failure || after.length > 0) return
        bench.clock.advance(ms)
        throw failure
      },
    )

  const silent = (): Script =>
    script(
      async function* () {},
      (call) => until(never, call),
    )

  const failure = (kind: FailureKind, message = 'not today', status = 503) =>
    new UpstreamFailure(kind, message, { status })

  test('that was answered: key, rate, price version, times', async () => {
    const receipt = await walk(takes(340, null))
    expect(outcomes(receipt)).toEqual([['acme', 'answered', null, 340]])
    const priced = priceOf(bench.store, 'acme/small', bench.clock.now())
    expect(renderReceipt(receipt)).toMatchObject({
      object: 'generation',
      key_name: 'worker',
      model: 'acme/small',
      provider: 'acme',
      status: 200,
      code: null,
      ended_by: 'completed',
      finish_reason: 'stop',
      cost_usd: '0.000085',
      cost_rub: 0.00765,
      rub_per_usd: '90',
      price_version: priced?.id,
      usage_source: 'provider',
      queued_ms: 0,
      first_byte_ms: 340,
      total_ms: 340,
    })
  })

  test('that fell back: each attempt, its reason and its time', async () => {
    await bench.store.models.route(
      aRoute('acme/small', [aHop(), aHop({ provider: 'beta', position: 2 })]),
      anAct(),
    )
    const scripts: Record<string, Script> = {
      acme: takes(120, failure('overloaded')),
      beta: takes(300, null),
    }
    const deps = {
      ...bench.depsOf(takes(0, null)),
      upstreamFor: ({ name }: { name: string }) => (scripts[name] as Script).upstream,
    }
    const receipt = await receiptFor((await bench.walk(deps)).caller)
    expect(outcomes(receipt)).toEqual([
      ['acme', 'overloaded', 503, 120],
      ['beta', 'answered', null, 300],
    ])
    expect(receipt.attempts[0]?.reason).toBe('not today')
  })

  test('whose upstream broke after content: the attempt that failed is the one that is charged', async () => {
    const receipt = await walk(takes(0, failure('failed'), [text('12345678')]))
    expect(outcomes(receipt)).toEqual([['acme', 'failed', 503, 0]])
    expect(receipt.total).toBeGreaterThan(0n)
    expect(renderReceipt(receipt)).toMatchObject({
      status: 502,
      code: 'upstream_error',
      ended_by: 'upstream',
      finish_reason: 'error',
      usage_source: 'estimated',
    })
  })

  test('that a client left: what arrived, and an image it did not wait for, at its size', async () => {
    const imagePrices = [
      { resolution: 'small', quality: '*', usd: price('0.01') },
      { resolution: 'large', quality: '*', usd: price('0.25') },
    ]
    const at = bench.clock.now()
    await bench.store.models.price('acme/pixel', aVersion({ imagePrices }, at), anAct(at))
    const provider = silent()
    const leaving = new AbortController()
    const request = aRequest({
      model: 'acme/pixel',
      wantsImages: true,
      image: { resolution: 'small', quality: undefined },
    })
    const walked: Promise<Walk> = bench.walk(bench.depsOf(provider), request, {
      signal: leaving.signal,
    })
    await eventually(() => provider.calls.length === 1, 'the provider is asked')
    bench.clock.advance(700)
    leaving.abort()
    const receipt = await receiptFor((await walked).caller)
    expect(outcomes(receipt)).toEqual([['acme', 'left', null, 700]])
    expect(linesOf(receipt)).toContain('1 output_images × 0.01 = 0.01')
    expect(renderReceipt(receipt)).toMatchObject({
      ended_by: 'client',
      status: 499,
      image: { resolution: 'small', quality: null },
    })
  })

  test('that left before any attempt: no attempt, no charge', async () => {
    const leaving = new AbortController()
    const receipt = await walk(takes(0, null), aRequest(), {
      signal: leaving.signal,
      onStep: () => leaving.abort(),
    })
    expect(receipt).toMatchObject({ attempts: [], lines: [], total: 0n, priceVersion: null })
  })

  test('that the gateway stopped', async () => {
    const stopping = new AbortController()
    const receipt = await walk(silent(), aRequest(), {
      signal: stopping.signal,
      onStep: () => setImmediate(() => stopping.abort(new GatewayError('shutting_down', 'bye'))),
    })
    expect(outcomes(receipt)).toEqual([['acme', 'stopped', null, 0]])
    expect(receipt.entry).toMatchObject({ code: 'shutting_down', endedBy: 'gateway' })
  })

  test('that was refused: which limit refused it, and nothing else', async () => {
    const receipt = await walk(takes(0, null), aRequest(), { limits: { dailySpend: usd('0') } })
    expect(renderReceipt(receipt)).toMatchObject({
      status: 402,
      code: 'daily_spend_limit_exceeded',
      ended_by: 'refused',
      provider: null,
      attempts: [],
      lines: [],
      cost_usd: '0',
      cost_rub: 0,
      rub_per_usd: null,
      price_version: null,
    })
  })

  test('is the same when its price has changed and its model is gone', async () => {
    const { caller } = await bench.walk(bench.depsOf(takes(0, null)))
    const before = await receiptFor(caller)
    const at = bench.clock.now()
    await bench.store.models.price('acme/small', aVersion({ prompt: perM('9') }, at), anAct(at))
    await bench.store.models.remove('acme/small', anAct())
    expect(before.lines).toHaveLength(2)
    expect(await receiptFor(caller)).toEqual(before)
  })
})

describe('what a key’s holder reads of a failed attempt', () => {
  test.each<[FailureKind, string]>([
    ['rejected', 'acme refused the request: org limit reached'],
    ['failed', 'acme failed: org limit reached'],
    [
      'unauthorized',
      "the gateway's own account with acme does not work; the operator has to look at it",
    ],
    ['overloaded', 'acme is overloaded'],
    ['timeout', 'acme did not answer in time'],
  ])('%s', (outcome, reason) => {
    const attempt = {
      model: 'acme/small',
      provider: 'acme',
      outcome,
      status: 401,
      reason: 'org limit reached',
      ms: 5,
      operatorCost: usd('0.5'),
    }
    const entry = anActivity(aClaim(aKey(START), START), {
      failedAttempts: [attempt],
      statedCost: usd('0.123'),
    })
    const record = renderReceipt(
      toReceipt({ entry, keyName: 'worker', charge: undefined, version: undefined }),
    )
    expect(record.attempts[0]).toEqual({
      model: 'acme/small',
      provider: 'acme',
      outcome,
      status: 401,
      reason,
      ms: 5,
    })
    expect(JSON.stringify(record)).not.toMatch(/0\.123|0\.5|operator_cost|stated/)
  })
})
