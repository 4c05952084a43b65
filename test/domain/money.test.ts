// Money is read exactly or not at all, rendered without loss, and rounded half up, once.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  MAX_USD_NANOS,
  perMillion,
  type RubMicros,
  readPrice,
  readRubPerUsd,
  readUsd,
  readUsdNumber,
  renderPerMillion,
  renderPrice,
  renderRub,
  renderRubPerUsd,
  renderUsd,
  renderUsdNumber,
  roundToNanos,
  toRub,
  type UsdAttos,
  type UsdNanos,
} from '#domain/money.ts'
import { price, rate, usd } from '#test/support/nouns.ts'
import { FULL } from '#test/support/tier.ts'

const attos = (amount: bigint) => amount as UsdAttos
const nanos = (amount: bigint) => amount as UsdNanos

describe('reading dollars', () => {
  test.each([
    ['20', 20_000_000_000n],
    ['0.5', 500_000_000n],
    ['5.00', 5_000_000_000n],
    ['0.000000001', 1n],
    ['0.0000000010', 1n],
    ['0', 0n],
    ['9007199.254740991', MAX_USD_NANOS],
  ])('%s', (text, expected) => {
    expect(readUsd(text)).toBe(expected)
  })

  test.each([
    '',
    '-1',
    '+1',
    '1e3',
    '1E-3',
    '.5',
    '5.',
    '1,5',
    ' 1',
    '1 ',
    '0x10',
    'NaN',
    'Infinity',
    '٣',
    '1\n',
    '0.0000000001',
    '9007199.254740992',
    '9999999999999999',
    '1'.repeat(400),
  ])('refuses %j', (text) => {
    expect(readUsd(text)).toBeUndefined()
  })
})

describe('reading dollars that came as a JSON number', () => {
  test.each([
    [0, 0n],
    [-0, 0n],
    [20, 20_000_000_000n],
    [0.0387262, 38_726_200n],
    [6e-7, 600n],
    [1e-9, 1n],
    [0.1 + 0.2, 300_000_000n],
    // Halves go up, however their binary neighbour lies.
    [5e-10, 1n],
    [4.9999e-10, 0n],
    [0.0000010005, 1_001n],
    [1.0000000005, 1_000_000_001n],
    [2.0000000015, 2_000_000_002n],
    [1e-300, 0n],
    [9_007_199, 9_007_199_000_000_000n],
  ])('%s', (value, expected) => {
    expect(readUsdNumber(value)).toBe(expected)
  })

  test.each([
    [2_733_250, 273_325n],
    [739_000, 73_900n],
    [5, 1n],
    [4, 0n],
    [14.9, 1n],
    [15, 2n],
    [2e21, undefined],
  ])('%s at ten places', (ticks, expected) => {
    expect(readUsdNumber(ticks, 10)).toBe(expected)
  })

  test.each([-1, -1e-9, Number.NaN, Infinity, -Infinity, 1e300, 9_007_200])(
    'refuses %s',
    (value) => {
      expect(readUsdNumber(value)).toBeUndefined()
    },
  )

  test('is the decimal that was sent, for every nano-dollar', () => {
    const sent = fc.bigInt({ min: 0n, max: 999_999_999_999_999n })
    fc.assert(
      fc.property(sent, (amount) => {
        const text = renderUsd(nanos(amount))
        expect(readUsdNumber(JSON.parse(text))).toBe(amount)
      }),
    )
  })
})

describe('rendering dollars', () => {
  test.each([
    [0n, '0'],
    [5_000_000_000n, '5.00'],
    [500_000_000n, '0.50'],
    [85_000n, '0.000085'],
    [1n, '0.000000001'],
    [-1n, '-0.000000001'],
    [-1_500_000_000n, '-1.50'],
    [MAX_USD_NANOS, '9007199.254740991'],
  ])('%s nano-dollars', (amount, text) => {
    expect(renderUsd(nanos(amount))).toBe(text)
  })

  test('whatever is rendered is read back as the same amount', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: MAX_USD_NANOS }), (amount) => {
        expect(readUsd(renderUsd(nanos(amount)))).toBe(amount)
      }),
    )
  })

  test('the number of a display field is the nearest one to the decimal', () => {
    expect(renderUsdNumber(usd('0.000085'))).toBe(0.000085)
    expect(renderUsdNumber(nanos(-120_000n))).toBe(-0.00012)
  })
})

/** By its digits and a pattern alone, with no thought of what that costs. */
function renderPlainly(amount: bigint, places: number, least: number): string {
  if (amount === 0n) return '0'
  const [sign, digits] = amount < 0n ? ['-', String(-amount)] : ['', String(amount)]
  const padded = digits.padStart(places + 1, '0')
  const fraction = padded.slice(-places).replace(/0+$/, '').padEnd(least, '0')
  return `${sign}${padded.slice(0, -places)}${fraction && '.'}${fraction}`
}

