// Which hop is worth asking: one that keeps failing rests, one request probes it, and the first that is served heals it.
import { beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS, renderInstant } from '#domain/clock.ts'
import type { Hop } from '#domain/hop.ts'
import { type FailureDetails, type FailureKind, UpstreamFailure } from '#domain/upstream.ts'
import { createHopHealth, type HopHealth } from '#domain/walk/hop-health.ts'
import { type HandClock, handClock } from '#test/support/hand-clock.ts'
import { aCard, aProvider } from '#test/support/nouns.ts'

const hop = (provider: string, upstreamName = 'small', credential: string | null = null): Hop => ({
  card: aCard({ upstreamName }),
  provider: aProvider({ name: provider }),
  credential,
})
const A = hop('a')
const B = hop('b')
const C = hop('c')

let clock: HandClock
let health: HopHealth

beforeEach(() => {
  clock = handClock('2026-08-22T12:00:00Z')
  health = createHopHealth(clock)
})

const fail = (at: Hop, kind: FailureKind = 'failed', details: FailureDetails = {}): void =>
  health.failed(at, new UpstreamFailure(kind, 'broken', details))

/** A request that is asked and fails. */
const askInVain = (at: Hop): void => {
  health.attempted(at)
  fail(at)
}

/** The order in which A, B and C would be asked. */
const order = (): string =>
  health
    .arrange([A, B, C].map((one) => ({ hop: one })))
    .map((offer) => offer.hop.provider.name)
    .join('')

/** Seconds until A serves again; 0 while it does. */
function restSeconds(): number {
  const until = health.readings().find(({ provider }) => provider === 'a')?.restsUntil ?? null
  return until === null ? 0 : (until - clock.now()) / 1_000
}

describe('a hop that fails', () => {
  test('rests after the third failure in a row, and goes last while it does', () => {
    askInVain(A)
    askInVain(A)
    expect([order(), restSeconds()]).toEqual(['abc', 0])
    askInVain(A)
    expect([order(), restSeconds()]).toEqual(['bca', 5])
    clock.advance(4_999)
    expect(order()).toBe('bca')
    clock.advance(1)
    expect(order()).toBe('abc')
  })

  test('does not rest for as long as a clock is set back', () => {
    for (let n = 0; n < 3; n++) askInVain(A)
    clock.advance(-DAY_MS)
    expect([order(), restSeconds()]).toEqual(['abc', 0])
    askInVain(A)
    expect([order(), restSeconds()]).toEqual(['bca', 10])
    clock.advance(10_000)
    expect(order()).toBe('abc')
  })

  test('in a row means that nothing was served in between', () => {
    for (let i = 0; i < 10; i++) {
      askInVain(A)
      askInVain(A)
      health.served(A)
    }
    expect([order(), health.readings()]).toEqual(['abc', []])
  })

  test('is known by its provider and by what that calls the model', () => {
    const elsewhere = hop('a', 'large')
    for (let i = 0; i < 3; i++) askInVain(elsewhere)
    expect(order()).toBe('abc')
    expect(health.arrange([{ hop: elsewhere }, { hop: A }])).toEqual([
      { hop: A },
      { hop: elsewhere },
    ])
  })

  test('is reported with its failures and the end of its rest', () => {
    for (let i = 0; i < 3; i++) askInVain(A)
    askInVain(B)
    const readings = health.readings().map(({ restsUntil, ...reading }) => ({
      ...reading,
      restsUntil: restsUntil === null ? null : renderInstant(restsUntil),
    }))
    const last = { kind: 'failed', status: null, needsOperator: false }
    expect(readings).toEqual([
      {
        provider: 'a',
        upstreamName: 'small',
        failures: 3,
        restsUntil: '2026-08-22T12:00:05Z',
        keepsFailing: true,
        ...last,
      },
      {
        provider: 'b',
        upstreamName: 'small',
        failures: 1,
        restsUntil: null,
        keepsFailing: false,
        ...last,
      },
    ])
    clock.advance(5_000)
    expect(health.readings()[0]).toMatchObject({ failures: 3, restsUntil: null })
  })
})

