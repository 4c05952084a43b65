// Several hops for one model: who is asked, in which order, how often, and that only what answered is paid for, once.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { operatorCost } from '#domain/activity.ts'
import { HOUR_MS } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { RouteHop } from '#domain/route.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import {
  type FailureDetails,
  type FailureKind,
  type UpstreamCall,
  UpstreamFailure,
} from '#domain/upstream.ts'
import { createHopHealth } from '#domain/walk/hop-health.ts'
import type { CompletionDeps } from '#domain/walk/walk.ts'
import type { Generate, Routing } from '#domain/work.ts'
import { modelOf } from '#test/support/catalogue.ts'
import { aHop, anAct, aProvider, aRequest, aRoute, usd } from '#test/support/nouns.ts'
import {
  eventually,
  finish,
  never,
  type Script,
  script,
  text,
  until,
} from '#test/support/scripted-upstream.ts'
import { startUpstream } from '#upstream/registry.ts'
import { COUNTED, IMAGE, openWalkBench, says, types, type WalkBench } from './walking.ts'

let bench: WalkBench

beforeEach(async () => {
  bench = await openWalkBench()
  for (const name of ['beta', 'gamma'])
    await bench.store.providers.add(aProvider({ name }), [], [], anAct())
})
afterEach(() => bench.store.close())

const COST = 85_000n

const answers = (words = 'hello'): Script => says([text(words), finish()], [COUNTED])

const fails = (kind: FailureKind = 'failed', details: FailureDetails = {}, afterMs = 0): Script =>
  script(
    async function* () {},
    async () => {
      bench.clock.advance(afterMs)
      throw new UpstreamFailure(kind, `it was ${kind}`, details)
    },
  )

/** Fails at first, then answers. */
function recovers(kind: FailureKind = 'failed'): Script {
  let asked = 0
  return script(
    async function* () {
      yield [text('better'), finish()]
      yield [COUNTED]
    },
    async () => {
      if (asked++ === 0) throw new UpstreamFailure(kind, 'for a moment')
    },
  )
}

type Scripts = Readonly<Record<string, Script>>

/** A gateway where each provider plays its own script. */
const depsOf = (scripts: Scripts, more: Partial<CompletionDeps> = {}): CompletionDeps => ({
  ...bench.depsOf(says()),
  upstreamFor: ({ name }) => {
    const found = scripts[name]
    if (!found) throw new Error(`nobody plays ${name}`)
    return found.upstream
  },
  ...more,
})

/** How often each was asked. */
const calls = (scripts: Scripts) =>
  Object.fromEntries(Object.entries(scripts).map(([name, { calls: made }]) => [name, made.length]))

const hopOf = (provider: string, more: Partial<RouteHop> = {}): RouteHop =>
  aHop({ provider, upstreamName: `small-at-${provider}`, ...more })

/** acme, then beta, then gamma; as many as are named. */
const route = (...providers: readonly string[]) =>
  bench.store.models.route(
    aRoute(
      'acme/small',
      providers.map((provider, n) => hopOf(provider, { position: n + 1 })),
    ),
    anAct(),
  )

const walk = (deps: CompletionDeps, request: Partial<Generate> = {}) =>
  bench.walk(deps, aRequest(request))

const failureOf = ({ thrown }: { readonly thrown: unknown }) =>
  thrown instanceof GatewayError ? thrown.code : thrown

