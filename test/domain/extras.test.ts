// What a vendor bills beside the usual prices: held at its most, charged exactly, and refused where a card has no price for it.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  chargedModifiers,
  checkExtras,
  type Extra,
  findInexact,
  type Need,
  sends,
} from '#domain/extras.ts'
import type { Modifier, Prices } from '#domain/model-card.ts'
import type { UsdAttos } from '#domain/money.ts'
import { chargeFor, chargeLines } from '#domain/pricing.ts'
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import { Meter } from '#domain/walk/meter.ts'
import { ampleHold } from '#test/support/ample-hold.ts'
import {
  aCard,
  aPriceList,
  aRequest,
  aVersion,
  factor,
  perM,
  price,
  rate,
  usd,
} from '#test/support/nouns.ts'
import { FULL } from '#test/support/tier.ts'

const RATE = rate('90')
const ANY = { resolution: undefined, quality: undefined }
const asks = (need: Need): Extra => ({ param: 'x', what: 'it costs', need })
const LONG = asks({ kind: 'cache-write-1h' })
const tier = (value: string): Extra => asks({ kind: 'modifier', field: 'service_tier', value })
const search = (mostCalls: number): Extra =>
  asks({ kind: 'server-tool', tool: 'web_search', mostCalls })

const PRIORITY: Modifier = { name: 'service_tier=priority', factor: factor('1.75') }
const FLEX: Modifier = { name: 'service_tier=flex', factor: factor('0.5') }
const FAST: Modifier = { name: 'speed=fast', factor: factor('6') }
const SEARCHES = [{ tool: 'web_search', usd: price('0.01') }]
const PRICED = {
  cacheWrite: perM('3.125'),
  cacheWrite1h: perM('5'),
  serverTools: SEARCHES,
  modifiers: [FLEX, PRIORITY, FAST],
}

const charge = (usage: Partial<Usage>, modifiers: readonly Modifier[] = []) =>
  chargeFor({ ...NO_USAGE, ...usage }, aVersion(PRICED), RATE, 'provider', ANY, modifiers)

describe('a charge', () => {
  test('prices what was written for an hour, and each call, on their own', () => {
    expect(charge({ cacheWriteTokens: 1_000 }).amount).toBe(usd('0.003125'))
    expect(charge({ cacheWrite1hTokens: 1_000 }).amount).toBe(usd('0.005'))
    expect(charge({ serverCalls: { web_search: 3 } }).amount).toBe(usd('0.03'))
    expect(charge({ serverCalls: { web_fetch: 3 } }).amount).toBe(0n)
  })

  test('multiplies all of it by every factor, and names them', () => {
    const usage = { inputTokens: 1_000, serverCalls: { web_search: 1 } }
    expect(charge(usage, [PRIORITY]).amount).toBe(usd('0.021875'))
    expect(charge(usage, [PRIORITY, FAST]).amount).toBe(usd('0.13125'))
    expect(charge(usage, [PRIORITY, FAST]).modifiers).toEqual([PRIORITY.name, FAST.name])
  })
})

const aUsage: fc.Arbitrary<Usage> = fc.record({
  ...(Object.fromEntries(Object.keys(NO_USAGE).map((name) => [name, fc.nat(40_000)])) as {
    [Name in keyof Usage]: fc.Arbitrary<number>
  }),
  serverCalls: fc.option(fc.record({ web_search: fc.nat(50) })),
})
const anAmount = fc.bigInt({ min: 0n, max: 10n ** 15n }).map((amount) => amount as UsdAttos)
const aFactor = fc
  .bigInt({ min: 1n, max: 30_000_000n })
  .map((millionths) => millionths as Modifier['factor'])

test('whatever passes as exact is: parts and lines, by any factors, add up to the amount', () => {
  const aCase = fc.record({
    prompt: anAmount,
    write: anAmount,
    call: anAmount,
    tierBy: aFactor,
    speedBy: aFactor,
    usage: aUsage,
  })
  fc.assert(
    fc.property(aCase, ({ prompt, write, call, tierBy, speedBy, usage }) => {
      const modifiers = [
        { name: 'service_tier=priority', factor: tierBy },
        { name: 'speed=fast', factor: speedBy },
      ]
      // A price in units in which both factors are whole.
      const whole = (amount: UsdAttos) => (amount * 1_000_000n * 1_000_000n) as UsdAttos
      const prices: Prices = aPriceList({
        prompt: whole(prompt),
        completion: whole(prompt),
        cacheWrite1h: whole(write),
        serverTools: [{ tool: 'web_search', usd: whole(call) }],
        modifiers,
      })
      expect(findInexact(prices)).toBeUndefined()
      const version = aVersion(prices)
      const { parts, amount } = chargeFor(usage, version, RATE, 'provider', ANY, modifiers)
      const names = modifiers.map(({ name }) => name)
      const lines = chargeLines(usage, version, ANY, names)
      const sum = Object.values(parts).reduce<bigint>((all, part) => all + part, 0n)
      expect(lines.reduce((all, line) => all + line.amount, 0n)).toBe(sum)
      const tokens =
        usage.inputTokens +
        usage.cacheReadTokens +
        usage.cacheWriteTokens +
        usage.imageInputTokens +
        usage.outputTokens +
        usage.imageOutputTokens
      const units =
        BigInt(tokens) * prompt +
        BigInt(usage.cacheWrite1hTokens) * write +
        BigInt(usage.serverCalls?.['web_search'] ?? 0) * call
      const exact = units * tierBy * speedBy
      expect(sum).toBe(exact)
      const half = (2n * exact + 10n ** 9n) / (2n * 10n ** 9n)
      expect(amount).toBe(half < 9_007_199_254_740_991n ? half : 9_007_199_254_740_991n)
    }),
    { numRuns: FULL ? 1_000 : 100 },
  )
})