describe('no hop is left out', () => {
  test('those that rest keep their own order behind the others', () => {
    for (const one of [A, B]) for (let i = 0; i < 3; i++) askInVain(one)
    expect(order()).toBe('cab')
    for (let i = 0; i < 3; i++) askInVain(C)
    expect(order()).toBe('abc')
  })

  test('a lone hop is asked, however badly it does', () => {
    const alone = [{ hop: A }]
    for (let i = 0; i < 9; i++) askInVain(A)
    expect(health.arrange(alone)).toBe(alone)
  })
})

describe('a probe', () => {
  const letRest = (): void => {
    for (let i = 0; i < 3; i++) askInVain(A)
    clock.advance(5_000)
  }

  test('is one at a time: while it lasts, others still avoid the hop', () => {
    letRest()
    expect(order()).toBe('abc')
    health.attempted(A)
    expect([order(), restSeconds()]).toEqual(['bca', 10])
  })

  test('that is served heals at once', () => {
    letRest()
    health.attempted(A)
    health.served(A)
    expect([order(), health.readings()]).toEqual(['abc', []])
    askInVain(A)
    askInVain(A)
    expect(order()).toBe('abc')
  })

  test('that begins to answer ends the rest, however long it streams', () => {
    letRest()
    expect(health.attempted(A)).toBe(true)
    expect(order()).toBe('bca')
    health.began(A)
    expect([order(), restSeconds()]).toEqual(['abc', 0])
    // Others are asked for their own answers, not as probes.
    expect(health.attempted(A)).toBe(false)
    expect(order()).toBe('abc')
    health.served(A)
    expect(health.readings()).toEqual([])
  })

  test('that begins to answer and breaks off rests it again, for longer', () => {
    letRest()
    health.attempted(A)
    health.began(A)
    fail(A)
    expect([order(), restSeconds()]).toEqual(['bca', 10])
  })

  test('is not ended by an answer that begins after a rest was asked for', () => {
    fail(A, 'overloaded', { retryAfterSeconds: 60 })
    health.began(A)
    expect(restSeconds()).toBe(60)
  })

  test('that fails doubles the rest, up to five minutes', () => {
    letRest()
    const rests: number[] = []
    for (let i = 0; i < 8; i++) {
      askInVain(A)
      rests.push(restSeconds())
      clock.advance(restSeconds() * 1_000)
    }
    expect(rests).toEqual([10, 20, 40, 80, 160, 300, 300, 300])
  })

  test.each([
    ['whose client leaves first', () => health.abandoned(A)],
    ['that the caller spoilt', () => fail(A, 'rejected')],
    ['that drew nothing', () => fail(A, 'no-image')],
  ])('%s is for the next request to make', (_, end) => {
    letRest()
    health.attempted(A)
    end()
    expect(order()).toBe('abc')
    askInVain(A)
    expect(restSeconds()).toBe(10)
  })

  test('that takes longer than the rest is followed by another', () => {
    letRest()
    health.attempted(A)
    clock.advance(10_000)
    expect(order()).toBe('abc')
    health.attempted(A)
    expect([order(), restSeconds()]).toEqual(['bca', 10])
  })

  test('another request’s disconnect does not end it', () => {
    letRest()
    health.attempted(A)
    health.abandoned(B)
    expect(order()).toBe('bca')
  })
})

describe('requests that were under way when the rest began', () => {
  test('fail without making it longer', () => {
    for (let i = 0; i < 50; i++) fail(A)
    expect(restSeconds()).toBe(5)
    expect(health.readings()).toMatchObject([{ failures: 50 }])
    clock.advance(5_000)
    askInVain(A)
    expect(restSeconds()).toBe(10)
  })

  test('and the last hope that is asked while it rests is no probe either', () => {
    for (let i = 0; i < 3; i++) askInVain(A)
    clock.advance(2_000)
    askInVain(A)
    expect(restSeconds()).toBe(3)
  })

  test('may be told to stay away longer, never shorter', () => {
    for (let i = 0; i < 3; i++) fail(A)
    fail(A, 'overloaded', { retryAfterSeconds: 2 })
    expect(restSeconds()).toBe(5)
    fail(A, 'overloaded', { retryAfterSeconds: 30 })
    expect(restSeconds()).toBe(30)
  })

  test('and are served after all heal it', () => {
    for (let i = 0; i < 3; i++) fail(A)
    health.served(A)
    expect(order()).toBe('abc')
  })
})