describe('a hop that fails before it has said anything', () => {
  test.each<FailureKind>(['failed', 'overloaded', 'timeout', 'unauthorized', 'rejected'])(
    '%s: the next one answers, and is paid once, at the model’s price',
    async (kind) => {
      await route('acme', 'beta')
      const scripts = { acme: fails(kind, { status: 503 }, 120), beta: answers() }
      const walked = await walk(depsOf(scripts))
      expect(types(walked)).toEqual(['admitted', 'opened', 'events', 'events', 'receipt'])
      expect(walked.steps[1]).toMatchObject({ head: { model: 'acme/small', provider: 'beta' } })
      expect(calls(scripts)).toEqual({ acme: 1, beta: 1 })
      expect(scripts.beta.calls[0]?.hop.card.upstreamName).toBe('small-at-beta')
      const { charged, line } = await bench.books(walked.caller)
      expect(charged).toBe(COST)
      expect(line).toMatchObject({ status: 200, provider: 'beta', endedBy: 'completed' })
      expect(line.failedAttempts).toEqual([
        {
          model: 'acme/small',
          provider: 'acme',
          outcome: kind,
          status: 503,
          reason: `it was ${kind}`,
          ms: 120,
          operatorCost: 0n,
        },
      ])
      expect(scripts.acme.calls[0]?.signal.aborted).toBe(true)
    },
  )

  test('a stream that breaks off before its first word is one, too', async () => {
    await route('acme', 'beta')
    const acme = script(async function* () {
      yield [{ type: 'answer-fields', fields: { id: 'x' } }]
      throw new UpstreamFailure('failed', 'it broke off')
    })
    const walked = await walk(depsOf({ acme, beta: answers() }), { stream: true })
    const { charged, line } = await bench.books(walked.caller)
    expect([charged, line.provider]).toEqual([COST, 'beta'])
    expect(JSON.stringify(walked.steps, plain)).not.toContain('"id":"x"')
  })

  test('every one of them: the last failure is returned, and nothing is charged', async () => {
    await route('acme', 'beta', 'gamma')
    const scripts = { acme: fails('overloaded'), beta: fails('failed'), gamma: fails('timeout') }
    const walked = await walk(depsOf(scripts))
    expect(failureOf(walked)).toBe('upstream_timeout')
    const { charges, line } = await bench.books(walked.caller)
    expect(charges).toBe(0)
    expect(line).toMatchObject({ status: 504, provider: 'gamma' })
    expect(line.failedAttempts.map(({ provider, outcome }) => [provider, outcome])).toEqual([
      ['acme', 'overloaded'],
      ['beta', 'failed'],
      ['gamma', 'timeout'],
    ])
  })

  test('after the first content no other hop is tried', async () => {
    await route('acme', 'beta')
    const acme = script(async function* () {
      yield [text('12345678')]
      throw new UpstreamFailure('failed', 'it broke off')
    })
    const scripts = { acme, beta: answers() }
    const walked = await walk(depsOf(scripts))
    expect(types(walked)).toEqual(['admitted', 'opened', 'events', 'failed', 'receipt'])
    expect(calls(scripts)).toEqual({ acme: 1, beta: 0 })
    const { charged, line } = await bench.books(walked.caller)
    expect(charged).toBe(usd('0.0000825'))
    expect(line).toMatchObject({ provider: 'acme', failedAttempts: [{ operatorCost: 0n }] })
  })

  test('a route without the model’s own provider leaves it alone', async () => {
    await route('beta')
    const scripts = { acme: answers(), beta: answers() }
    await walk(depsOf(scripts))
    expect(calls(scripts)).toEqual({ acme: 0, beta: 1 })
  })

  test('a provider that is gone is passed over', async () => {
    await route('acme', 'beta', 'gamma')
    await bench.store.providers.remove('beta', anAct())
    const scripts = { acme: fails(), beta: answers(), gamma: answers() }
    const walked = await walk(depsOf(scripts))
    expect(calls(scripts)).toEqual({ acme: 1, beta: 0, gamma: 1 })
    expect((await bench.books(walked.caller)).line.provider).toBe('gamma')
  })
})

const plain = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

