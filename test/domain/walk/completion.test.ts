// The walk of one request: whatever happens to it, its admission is resolved exactly once, and charged for what came.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { operatorCost } from '#domain/activity.ts'
import type { Admissions } from '#domain/admission.ts'
import type { ChatEvent, ChatEvents } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Caller } from '#domain/key.ts'
import type { Limits } from '#domain/limits.ts'
import type { Store } from '#domain/store.ts'
import { type FailureKind, type UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { RequestRefused, runWalk } from '#domain/walk/completion.ts'
import type { CompletionDeps } from '#domain/walk/walk.ts'
import type { Generate, Work } from '#domain/work.ts'
import type { HandClock } from '#test/support/hand-clock.ts'
import { anAct, aRequest, aVersion, perM, usd } from '#test/support/nouns.ts'
import { finish, never, type Script, script, text, until } from '#test/support/scripted-upstream.ts'
import { walkSteps } from '#test/support/walk-steps.ts'
import { startUpstream } from '#upstream/registry.ts'
import {
  COUNTED,
  IMAGE,
  openWalkBench,
  says,
  types,
  type Walk,
  type WalkBench,
  type WalkWishes,
} from './walking.ts'

let bench: WalkBench
let clock: HandClock
let store: Store

beforeEach(async () => {
  bench = await openWalkBench()
  clock = bench.clock
  store = bench.store
})

afterEach(() => store.close())

const start = (
  of: Pick<Script, 'upstream'>,
  request: Work,
  signal: AbortSignal,
  limits: Partial<Limits> = {},
) => bench.start(bench.depsOf(of), request, signal, limits)

const walk = (of: Pick<Script, 'upstream'>, request?: Work, wishes?: WalkWishes) =>
  bench.walk(bench.depsOf(of), request, wishes)

const books = (caller: Caller) => bench.books(caller)

const eventsOf = ({ steps }: Walk): readonly ChatEvent[] =>
  steps.flatMap((step) => (step.type === 'events' ? step.events : []))

/** The estimate of the prompt alone: 100 bytes are 25 tokens at $2.5/M. */
const PROMPT_ALONE = usd('0.0000625')

test('who waits for its hold is judged once an engine that answers later has released it', async () => {
  const deps = bench.depsOf(says([COUNTED]))
  const order: string[] = []
  const admissions: Admissions = {
    ...store.admissions,
    async settle(id, settlement) {
      await Bun.sleep(1)
      const isSettled = await store.admissions.settle(id, settlement)
      order.push('settled')
      return isSettled
    },
  }
  vi.spyOn(deps.queue, 'released').mockImplementation(() => order.push('judged'))
  await bench.walk({ ...deps, store: { ...store, admissions } })
  expect(order).toEqual(['settled', 'judged'])
})

describe('an answer that comes whole', () => {
  test('is charged by the provider’s count, and the receipt comes after the commit', async () => {
    const said = says([text('Hel')], [text('lo'), finish()], [COUNTED])
    const walked = await walk(said)
    expect(types(walked)).toEqual(['admitted', 'opened', 'events', 'events', 'events', 'receipt'])
    const { charged, line } = await books(walked.caller)
    expect(charged).toBe(85_000n)
    expect(line).toMatchObject({
      status: 200,
      code: null,
      endedBy: 'completed',
      finishReason: 'stop',
      usageSource: 'provider',
      provider: 'acme',
      costRub: 7_650n,
    })
    expect(walked.steps.at(-1)).toMatchObject({ charge: { amount: 85_000n } })
    expect((await store.accounts.find('acct_1'))?.balance).toBe(usd('9.999915'))
    expect(said.over).toBe(true)
  })

  test('that the clock is set back under took no negative time', async () => {
    const speaks = script(async function* () {
      bench.clock.advance(-86_400_000)
      yield [text('hello'), finish(), COUNTED]
    })
    const walked = await bench.walk(bench.depsOf(speaks))
    const { line } = await bench.books(walked.caller)
    expect(line).toMatchObject({ firstEventMs: 0, totalMs: 0, queuedMs: 0 })
  })

  test('T16: is charged by an estimate when the provider counts nothing', async () => {
    const walked = await walk(says([text('1234567890'), finish()]))
    const { charged, line } = await books(walked.caller)
    expect(charged).toBe(usd('0.0000925'))
    expect(line.usageSource).toBe('estimated')
  })

  test('T16: is charged by an estimate when the provider counts only zeros', async () => {
    const walked = await walk(says([text('free'), finish(), { type: 'usage', usage: NO_USAGE }]))
    const { charged, charges, line } = await books(walked.caller)
    expect({ charges, source: line.usageSource }).toEqual({ charges: 1, source: 'estimated' })
    expect(charged).toBeGreaterThan(0n)
  })

  test('is charged by the price that was in force when it began', async () => {
    const walked = await walk(says([COUNTED]), aRequest(), {
      onStep: ({ type }) => {
        if (type !== 'opened') return
        const dearer = aVersion({ prompt: perM('1000') }, clock.now())
        void store.models.price('acme/small', dearer, anAct(clock.now()))
      },
    })
    expect((await books(walked.caller)).charged).toBe(85_000n)
  })

  test('T17: a broken count neither stops the settlement nor earns money', async () => {
    const usage = { ...NO_USAGE, inputTokens: -1e6, outputTokens: 2.5, reasoningTokens: 1e300 }
    const walked = await walk(says([text('x'), { type: 'usage', usage }]))
    expect((await books(walked.caller)).charged).toBe(usd('0.00003'))
  })

  test('images are charged per image', async () => {
    const request = aRequest({ model: 'acme/pixel', wantsImages: true, choices: 2 })
    const walked = await walk(says([IMAGE, IMAGE], [COUNTED]), request)
    const { charged, line } = await books(walked.caller)
    expect(charged).toBe(usd('0.080085'))
    expect(line.usage.outputImages).toBe(2)
  })

  test('an image beyond those that were held is neither delivered nor charged, and noted', async () => {
    const request = aRequest({ model: 'acme/pixel', wantsImages: true })
    const walked = await walk(says([IMAGE], [IMAGE, IMAGE, COUNTED]), request)
    expect(eventsOf(walked)).toEqual([IMAGE, COUNTED])
    const { charged, line } = await books(walked.caller)
    // No count parts its three output tokens by image: a third of them is charged.
    expect(charged).toBe(usd('0.040065'))
    expect(line).toMatchObject({ usage: { outputImages: 1 }, unchargedCost: usd('0.08002') })
    expect(operatorCost(line)).toBe(usd('0.08002'))
  })

  test('an image that nobody asked for is neither delivered nor charged, and noted', async () => {
    const request = aRequest({ model: 'acme/tokens', stream: true })
    const walked = await walk(says([IMAGE], [text('a fox'), finish()], [COUNTED]), request)
    expect(eventsOf(walked)).toEqual([text('a fox'), finish(), COUNTED])
    const { charged, line } = await books(walked.caller)
    expect(charged).toBe(75_000n)
    expect(line).toMatchObject({
      usage: { inputTokens: 22, outputTokens: 2, outputImages: 0 },
      usageSource: 'estimated',
    })
    expect(line.unchargedCost).toBe(10_000n)
  })

  test('an image billed by token that the provider did not count is not free', async () => {
    const request = aRequest({ model: 'acme/tokens', wantsImages: true, textBytes: 0 })
    const walked = await walk(says([IMAGE]), request)
    expect((await books(walked.caller)).charged).toBe(usd('0.0129'))
  })
})

describe('an upstream that fails', () => {
  const failures: [FailureKind, number, string][] = [
    ['rejected', 400, 'invalid_request'],
    ['unauthorized', 502, 'upstream_error'],
    ['overloaded', 503, 'upstream_overloaded'],
    ['failed', 502, 'upstream_error'],
    ['timeout', 504, 'upstream_timeout'],
  ]
  const fails = (kind: FailureKind) => new UpstreamFailure(kind, 'broken')

  test.each(failures)('at once (%s) costs nothing and is %i', async (kind, status, code) => {
    const broken = script(
      async function* () {},
      async () => {
        throw fails(kind)
      },
    )
    const walked = await walk(broken)
    expect(types(walked)).toEqual(['admitted'])
    expect(walked.thrown).toMatchObject({ name: 'GatewayError', code, status })
    const { charges, line } = await books(walked.caller)
    expect(charges).toBe(0)
    expect(line).toMatchObject({ status, code, endedBy: 'upstream', finishReason: 'error' })
  })

  test.each(failures)('before any content (%s) costs nothing', async (kind, _, code) => {
    const broken = script(async function* () {
      yield [{ type: 'message-fields', choice: 0, fields: { x: 1 } }]
      throw fails(kind)
    })
    const walked = await walk(broken)
    expect(walked.thrown).toMatchObject({ code })
    expect((await books(walked.caller)).charges).toBe(0)
  })

  test('after a count and without content is not charged', async () => {
    const broken = script(async function* () {
      yield [{ type: 'usage', usage: { ...NO_USAGE, inputTokens: 5_000 } }]
      throw fails('failed')
    })
    const walked = await walk(broken)
    expect(walked.thrown).toMatchObject({ status: 502 })
    expect((await books(walked.caller)).charges).toBe(0)
  })

  test.each(failures)(
    'T20: after content (%s) is told, and what came is charged',
    async (kind, _, code) => {
      const broken = script(async function* () {
        yield [text('12345678')]
        throw fails(kind)
      })
      const walked = await walk(broken)
      expect(types(walked)).toEqual(['admitted', 'opened', 'events', 'failed', 'receipt'])
      expect(walked.steps.at(-2)).toMatchObject({ error: { code } })
      const { charged, line } = await books(walked.caller)
      expect(charged).toBe(usd('0.0000825'))
      expect(line).toMatchObject({ endedBy: 'upstream', code, usageSource: 'estimated' })
    },
  )

  test('with an unknown error is an internal error, whose text is not disclosed', async () => {
    const broken = script(async function* () {
      yield [text('12345678')]
      throw new TypeError('http://user:password@10.0.0.1 is not a function')
    })
    const walked = await walk(broken)
    expect(walked.steps.at(-2)).toMatchObject({ type: 'failed', error: { code: 'internal_error' } })
    expect(JSON.stringify(walked.steps.at(-2))).not.toContain('password')
    expect((await books(walked.caller)).line).toMatchObject({ endedBy: 'gateway', status: 500 })
  })

  test('whose credential cannot be read costs nothing', async () => {
    const { caller, generator } = await start(says(), aRequest(), new AbortController().signal)
    await generator.return()
    const deps: CompletionDeps = {
      ...bench.depsOf(says()),
      upstreamFor: () =>
        startUpstream(Promise.reject(new GatewayError('internal_error', 'no master key'))),
    }
    const steps = walkSteps(deps, caller, aRequest(), new AbortController().signal)
    await steps.next()
    await expect(steps.next()).rejects.toMatchObject({ code: 'upstream_error' })
    expect((await books(caller)).charges).toBe(0)
  })

  test('without the requested image is not charged, whatever it counted', async () => {
    const request = aRequest({ model: 'acme/pixel', wantsImages: true })
    const walked = await walk(says([text('I would rather not'), finish()], [COUNTED]), request)
    expect(walked.thrown).toMatchObject({ code: 'no_image_returned', status: 502 })
    expect((await books(walked.caller)).charges).toBe(0)
  })
})

describe('a consumer that stops', () => {
  const said = () => says([text('12345678')], [text('12345678'), finish()], [COUNTED])
  const stops: [number, string, bigint][] = [
    [1, 'admitted', 0n],
    [2, 'opened', PROMPT_ALONE],
    [3, 'first events', usd('0.0000825')],
    [4, 'second events', usd('0.0001025')],
    [5, 'last events', 85_000n],
    [6, 'receipt', 85_000n],
  ]

  test.each(stops)('after step %i (%s) is charged once: %s', async (count, _, expected) => {
    const upstream = said()
    const { caller, generator } = await start(upstream, aRequest(), new AbortController().signal)
    for (let step = 0; step < count; step++) await generator.next()
    await generator.return()
    await generator.return()
    const { charged, line } = await books(caller)
    expect(charged).toBe(expected)
    expect(line.endedBy).toBe(count === 6 ? 'completed' : 'client')
    expect(line.status).toBe(count === 6 ? 200 : 499)
    expect(upstream.calls).toHaveLength(count === 1 ? 0 : 1)
    // What has come to its own end needs no letting go.
    expect(upstream.calls.every(({ signal }) => signal.aborted)).toBe(count !== 6)
  })

  test('and never begins takes nothing', async () => {
    const { caller, generator } = await start(said(), aRequest(), new AbortController().signal)
    await generator.return()
    expect(await store.activity.list({ keyId: caller.key.id, limit: 1 })).toEqual([])
    expect((await store.health({ checkIntegrity: false })).openHolds).toBe(0)
  })

  test('by throwing into the walk still settles it', async () => {
    const { caller, generator } = await start(said(), aRequest(), new AbortController().signal)
    const told: string[] = []
    const tell = (step: string) => (): undefined => void told.push(step)
    await runWalk(generator.walk, {
      admitted: tell('admitted'),
      opened: tell('opened'),
      events() {
        told.push('events')
        throw new Error('the reader broke')
      },
      priced: tell('priced'),
      failed: tell('failed'),
      receipt: tell('receipt'),
      left() {},
    })
    expect(told).toEqual(['admitted', 'opened', 'events', 'failed', 'receipt'])
    expect(await books(caller)).toMatchObject({ charges: 1, line: { endedBy: 'gateway' } })
  })
})

describe('a client that leaves', () => {
  const speaksThenHangs = () =>
    script(async function* (call: UpstreamCall) {
      yield [text('12345678')]
      await until(never, call)
    })

  test('before the request was sent is not charged, and nothing is sent', async () => {
    const upstream = speaksThenHangs()
    const walked = await walk(upstream, aRequest(), { signal: AbortSignal.abort() })
    expect(types(walked)).toEqual(['admitted'])
    expect(await books(walked.caller)).toMatchObject({
      charges: 0,
      line: { endedBy: 'client', status: 499 },
    })
    expect(upstream.calls).toHaveLength(0)
  })

  test('T15: while the provider is being asked owes its prompt', async () => {
    const gone = new AbortController()
    const upstream = script(
      async function* () {},
      async (call) => {
        gone.abort()
        await until(never, call)
      },
    )
    const walked = await walk(upstream, aRequest(), { signal: gone.signal })
    expect(types(walked)).toEqual(['admitted', 'receipt'])
    expect(await books(walked.caller)).toMatchObject({
      charged: PROMPT_ALONE,
      line: { endedBy: 'client', status: 499, usageSource: 'estimated' },
    })
  })

  test('in the middle owes what came', async () => {
    const gone = new AbortController()
    const walked = await walk(speaksThenHangs(), aRequest(), {
      signal: gone.signal,
      onStep: ({ type }) => {
        if (type === 'events') gone.abort()
      },
    })
    expect(types(walked)).toEqual(['admitted', 'opened', 'events', 'receipt'])
    expect(await books(walked.caller)).toMatchObject({
      charged: usd('0.0000825'),
      line: { endedBy: 'client' },
    })
  })

  test('while the upstream is silent is let go without waiting for it', async () => {
    const gone = new AbortController()
    const { caller, generator } = await start(speaksThenHangs(), aRequest(), gone.signal)
    for (let step = 0; step < 3; step++) await generator.next()
    const next = generator.next()
    gone.abort()
    expect((await next).value).toMatchObject({ type: 'receipt' })
    expect((await books(caller)).charged).toBe(usd('0.0000825'))
  })

  test('is seen although the upstream takes the abort for the end', async () => {
    const gone = new AbortController()
    const upstream = script(async function* (call: UpstreamCall) {
      yield [text('12345678')]
      await until(never, call).catch(() => {})
    })
    const walked = await walk(upstream, aRequest(), {
      signal: gone.signal,
      onStep: ({ type }) => {
        if (type === 'events') gone.abort()
      },
    })
    expect((await books(walked.caller)).line).toMatchObject({ endedBy: 'client', status: 499 })
  })

  test('is distinguished from a stopping gateway', async () => {
    const stop = new AbortController()
    const walked = await walk(speaksThenHangs(), aRequest(), {
      signal: stop.signal,
      onStep: ({ type }) => {
        if (type === 'events') stop.abort(new GatewayError('shutting_down', 'stopping'))
      },
    })
    expect(walked.steps.at(-2)).toMatchObject({ type: 'failed', error: { code: 'shutting_down' } })
    expect(await books(walked.caller)).toMatchObject({
      charged: usd('0.0000825'),
      line: { endedBy: 'gateway', code: 'shutting_down' },
    })
  })

  test('is distinguished from a stopping gateway while its reader does not read', async () => {
    const stop = new AbortController()
    const { caller, generator } = await start(speaksThenHangs(), aRequest(), stop.signal)
    for (const type of ['admitted', 'opened', 'events']) {
      expect((await generator.next()).value).toMatchObject({ type })
    }
    stop.abort(new GatewayError('ended_by_operator', 'stopping'))
    await generator.return()
    expect(await books(caller)).toMatchObject({
      charged: usd('0.0000825'),
      line: { endedBy: 'gateway', code: 'ended_by_operator', status: 503 },
    })
  })
})

describe('a client that leaves a model that thinks, after its first words', () => {
  const request = aRequest({ model: 'acme/thinks', stream: true })

  /** The provider says `later` once the client has left, or the gateway has ended it. */
  async function leave(later: readonly ChatEvents[], stop?: GatewayError) {
    const left = Promise.withResolvers<void>()
    const speaks = script(async function* () {
      yield [text('12345678')]
      await left.promise
      yield* later
    })
    const ears = new AbortController()
    const { caller, generator } = await start(speaks, request, ears.signal)
    for (const type of ['admitted', 'opened', 'events']) {
      expect((await generator.next()).value).toMatchObject({ type })
    }
    if (stop !== undefined) ears.abort(stop)
    const gone = generator.walk.leave()
    left.resolve()
    await gone
    return await books(caller)
  }

  test('does not pay for words that it was not passed and nobody counted', async () => {
    expect(await leave([[text('never passed on '.repeat(50))]])).toMatchObject({
      charged: usd('0.0000825'),
      line: { endedBy: 'client', status: 499, usageSource: 'estimated' },
    })
  })

  test('pays what the provider counts, and is not cut at its hold meanwhile', async () => {
    const running = { ...NO_USAGE, inputTokens: 22, outputTokens: 1e6 }
    const counting: ChatEvent = { type: 'usage', usage: running, partial: true }
    expect(await leave([[counting], [COUNTED]])).toMatchObject({
      charged: 85_000n,
      line: { endedBy: 'client', status: 499, usageSource: 'provider' },
    })
  })

  test('is distinguished from a stopping gateway', async () => {
    expect(await leave([], new GatewayError('shutting_down', 'stopping'))).toMatchObject({
      charged: usd('0.0000825'),
      line: { endedBy: 'gateway', code: 'shutting_down', status: 503 },
    })
  })
})

describe('a request that is refused', () => {
  const allowed = { allowedModels: ['acme/*'] }
  const image = { wantsImages: true }
  const refusals: [string, Partial<Generate>, Partial<Limits>, string, string | null][] = [
    ['a model outside the allow-list', { model: 'other/x' }, allowed, 'model_not_allowed', 'model'],
    ['an unknown model', { model: 'acme/none' }, allowed, 'model_not_found', 'model'],
    [
      'an image streamed',
      { model: 'acme/pixel', ...image, stream: true },
      {},
      'image_streaming_not_supported',
      'stream',
    ],
    [
      'an image streamed from a model that draws none',
      { ...image, stream: true },
      {},
      'image_streaming_not_supported',
      'stream',
    ],
    ['an image from a model that draws none', image, {}, 'unsupported_modality', 'modalities'],
    [
      'text from a model that only draws',
      { model: 'acme/pixel' },
      {},
      'unsupported_modality',
      'modalities',
    ],
    [
      'an image for a model that takes none',
      { inputImages: 1 },
      {},
      'unsupported_modality',
      'messages',
    ],
    [
      'an image beside that of an earlier answer, for a model that takes none',
      { inputImages: 2, earlierImages: 1 },
      {},
      'unsupported_modality',
      'messages',
    ],
    [
      'an image for an unpriced model that takes none',
      { model: 'acme/unpriced', inputImages: 1 },
      {},
      'unsupported_modality',
      'messages',
    ],
    ['an unpriced model', { model: 'acme/unpriced' }, {}, 'unpriced_model', 'model'],
    ['a spent ceiling', {}, { dailySpend: usd('0') }, 'daily_spend_limit_exceeded', null],
    ['a spent month', {}, { monthlySpend: usd('0') }, 'monthly_spend_limit_exceeded', null],
  ]

  test('a conversation with images of earlier answers goes on with a model that takes none', async () => {
    const request = aRequest({ inputImages: 1, earlierImages: 1 })
    expect(types(await walk(says([text('x'), finish()]), request)).at(-1)).toBe('receipt')
  })

  test.each(refusals)('%s', async (_, request, limits, code, param) => {
    const upstream = says([text('never said')])
    const walked = await walk(upstream, aRequest(request), { limits: { rpm: 7, ...limits } })
    expect(walked.thrown).toBeInstanceOf(RequestRefused)
    const { error, quota, generationId } = walked.thrown as RequestRefused
    expect(error.code).toBe(code)
    expect(error.details.param ?? null).toBe(param)
    // Nothing was taken, and the refusal carries the reading for its headers.
    expect(quota.minute).toEqual({ limit: 7, remaining: 7, resetSeconds: 0 })
    expect(upstream.calls).toHaveLength(0)
    const { charges, line } = await books(walked.caller)
    expect(charges).toBe(0)
    expect(line).toMatchObject({ generationId, endedBy: 'refused', code, status: error.status })
  })

  test('a key cannot tell a model it may not call from one that does not exist', async () => {
    const refuse = async (model: string) => {
      const { thrown } = await walk(says(), aRequest({ model }), {
        limits: { allowedModels: ['acme/small'] },
      })
      const { error } = thrown as RequestRefused
      return { code: error.code, message: error.message.replace(model, '…') }
    }
    expect(await refuse('acme/pixel')).toEqual(await refuse('acme/none'))
  })

  test('by a full window counts its one line and says when to come again', async () => {
    const { caller, generator } = await start(
      says([text('a')]),
      aRequest(),
      new AbortController().signal,
      { rpm: 1 },
    )
    for await (const _ of generator);
    clock.advance(20_500)
    const again = walkSteps(bench.depsOf(says()), caller, aRequest(), new AbortController().signal)
    const refused = (await again.next().catch((thrown) => thrown)) as RequestRefused
    expect(refused.error).toMatchObject({
      code: 'rate_limit_exceeded',
      details: { retryAfterSeconds: 40 },
    })
    expect(refused.quota.minute).toEqual({ limit: 1, remaining: 0, resetSeconds: 40 })
  })

  test.each([
    ['revoked', 'api_key_revoked'],
    ['disabled', 'api_key_disabled'],
    ['expired', 'api_key_expired'],
  ])('a key that was %s on the way is 401 %s', async (state, code) => {
    const { caller, generator } = await start(says(), aRequest(), new AbortController().signal)
    const now = clock.now()
    const { id } = caller.key
    if (state === 'revoked') await store.keys.revoke(id, anAct(now))
    if (state === 'disabled') await store.keys.amend(id, { disabled: true }, anAct(now))
    if (state === 'expired') await store.keys.amend(id, { expiresAt: now }, anAct(now))
    const refused = (await generator.next().catch((thrown) => thrown)) as RequestRefused
    expect(refused.error).toMatchObject({ code, status: 401 })
    expect(refused.error.message).toContain(state)
  })
})
