// Frames: whatever a request tells arrives as it was, packed or not, in one piece or in many.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Arriving, type Call, type Frame, toBytes } from '#db/front/frame.ts'
import { instant } from '#domain/clock.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { aCharge, aClaim, aKey, anActivity, usd } from '#test/support/nouns.ts'

const key = aKey(instant(0))
const claim = { ...aClaim(key, instant(1_000)), repeat: { key: 'k', digest: 'd' } }
const admit: Call = [1, 'admissions.admit', [claim]]
const charge = aCharge(usd('0.01'))
const settlement = { at: instant(2_000), charge, activity: anActivity(claim), answer: { id: 7 } }
const settle: Call = [2, 'admissions.settle', [claim.generationId, settlement]]
const verdict = {
  admitted: true,
  quota: { minute: { limit: 3, remaining: 2, resetSeconds: 60 }, day: null },
  grant: { at: instant(1_000), money: null, hold: usd('0.02') },
}

function arrive(bytes: Buffer, ...cuts: readonly number[]): Frame | null {
  const arriving = new Arriving()
  let from = 0
  let frame: Frame | null = null
  for (const cut of [...cuts, bytes.length]) {
    expect(frame).toBeNull()
    arriving.take(bytes.subarray(from, cut))
    frame = arriving.next()
    from = cut
  }
  expect(arriving.next()).toBeNull()
  return frame
}

/** Whether it is said without names. */
const isPacked = (frame: Frame): boolean => !toBytes(frame).includes('generationId')

const anyWord = fc.oneof(
  fc.string({ unit: fc.nat(0xff_ff).map((code) => String.fromCharCode(code)) }),
  fc.double().map((number) => number + 0),
  fc.bigInt(),
  fc.maxSafeInteger().map(BigInt),
  fc.constantFrom<unknown>(
    null,
    undefined,
    true,
    false,
    0n,
    2n ** 53n,
    -(2n ** 53n),
    1n - 2n ** 53n,
  ),
)

type Fields = Record<string, unknown>

/** The paths of all fields that hold no others. */
const leavesOf = (value: unknown, path: readonly string[] = []): readonly (readonly string[])[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, [...path, name]))
    : [path]

function change(value: unknown, [name = '', ...rest]: readonly string[], to: unknown): unknown {
  const copy = (Array.isArray(value) ? [...value] : { ...(value as Fields) }) as Fields
  copy[name] = rest.length === 0 ? to : change(copy[name], rest, to)
  return copy
}

test.for([
  ['claims', [[admit], [], undefined]],
  ['settlements', [[settle], [], undefined]],
  ['verdicts', [[], [[1, verdict, undefined, 'admissions.admit']], undefined]],
] as const)('%s arrive as they were, whatever is in their fields', ([, frame]) => {
  expect(isPacked(frame as Frame)).toBe(true)
  const path = fc.constantFrom(...leavesOf(frame).filter((names) => names.length > 3))
  fc.assert(
    fc.property(fc.array(fc.tuple(path, anyWord), { maxLength: 3 }), (changes) => {
      const told = changes.reduce<unknown>((into, [at, to]) => change(into, at, to), frame) as Frame
      expect(arrive(toBytes(told))).toStrictEqual(structuredClone(told))
    }),
  )
})

test('names and counts by name arrive as they were', () => {
  const name = fc.string({ unit: fc.nat(0xff_ff).map((code) => String.fromCharCode(code)) })
  const calls = fc.dictionary(name, fc.nat(), { noNullPrototype: true })
  fc.assert(
    fc.property(fc.array(name), calls, (modifiers, serverCalls) => {
      const activity = anActivity(claim, { modifiers, usage: { ...NO_USAGE, serverCalls } })
      const told: Frame = [
        [[3, 'admissions.settle', ['', { ...settlement, activity }]]],
        [],
        undefined,
      ]
      expect(isPacked(told)).toBe(true)
      expect(arrive(toBytes(told))).toStrictEqual(told)
    }),
  )
})

test('what no list can say arrives beside what one can, in the order in which it was told', () => {
  const failed = { ...settlement.activity, failedAttempts: [{ outcome: 'refused', ms: 1n }] }
  const frame: Frame = [
    [
      admit,
      [0, 'keys.noteUse', ['key', 1]],
      settle,
      [4, 'admissions.settle', ['other', { ...settlement, activity: failed }]],
      [5, 'keys.found', ['token', 1, 0]],
      [6, 'accounts.list', []],
    ],
    [
      [7, [3, key], undefined, 'keys.found'],
      [8, [3], undefined, 'keys.found'],
      [9, undefined, undefined, 'keys.found'],
      [10, 'stale', undefined, 'admissions.admit'],
      [11, verdict, undefined, 'admissions.admit'],
      [
        12,
        undefined,
        { code: 'store_unavailable', message: 'full', details: {} },
        'admissions.admit',
      ],
      [13, false, undefined, 'admissions.settle'],
      [14, new Map([['a', 1n]]), undefined, 'accounts.list'],
    ],
    { version: 4 },
  ]
  const bytes = toBytes(frame)
  expect(arrive(bytes)).toStrictEqual(frame)
  for (let cut = 1; cut + 3 < bytes.length; cut += 7) {
    expect(arrive(bytes, cut, cut + 3)).toStrictEqual(frame)
  }
})

test('lines of the log arrive as one text, behind the calls that were told between them', () => {
  const list: Call = [6, 'accounts.list', []]
  const [first, second] = ['{"model":"é\\n"}\n', '{"model":"�"}\n']
  const frame: Frame = [
    [[0, 'lines', [first]], admit, [0, 'lines', [second]], list],
    [[13, false, undefined, 'admissions.settle']],
    undefined,
  ]
  const arrived: Frame = [[admit, list, [0, 'lines', [first + second]]], frame[1], undefined]
  const bytes = toBytes(frame)
  for (let cut = 1; cut < bytes.length; cut += 7) {
    expect(arrive(bytes, cut)).toStrictEqual(arrived)
  }
  const alone: Frame = [[[0, 'lines', [second]]], [], undefined]
  expect(arrive(toBytes(alone))).toStrictEqual(alone)
})

test('a frame of nothing that can be packed is a clone as releases before this one wrote it', () => {
  const frame: Frame = [[[1, 'facts', []]], [], undefined]
  const bytes = toBytes(frame)
  expect(bytes.readUInt32LE()).toBe(bytes.length - 4)
  expect(arrive(bytes)).toStrictEqual(frame)
})