describe('the same hop once more', () => {
  test.each<FailureKind>(['failed', 'overloaded'])(
    '%s: it answers, and is paid once',
    async (kind) => {
      const scripts = { acme: recovers(kind) }
      const walked = await walk(depsOf(scripts))
      expect(calls(scripts)).toEqual({ acme: 2 })
      const { charged, line } = await bench.books(walked.caller)
      expect(charged).toBe(COST)
      expect(line.failedAttempts).toMatchObject([{ provider: 'acme', reason: 'for a moment' }])
    },
  )

  test('is the last one, and not a third time', async () => {
    await route('acme', 'beta')
    const scripts = { acme: fails(), beta: fails() }
    const walked = await walk(depsOf(scripts))
    expect(calls(scripts)).toEqual({ acme: 1, beta: 2 })
    expect(failureOf(walked)).toBe('upstream_error')
    const { line } = await bench.books(walked.caller)
    expect(line.failedAttempts.map(({ provider }) => provider)).toEqual(['acme', 'beta', 'beta'])
  })

  test.each<FailureKind>(['timeout', 'rejected', 'unauthorized'])('not after %s', async (kind) => {
    const scripts = { acme: fails(kind) }
    await walk(depsOf(scripts))
    expect(calls(scripts)).toEqual({ acme: 1 })
  })

  test('the pause before it counts for no attempt', async () => {
    let asked = 0
    const acme = script(
      async function* () {},
      async () => {
        // What passes between the two is neither the first one's nor the second one's.
        if (asked++ === 0) setTimeout(() => bench.clock.advance(1_000), 50)
        else bench.clock.advance(30)
        throw new UpstreamFailure('failed', 'broken')
      },
    )
    const walked = await walk(depsOf({ acme }))
    const { line } = await bench.books(walked.caller)
    expect(line.failedAttempts.map(({ ms }) => ms)).toEqual([0, 30])
  })

  test('a client that disconnects during the pause is not charged, and no hop is tried', async () => {
    const gone = new AbortController()
    const scripts = { acme: fails() }
    const deps = depsOf(scripts)
    const { caller, generator } = await bench.start(deps, aRequest(), gone.signal)
    await generator.next()
    const end = generator.next()
    // What it failed by is noted in the turn in which the pause begins.
    await eventually(() => deps.health.readings().length > 0, 'the first attempt has failed')
    gone.abort()
    expect(await end).toEqual({ done: true, value: undefined })
    expect(calls(scripts)).toEqual({ acme: 1 })
    expect(await bench.books(caller)).toMatchObject({
      charges: 0,
      line: { endedBy: 'client', status: 499, failedAttempts: [{ outcome: 'failed' }] },
    })
  })
})

describe('exactly one attempt', () => {
  test.each<FailureKind>(['failed', 'overloaded', 'timeout'])('%s is 502', async (kind) => {
    await route('acme', 'beta')
    const scripts = { acme: fails(kind), beta: answers() }
    const walked = await walk(depsOf(scripts), { allowFallbacks: false })
    expect(walked.thrown).toMatchObject({ code: 'upstream_error', status: 502 })
    expect(calls(scripts)).toEqual({ acme: 1, beta: 0 })
    const { charges, line } = await bench.books(walked.caller)
    expect([charges, line.failedAttempts.length]).toEqual([0, 1])
  })

  test('a failed image request is not retried', async () => {
    const scripts = { acme: fails() }
    const walked = await walk(depsOf(scripts), {
      model: 'acme/pixel',
      wantsImages: true,
      allowFallbacks: false,
    })
    expect(walked.thrown).toMatchObject({ status: 502 })
    expect(calls(scripts)).toEqual({ acme: 1 })
  })

  test('goes to a hop that does not rest', async () => {
    await route('acme', 'beta')
    const scripts = { acme: fails('unauthorized'), beta: answers() }
    const deps = depsOf(scripts)
    await walk(deps)
    const walked = await walk(deps, { allowFallbacks: false })
    expect(calls(scripts)).toEqual({ acme: 1, beta: 2 })
    expect((await bench.books(walked.caller)).charged).toBe(COST)
  })
})