describe('a provider’s own word', () => {
  test.each([
    [1, 1],
    [47, 47],
    [600, 600],
    [73_187, 600],
  ])('Retry-After %i rests it for %i s, from the first failure on', (asked, seconds) => {
    fail(A, 'overloaded', { retryAfterSeconds: asked })
    expect([order(), restSeconds()]).toEqual(['bca', seconds])
  })

  test('is heard when it is overloaded, not when it broke', () => {
    fail(A, 'failed', { retryAfterSeconds: 30 })
    expect(order()).toBe('abc')
  })

  test.each<[string, FailureKind, FailureDetails]>([
    ['does not accept the operator’s account', 'unauthorized', {}],
    ['has no money left on it', 'overloaded', { permanent: 'account' }],
  ])('one that %s rests a minute, whatever it says of waiting', (_, kind, details) => {
    fail(A, kind, { ...details, retryAfterSeconds: 3 })
    expect([order(), restSeconds()]).toEqual(['bca', 60])
  })
})

test.each<[string, FailureKind, FailureDetails]>([
  ['a request it refused', 'rejected', {}],
  ['an image it would not draw', 'no-image', {}],
  ['a request beyond its own limit', 'overloaded', { permanent: 'request', retryAfterSeconds: 9 }],
])('%s says nothing about the hop', (_, kind, details) => {
  for (let i = 0; i < 5; i++) fail(A, kind, details)
  expect([order(), health.readings()]).toEqual(['abc', []])
  askInVain(A)
  askInVain(A)
  fail(A, kind, details)
  expect(order()).toBe('abc')
})

describe('one of several credentials', () => {
  const ONE = hop('a', 'small', 'one')
  const TWO = hop('a', 'small', 'two')
  const LARGE = hop('a', 'large', 'one')
  /** Who would be asked, in order. */
  const shares = () =>
    health
      .arrange([ONE, TWO, LARGE, B].map((one) => ({ hop: one })))
      .map(({ hop: { provider, card, credential } }) =>
        [provider.name, card.upstreamName, credential].join(' '),
      )
  const ALL = ['a small one', 'a small two', 'a large one', 'b small ']

  test.each<[FailureKind, FailureDetails, number]>([
    ['unauthorized', { status: 401 }, 60],
    ['overloaded', { status: 429 }, 5],
    ['overloaded', { status: 429, retryAfterSeconds: 30 }, 30],
    ['overloaded', { status: 402, permanent: 'account' }, 60],
  ])('%s %j rests it alone, at once and at every model', (kind, details, seconds) => {
    fail(ONE, kind, details)
    expect(shares()).toEqual(['a small two', 'b small ', 'a small one', 'a large one'])
    expect(health.readings()).toEqual([])
    const [reading] = health.credentials()
    expect(reading).toMatchObject({ provider: 'a', credential: 'one', failures: 1 })
    expect((reading!.restsUntil! - clock.now()) / 1_000).toBe(seconds)
    clock.advance(seconds * 1_000)
    expect(shares()).toEqual(ALL)
    expect(health.attempted(ONE)).toBe(true)
    expect(shares()[0]).toBe('a small two')
    health.began(ONE)
    expect(shares()).toEqual(ALL)
    health.served(ONE)
    expect(health.credentials()).toEqual([])
  })

  test.each<[FailureKind, FailureDetails]>([
    ['failed', {}],
    ['overloaded', { status: 503 }],
    ['timeout', {}],
  ])('%s %j is the fault of the hop, whichever is used', (kind, details) => {
    fail(ONE, kind, details)
    fail(TWO, kind, details)
    fail(ONE, kind, details)
    expect(shares()).toEqual(['a large one', 'b small ', 'a small one', 'a small two'])
    expect(health.credentials()).toEqual([])
  })
})

test.each<FailureKind>(['failed', 'overloaded', 'timeout'])('%s counts', (kind) => {
  for (let i = 0; i < 3; i++) fail(A, kind)
  expect(order()).toBe('bca')
})