test('every amount is rendered as its digits say, however long and however many zeros end them', () => {
  const digits = fc.oneof(
    fc.bigInt({ min: -999n, max: 999n }),
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
    fc.constantFrom(2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n),
  )
  fc.assert(
    fc.property(digits, fc.nat(24), (begun, zeros) => {
      const amount = begun * 10n ** BigInt(zeros)
      expect(renderUsd(nanos(amount))).toBe(renderPlainly(amount, 9, 2))
      expect(renderPrice(attos(amount))).toBe(renderPlainly(amount, 18, 0))
    }),
    { numRuns: FULL ? 2_000 : 200 },
  )
})

describe('prices', () => {
  test.each([
    ['0.0000003', 300_000_000_000n],
    ['0.000000000000000001', 1n],
    ['0.039', 39_000_000_000_000_000n],
  ])('%s', (text, expected) => {
    expect(readPrice(text)).toBe(expected)
    expect(renderPrice(attos(expected))).toBe(text)
  })

  test('nineteen places are more than can be kept', () => {
    expect(readPrice('0.0000000000000000001')).toBeUndefined()
  })

  test('a price per million is exact or refused', () => {
    expect(perMillion(price('2.5'))).toBe(price('0.0000025'))
    expect(perMillion(attos(1_000_001n))).toBeUndefined()
    expect(renderPerMillion(price('0.0000025'))).toBe('2.5')
  })
})

describe('rounding', () => {
  test.each([
    [0n, 0n],
    [499_999_999n, 0n],
    [500_000_000n, 1n],
    [1_499_999_999n, 1n],
    [1_500_000_000n, 2n],
    [-500_000_000n, -1n],
    [-499_999_999n, 0n],
  ])('%s atto-dollars are %s nano-dollars', (sum, rounded) => {
    expect(roundToNanos(attos(sum))).toBe(rounded)
  })

  test('never moves an amount by more than half a nano-dollar', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 27n }), (sum) => {
        const error = roundToNanos(attos(sum)) * 1_000_000_000n - sum
        expect(error > -500_000_000n && error <= 500_000_000n).toBe(true)
      }),
    )
  })
})

describe('rubles', () => {
  test('every rate is rendered as itself, whichever was before it', () => {
    const rates = fc.array(fc.constantFrom('90', '92.5', '0.000001', '1000000', '0.1'))
    fc.assert(
      fc.property(rates, (texts) => {
        for (const text of texts) expect(renderRubPerUsd(rate(text))).toBe(text)
      }),
    )
  })

  test.each([
    ['90', 90_000_000n],
    ['92.50', 92_500_000n],
    ['0.000001', 1n],
    ['1000000', 1_000_000_000_000n],
  ])('a rate of %s', (text, expected) => {
    expect(readRubPerUsd(text)).toBe(expected)
  })

  test.each(['0', '0.0', '-1', '92.1234567', '1000000.000001', '9'.repeat(15), 'ninety'])(
    'refuses a rate of %s',
    (text) => {
      expect(readRubPerUsd(text)).toBeUndefined()
    },
  )

  test('a rate is rendered as it was meant', () => {
    expect(renderRubPerUsd(rate('92.50'))).toBe('92.5')
  })

  test('a charge in rubles is rounded once, half up, to six places', () => {
    expect(toRub(usd('0.00012'), rate('90'))).toBe(10_800n)
    expect(renderRub(toRub(usd('0.00012'), rate('90')))).toBe(0.0108)
    // 1e-9 USD × 500 = 5e-7 RUB, half of the last place.
    expect(toRub(nanos(1n), rate('500'))).toBe(1n)
    expect(toRub(nanos(1n), rate('499.999999'))).toBe(0n)
  })

  test('six places survive the JSON number', () => {
    expect(renderRub(123_456_789_000_001n as RubMicros)).toBe(123456789.000001)
    expect(JSON.stringify(renderRub(1n as RubMicros))).toBe('0.000001')
  })

  test('the ruble view of the largest charge at the largest rate fits a 64-bit integer', () => {
    expect(toRub(MAX_USD_NANOS, rate('1000000')) < 2n ** 63n).toBe(true)
  })
})

test('no float ever holds money: every amount is an integer, and a float cannot become one', () => {
  for (const amount of [usd('0.1'), price('0.1'), rate('0.1'), toRub(usd('0.1'), rate('0.3'))]) {
    expect(typeof amount).toBe('bigint')
  }
  expect(usd('0.1') + usd('0.2')).toBe(usd('0.3'))
})