describe('an image', () => {
  const pixel = { model: 'acme/pixel', wantsImages: true } as const
  const routePixel = () =>
    bench.store.models.route(
      aRoute('acme/pixel', [hopOf('acme'), hopOf('beta', { position: 2 })]),
      anAct(),
    )
  /** A piece at $0.04, and what was counted. */
  const IMAGE_COST = usd('0.040085')
  const talks = () => says([text('I would rather not'), finish()], [COUNTED])

  test('that did not come costs the operator, and the client what the next one drew', async () => {
    await routePixel()
    const scripts = { acme: talks(), beta: says([IMAGE, finish()], [COUNTED]) }
    const walked = await walk(depsOf(scripts), pixel)
    const { charged, line } = await bench.books(walked.caller)
    expect(charged).toBe(IMAGE_COST)
    expect(line.provider).toBe('beta')
    expect(line.failedAttempts).toMatchObject([
      { provider: 'acme', outcome: 'no-image', status: null, operatorCost: COST },
    ])
  })

  test('that no provider generates is not charged', async () => {
    await routePixel()
    const scripts = { acme: talks(), beta: talks() }
    const walked = await walk(depsOf(scripts), pixel)
    expect(walked.thrown).toMatchObject({ code: 'no_image_returned', status: 502 })
    const { charges, line } = await bench.books(walked.caller)
    expect(charges).toBe(0)
    expect(line.failedAttempts.map(({ operatorCost: cost }) => cost)).toEqual([COST, COST])
    expect(operatorCost(line)).toBe(2n * COST)
    expect(calls(scripts)).toEqual({ acme: 1, beta: 1 })
  })

  test('is never asked for twice at one hop', async () => {
    await routePixel()
    const scripts = { acme: fails(), beta: fails() }
    const walked = await walk(depsOf(scripts), pixel)
    expect(calls(scripts)).toEqual({ acme: 1, beta: 1 })
    expect((await bench.books(walked.caller)).charges).toBe(0)
  })
})

describe('what the request says of providers', () => {
  const told = (routing: Partial<Routing>) => ({
    routing: { models: [], order: [], only: [], ignore: [], ...routing },
  })

  test.each<[string, Partial<Routing>, string[]]>([
    ['order', { order: ['gamma', 'acme'] }, ['gamma', 'acme', 'beta', 'beta']],
    ['only', { only: ['beta', 'gamma'] }, ['beta', 'gamma', 'gamma']],
    ['ignore', { ignore: ['acme', 'gamma'] }, ['beta', 'beta']],
    ['a stranger', { order: ['delta'], ignore: ['epsilon'] }, ['acme', 'beta', 'gamma', 'gamma']],
  ])('%s', async (_, routing, asked) => {
    await route('acme', 'beta', 'gamma')
    const scripts = { acme: fails(), beta: fails(), gamma: fails() }
    const walked = await walk(depsOf(scripts), told(routing))
    const { line } = await bench.books(walked.caller)
    expect(line.failedAttempts.map(({ provider }) => provider)).toEqual(asked)
  })

  test('that leaves no provider is refused before admission', async () => {
    await route('acme', 'beta')
    const walked = await walk(depsOf({}), told({ ignore: ['acme', 'beta'] }))
    expect(walked.thrown).toMatchObject({ error: { code: 'no_route_available' } })
    expect((await bench.books(walked.caller)).line.endedBy).toBe('refused')
  })

  test('all hops of the model asked for, before those of another', async () => {
    await bench.store.models.route(aRoute('acme/tokens', [hopOf('gamma')]), anAct())
    await route('acme', 'beta')
    const scripts = { acme: fails(), beta: fails(), gamma: answers() }
    const walked = await walk(depsOf(scripts), told({ models: ['acme/tokens'] }))
    const { line } = await bench.books(walked.caller)
    expect(line).toMatchObject({ model: 'acme/tokens', provider: 'gamma' })
    expect(line.failedAttempts.map(({ provider }) => provider)).toEqual(['acme', 'beta'])
  })
})

