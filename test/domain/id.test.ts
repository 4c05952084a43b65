// Ids name their noun and sort by time, also within one millisecond.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { instant } from '#domain/clock.ts'
import {
  chargeEntryId,
  generationsFrom,
  newAccountId,
  newEntryId,
  newEventId,
  newGenerationId,
  newKeyId,
  newPriceVersionId,
  newRequestId,
  priceVersionSetAt,
} from '#domain/id.ts'

const NOW = instant(1_755_900_000_000)

describe('a prefix', () => {
  test.each([
    [newAccountId, 'acct_'],
    [newKeyId, 'key_'],
    [newGenerationId, 'gen-'],
    [newEventId, 'evt_'],
    [newEntryId, 'led_'],
    [newPriceVersionId, 'price_'],
    [newRequestId, 'req_'],
  ] as const)('%o', (mint, prefix) => {
    const id: string = mint(NOW)
    expect(id.startsWith(prefix)).toBe(true)
    expect(id.slice(prefix.length)).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/)
  })
})

test('later instants sort later', () => {
  const moments = fc.integer({ min: 0, max: 2 ** 47 })
  fc.assert(
    fc.property(moments, moments, (a, b) => {
      fc.pre(a !== b)
      const [first, second] = [Math.min(a, b), Math.max(a, b)]
      const later = newKeyId(instant(second))
      expect(newKeyId(instant(first)) < later).toBe(true)
    }),
  )
})

test('the ids of a moment lie between its own bound and the next one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 47 }), (moment) => {
      const id = newGenerationId(instant(moment))
      expect(generationsFrom(instant(moment)) < id).toBe(true)
      expect(id < generationsFrom(instant(moment + 1))).toBe(true)
    }),
  )
  expect(generationsFrom(instant(-5))).toBe(generationsFrom(instant(0)))
})

test('ids of one millisecond sort in the order they were minted', () => {
  const ids = Array.from({ length: 10_000 }, () => newGenerationId(NOW))
  expect(ids).toEqual([...ids].sort())
  expect(new Set(ids).size).toBe(ids.length)
})

test('no two are alike when the clock steps to and fro', () => {
  const ids = Array.from({ length: 20_000 }, (_, i) => newKeyId(instant(NOW + (i % 3))))
  expect(new Set(ids).size).toBe(ids.length)
})

test('the entry that charges a generation shares its body, so that there can be only one', () => {
  const generation = newGenerationId(NOW)
  expect(chargeEntryId(generation)).toBe(`led_${generation.slice(4)}`)
})

test('a price version tells when it was set', () => {
  for (const at of [0, NOW, NOW + 1, 253_402_300_799_999].map(instant)) {
    expect(priceVersionSetAt(newPriceVersionId(at))).toBe(at)
  }
})