test('a price that a factor leaves with a fraction of an atto-dollar is found', () => {
  const prices = { prompt: price('0.000000000000000001'), modifiers: [FAST, PRIORITY] }
  expect(findInexact(aPriceList(prices))?.factors).toBe(PRIORITY.name)
  expect(findInexact(aPriceList({ ...prices, modifiers: [FAST] }))).toBeUndefined()
})

test('a hold covers whatever was asked for, at its most', () => {
  const aCase = fc.record({
    extras: fc.subarray([LONG, search(7), tier('priority'), tier('flex')], { maxLength: 4 }),
    textBytes: fc.nat(10_000),
    choices: fc.integer({ min: 1, max: 3 }),
    written: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  fc.assert(
    fc.property(aCase, ({ extras, textBytes, choices, written }) => {
      const version = aVersion({ ...PRICED, modifiers: [FAST, PRIORITY, FLEX] })
      const prompt = textBytes + 512
      const long = extras.includes(LONG) ? Math.floor(prompt * written) : 0
      const usage = {
        ...NO_USAGE,
        inputTokens: prompt - long,
        cacheWrite1hTokens: long,
        outputTokens: 100 * choices,
        serverCalls: extras.some(({ need }) => need.kind === 'server-tool')
          ? { web_search: 7 * choices }
          : null,
      }
      const modifiers = chargedModifiers(extras, version.prices, {})
      const { amount } = chargeFor(usage, version, RATE, 'provider', ANY, modifiers)
      const request = aRequest({ extras, textBytes, choices, maxOutputTokens: 100 })
      expect(amount <= ampleHold(request, aCard(), version)).toBe(true)
    }),
    { numRuns: FULL ? 500 : 100 },
  )
})

describe('the factor of what the vendor served', () => {
  const charged = (asked: string, served?: string) =>
    chargedModifiers(
      [tier(asked)],
      aPriceList(PRICED),
      served === undefined ? {} : { service_tier: served },
    ).map(({ name }) => name)

  test.each([
    ['priority', undefined, ['service_tier=priority']],
    ['priority', 'priority', ['service_tier=priority']],
    ['priority', 'default', []],
    ['priority', 'flex', ['service_tier=flex']],
    ['flex', 'default', ['service_tier=flex']],
    ['flex', 'priority', ['service_tier=flex']],
  ])('asked for %s, served %s: %j', (asked, served, names) => {
    expect(charged(asked, served)).toEqual(names)
  })
})

describe('a card without the price', () => {
  const check = (extra: Extra, prices: Partial<Prices> = {}) =>
    checkExtras([extra], 'acme/small', aPriceList(prices))

  test.each([LONG, search(1), tier('priority')])('refuses %j by its field', (extra) => {
    expect(() => check(extra)).toThrow('x: it costs, and acme/small has no price for that')
    expect(() => check(extra, PRICED)).not.toThrow()
  })

  test('is one with a tier that lacks the hour, or with another value', () => {
    const dearer = {
      aboveTokens: 9,
      prompt: perM('1'),
      completion: perM('1'),
      cacheRead: null,
      cacheWrite: null,
    }
    expect(() => check(LONG, { ...PRICED, tiers: [{ ...dearer, cacheWrite1h: null }] })).toThrow()
    expect(() => check(tier('scale'), PRICED)).toThrow()
  })
})

test('a provider is only asked for what its requests carry', () => {
  expect(sends('openai', [LONG, search(1), tier('flex')])).toBe(true)
  expect(sends('anthropic', [LONG])).toBe(true)
  expect(sends('anthropic', [tier('flex')])).toBe(false)
  expect(sends('anthropic', [search(1)])).toBe(false)
  expect(sends('gemini', [LONG])).toBe(false)
})

describe('the meter', () => {
  const read = (extras: readonly Extra[], usage: Partial<Usage>, more: object = {}) => {
    const meter = new Meter(aRequest({ extras }), aCard(), Number.POSITIVE_INFINITY)
    meter.note([
      { type: 'text-delta', choice: 0, text: 'words' },
      { type: 'usage', usage: { ...NO_USAGE, inputTokens: 9, ...usage }, ...more },
    ])
    return { ...meter.read().usage, served: meter.served }
  }

  test('counts a call for each choice where the vendor counts none', () => {
    expect(read([search(5)], {}).serverCalls).toEqual({ web_search: 1 })
    expect(read([search(5)], { serverCalls: { web_search: 4 } }).serverCalls).toEqual({
      web_search: 4,
    })
    expect(read([search(5)], { serverCalls: {} }).serverCalls).toEqual({})
    expect(read([LONG], {}).serverCalls).toBeNull()
  })

  test('takes writes of unknown length for an hour where that was asked for', () => {
    const unsplit = { isUnsplit: true }
    expect(read([LONG], { cacheWriteTokens: 5 }, unsplit)).toMatchObject({
      cacheWriteTokens: 0,
      cacheWrite1hTokens: 5,
    })
    expect(read([LONG], { cacheWriteTokens: 5 })).toMatchObject({ cacheWriteTokens: 5 })
    expect(read([search(1)], { cacheWriteTokens: 5 }, unsplit)).toMatchObject({
      cacheWriteTokens: 5,
    })
  })

  test('keeps what the vendor says it served', () => {
    expect(read([tier('flex')], {}, { served: { speed: 'fast' } }).served).toEqual({
      speed: 'fast',
    })
  })
})