describe('a hop that rests', () => {
  test('goes last; one request probes it, and the one it serves brings it back', async () => {
    await route('acme', 'beta')
    let isBroken = true
    const acme = script(
      async function* () {
        yield [text('hello'), finish()]
        yield [COUNTED]
      },
      async () => {
        if (isBroken) throw new UpstreamFailure('failed', 'down')
      },
    )
    const scripts = { acme, beta: answers() }
    const deps = depsOf(scripts)
    for (let i = 0; i < 5; i++) await walk(deps)
    expect(calls(scripts)).toEqual({ acme: 3, beta: 5 })
    expect(deps.health.readings()).toMatchObject([
      { provider: 'acme', upstreamName: 'small-at-acme', failures: 3 },
    ])

    bench.clock.advance(5_000)
    await walk(deps)
    await walk(deps)
    expect(calls(scripts)).toEqual({ acme: 4, beta: 7 })

    isBroken = false
    bench.clock.advance(10_000)
    await walk(deps)
    await walk(deps)
    expect(calls(scripts)).toEqual({ acme: 6, beta: 7 })
    expect(deps.health.readings()).toEqual([])
  })

  test('is asked all the same when the others fail', async () => {
    await route('acme', 'beta')
    const scripts = { acme: fails('unauthorized'), beta: fails('timeout') }
    const deps = depsOf(scripts)
    await walk(deps)
    await walk(deps)
    expect(calls(scripts)).toEqual({ acme: 2, beta: 2 })
  })

  test('is probed by the next one when the client of its probe leaves', async () => {
    await route('acme', 'beta')
    const gone = new AbortController()
    const acme = script(
      async function* () {},
      async (call: UpstreamCall) => {
        if (acme.calls.length === 1) {
          throw new UpstreamFailure('overloaded', 'busy', { retryAfterSeconds: 9 })
        }
        gone.abort()
        await until(never, call)
      },
    )
    const deps = depsOf({ acme, beta: answers() })
    await walk(deps)
    bench.clock.advance(9_000)
    await bench.walk(deps, aRequest(), { signal: gone.signal })
    expect(acme.calls).toHaveLength(2)
    expect(deps.health.readings()).toMatchObject([{ provider: 'acme', restsUntil: null }])
  })

  test('is back at the first word of its probe, while that streams on', async () => {
    await route('acme', 'beta')
    const goesOn = Promise.withResolvers<void>()
    const acme = script(
      async function* (call: UpstreamCall) {
        yield [text('hello')]
        if (acme.calls.length === 2) await until(goesOn.promise, call)
        yield [finish(), COUNTED]
      },
      async () => {
        if (acme.calls.length === 1) throw new UpstreamFailure('unauthorized', 'no')
      },
    )
    const scripts = { acme, beta: answers() }
    const deps = depsOf(scripts)
    await walk(deps)
    bench.clock.advance(60_000)
    const probing = walk(deps)
    await eventually(() => acme.asked === 1, 'the probe has its first word')
    await eventually(
      () => deps.health.readings()[0]?.restsUntil === null,
      'the hop serves while its probe streams',
    )
    await walk(deps)
    expect(calls(scripts)).toEqual({ acme: 3, beta: 1 })
    goesOn.resolve()
    await probing
    expect(deps.health.readings()).toEqual([])
  })

  test('stays under its probe when the client of another request leaves', async () => {
    const gone = new AbortController()
    const acme = script(
      async function* () {},
      async (call: UpstreamCall) => {
        gone.abort()
        await until(never, call)
      },
    )
    const deps = depsOf({ acme })
    const hop = {
      card: modelOf(bench.store, 'acme/small')!,
      provider: aProvider(),
      credential: null,
    }
    deps.health.failed(hop, new UpstreamFailure('unauthorized', 'no'))
    bench.clock.advance(60_000)
    deps.health.attempted(hop)
    await bench.walk(deps, aRequest(), { signal: gone.signal })
    expect(acme.calls).toHaveLength(1)
    expect(deps.health.readings()).toMatchObject([{ restsUntil: expect.any(Number) }])
  })

  test('stays under the probe that another request makes', async () => {
    const deps = depsOf({ acme: answers() })
    const hop = {
      card: modelOf(bench.store, 'acme/small')!,
      provider: aProvider(),
      credential: null,
    }
    deps.health.failed(hop, new UpstreamFailure('unauthorized', 'no'))
    bench.clock.advance(60_000)
    deps.health.attempted(hop)
    await bench.walk(deps, aRequest(), { signal: AbortSignal.abort() })
    expect(deps.health.readings()).toMatchObject([{ restsUntil: expect.any(Number) }])
  })

  test('is well again once it has said something, though its client left', async () => {
    const gone = new AbortController()
    const acme = script(async function* (call: UpstreamCall) {
      yield [text('hello')]
      gone.abort()
      await until(never, call)
    })
    const deps = depsOf({ acme })
    deps.health.failed(
      { card: modelOf(bench.store, 'acme/small')!, provider: aProvider(), credential: null },
      new UpstreamFailure('failed', 'once'),
    )
    expect(deps.health.readings()).toHaveLength(1)
    await bench.walk(deps, aRequest(), { signal: gone.signal })
    expect(deps.health.readings()).toEqual([])
  })
})

test('a credential that cannot be read is its own hop’s trouble', async () => {
  await route('acme', 'beta')
  const beta = answers()
  const deps = depsOf(
    {},
    {
      upstreamFor: ({ name }) => {
        if (name === 'beta') return beta.upstream
        return startUpstream(
          Promise.reject(new GatewayError('internal_error', 'cannot be read with this master key')),
        )
      },
    },
  )
  const walked = await walk(deps)
  const { charged, line } = await bench.books(walked.caller)
  expect(charged).toBe(COST)
  expect(line).toMatchObject({
    provider: 'beta',
    failedAttempts: [
      { provider: 'acme', outcome: 'unauthorized', reason: 'its credential cannot be read' },
    ],
  })
  // It waits for its operator; the next request goes elsewhere at once.
  const next = await walk(deps)
  expect((await bench.books(next.caller)).line.failedAttempts).toEqual([])
})

test('a credential that the store cannot read now is no hop’s trouble: nothing is asked', async () => {
  await route('acme', 'beta')
  const beta = answers()
  const deps = depsOf(
    {},
    {
      upstreamFor: ({ name }) => {
        if (name === 'beta') return beta.upstream
        return startUpstream(
          Promise.reject(new GatewayError('store_unavailable', 'the database is damaged')),
        )
      },
    },
  )
  const { thrown, caller } = await walk(deps)
  expect(thrown).toMatchObject({ code: 'store_unavailable' })
  expect(await bench.books(caller)).toMatchObject({
    charged: 0n,
    line: { status: 503, endedBy: 'gateway', failedAttempts: [] },
  })
  expect(deps.health.readings()).toEqual([])
})

describe('the time of a request', () => {
  const settings = { ...DEFAULT_SETTINGS, totalTimeoutMs: 60_000 }

  test('is one, however many attempts share it', async () => {
    await route('acme', 'beta', 'gamma')
    const scripts = {
      acme: fails('timeout', {}, 20_000),
      beta: fails('failed', {}, 25_000),
      gamma: answers(),
    }
    await walk(depsOf(scripts, { settings }))
    expect(
      Object.values(scripts).map(({ calls: [call] }) => call?.timeouts.totalTimeoutMs),
    ).toEqual([60_000, 40_000, 15_000])
  })

  test.each([2 * HOUR_MS, -2 * HOUR_MS])(
    'a clock that is set by %i ms meanwhile takes none of it',
    async (ms) => {
      await route('acme', 'beta')
      const acme = script(
        async function* () {},
        async () => {
          bench.clock.step(ms)
          bench.clock.advance(20_000)
          throw new UpstreamFailure('failed', 'broken')
        },
      )
      const beta = answers()
      const walked = await walk(depsOf({ acme, beta }, { settings }))
      expect(beta.calls[0]?.timeouts.totalTimeoutMs).toBe(40_000)
      const { line } = await bench.books(walked.caller)
      expect(line).toMatchObject({ firstEventMs: 20_000, totalMs: 20_000 })
      expect(line.failedAttempts).toMatchObject([{ ms: 20_000 }])
    },
  )

  test('after it has passed no other hop is tried', async () => {
    await route('acme', 'beta')
    const scripts = { acme: fails('timeout', {}, 60_000), beta: answers() }
    const walked = await walk(depsOf(scripts, { settings }))
    expect(failureOf(walked)).toBe('upstream_timeout')
    expect(calls(scripts)).toEqual({ acme: 1, beta: 0 })
    expect((await bench.books(walked.caller)).line.failedAttempts).toHaveLength(1)
  })
})

test('hops of one position share the requests by weight', async () => {
  await bench.store.models.route(
    aRoute('acme/small', [hopOf('acme', { weight: 1 }), hopOf('beta', { weight: 9 })]),
    anAct(),
  )
  const scripts = { acme: answers(), beta: answers() }
  const health = createHopHealth(bench.clock)
  for (let i = 0; i < 60; i++) await walk(depsOf(scripts, { health }))
  const { acme = 0, beta = 0 } = calls(scripts)
  expect(acme + beta).toBe(60)
  // Ten of a tenth would be six; that it is a third or nothing at all happens once in millions of runs.
  expect(acme).toBeLessThan(24)
  expect(beta).toBeGreaterThan(36)
})

test('one request probes a hop whose rest is over; those beside it ask the next, until it begins to answer', async () => {
  await route('acme', 'beta')
  let asked = 0
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const acme = script(
    async function* () {
      yield [text('better'), finish()]
      yield [COUNTED]
    },
    async () => {
      asked++
      if (asked <= 3) throw new UpstreamFailure('failed', 'broken')
      if (asked === 4) await opened
    },
  )
  const scripts = { acme, beta: answers() }
  const deps = depsOf(scripts, { health: createHopHealth(bench.clock) })
  for (let i = 0; i < 3; i++) await walk(deps)
  expect(calls(scripts)).toEqual({ acme: 3, beta: 3 })
  bench.clock.advance(5_000)
  // All are admitted before the first of them asks anybody.
  const crowd = Array.from({ length: 5 }, () => walk(deps))
  await vi.waitUntil(() => calls(scripts)['beta'] === 7)
  expect(calls(scripts)).toEqual({ acme: 4, beta: 7 })
  open()
  await Promise.all(crowd)
  expect(calls(scripts)).toEqual({ acme: 4, beta: 7 })
  await walk(deps)
  expect(calls(scripts)).toEqual({ acme: 5, beta: 7 })
})

describe('several credentials of one provider', () => {
  const both = (...weights: readonly [number, number]) =>
    bench.store.providers.edit(
      'acme',
      {
        credentials: ['one', 'two'].map((name, n) => ({
          name,
          weight: weights[n] ?? 1,
          secret: `sk-${name}`,
        })),
      },
      anAct(),
    )

  /** Each plays its own script. */
  const depsFor = (scripts: Scripts, health = createHopHealth(bench.clock)): CompletionDeps => ({
    ...bench.depsOf(says()),
    health,
    upstreamFor: ({ name }, credential) => (scripts[credential ?? name] as Script).upstream,
  })

  test('share its requests by weight, and the next answers for one that is refused', async () => {
    await both(1, 9)
    const scripts = { one: answers(), two: answers() }
    const health = createHopHealth(bench.clock)
    for (let n = 0; n < 60; n++) await walk(depsFor(scripts, health))
    expect(calls(scripts)['two']).toBeGreaterThan(36)
    expect(calls(scripts)['one']).toBe(60 - (calls(scripts)['two'] ?? 0))

    const refused = { one: answers(), two: fails('unauthorized', { status: 401 }) }
    let line: Awaited<ReturnType<WalkBench['books']>>['line'] | undefined
    for (let n = 0; n < 20; n++) {
      const walked = await walk(depsFor(refused, health))
      const books = await bench.books(walked.caller)
      expect(books.line).toMatchObject({ status: 200, provider: 'acme' })
      if (books.line.failedAttempts.length > 0) line = books.line
    }
    // It rests after its first refusal.
    expect(calls(refused)).toEqual({ one: 20, two: 1 })
    expect(line?.failedAttempts).toMatchObject([
      { provider: 'acme', credential: 'two', outcome: 'unauthorized', status: 401 },
    ])
  })

  test('a hop that breaks is not asked with another, but the next hop is', async () => {
    await route('acme', 'beta')
    await both(1, 1)
    const scripts = { one: fails(), two: fails(), beta: answers() }
    await walk(depsFor(scripts))
    const { one = 0, two = 0, beta } = calls(scripts)
    expect([one + two, beta]).toEqual([1, 1])
    await bench.store.models.route(aRoute('acme/small', []), anAct())
    const alone = { one: fails(), two: fails() }
    expect(failureOf(await walk(depsFor(alone)))).toBe('upstream_error')
    // The one retry is by the same.
    expect(Object.values(calls(alone)).toSorted()).toEqual([0, 2])
  })

  test('a client that demands one attempt gets one', async () => {
    await both(1, 1)
    const scripts = {
      one: fails('overloaded', { status: 429 }),
      two: fails('overloaded', { status: 429 }),
    }
    expect(failureOf(await walk(depsFor(scripts), { allowFallbacks: false }))).toBe(
      'upstream_error',
    )
    const { one = 0, two = 0 } = calls(scripts)
    expect(one + two).toBe(1)
  })
})
