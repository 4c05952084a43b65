/** The lookout over a real store, by a clock that the test moves: each trouble once, its end once, and nothing in a quiet week. */
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { type Instant, later } from '#domain/clock.ts'
import type { StoredEvent } from '#domain/event.ts'
import type { Hop } from '#domain/hop.ts'
import { newSecret } from '#domain/secret.ts'
import { Pulse } from '#domain/snapshot/pulse.ts'
import { createSteadyClock } from '#domain/steady-clock.ts'
import type { Store } from '#domain/store.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { askedReadings } from '#domain/walk/asked-hops.ts'
import { createHopHealth } from '#domain/walk/hop-health.ts'
import { startGateway } from '#server/gateway.ts'
import { startLookout } from '#server/lookout.ts'
import { startTeller } from '#server/teller.ts'
import { until } from '#test/support/appliance.ts'
import { type HandClock, handClock } from '#test/support/hand-clock.ts'
import {
  aCard,
  aClaim,
  aHop,
  aKey,
  anAccount,
  anAct,
  anActivity,
  aProvider,
  aTopUp,
  usd,
} from '#test/support/nouns.ts'
import { FULL } from '#test/support/tier.ts'
import { demoCards, demoProvider } from '#upstream/demo/cards.ts'

const MINUTE_MS = 60_000
const HOP: Hop = {
  provider: aProvider({ name: 'acme' }),
  card: aCard({ upstreamName: 'small' }),
  credential: null,
}

interface Post {
  readonly store: Store
  readonly clock: HandClock
  readonly health: ReturnType<typeof createHopHealth>
  readonly pulse: Pulse
  readonly ends: Map<string, Instant>
  /** Waits until it has looked at what is now. */
  looked(): Promise<void>
  /** What was told since the last time that this was asked, the oldest first. */
  told(): Promise<readonly StoredEvent[]>
}

async function openPost(
  given: { store: Store; clock: HandClock } | null = null,
  last: Instant | null = null,
): Promise<Post> {
  const clock = given?.clock ?? handClock('2026-11-24T12:00:00Z')
  const store =
    given?.store ??
    (await openStore({ dataDir: ':memory:', clock, masterKey: new Uint8Array(32).fill(7) }))
  const health = createHopHealth(clock)
  const asked = askedReadings(health, store.catalogue)
  const pulse = new Pulse()
  const ends = new Map<string, Instant>()
  if (given === null) await store.providers.add(HOP.provider, [], [HOP.card], anAct())
  let looks = 0
  const lookout = startLookout({
    store,
    clock,
    pulse,
    steadyClock: createSteadyClock(clock, last),
    teller: await startTeller(store.events, clock),
    lookEveryMs: 1,
    serving: {
      look: async () => {
        looks++
      },
      hops: asked.readings,
      credentials: asked.credentials,
      certificateEnds: () => ends,
    },
    logFault: (cause) => {
      throw cause
    },
  })
  onTestFinished(() => lookout.stop())
  if (given === null) onTestFinished(() => store.close())
  const known = new Set((await store.events.list({ limit: 99 })).map(({ id }) => id))
  const looked = async (): Promise<void> => {
    const before = looks
    await until(() => looks >= before + 2, 'it has looked')
  }
  return {
    store,
    clock,
    health,
    pulse,
    ends,
    looked,
    async told() {
      await looked()
      const all = await store.events.list({ limit: 99 })
      const fresh = all.filter(({ id }) => !known.has(id)).toReversed()
      for (const { id } of fresh) known.add(id)
      return fresh
    },
  }
}

const causes = (events: readonly StoredEvent[]): readonly string[] =>
  events.map(({ cause }) => cause)

function fail(
  { health }: Post,
  times: number,
  failure = new UpstreamFailure('failed', 'no'),
  hop: Hop = HOP,
): void {
  for (let n = 0; n < times; n++) {
    health.attempted(hop)
    health.failed(hop, failure)
  }
}

async function settle(post: Post): Promise<void> {
  await post.looked()
  post.clock.advance(15_000)
}

test('a provider that keeps failing is told once, and its recovery once', async () => {
  const post = await openPost()
  fail(post, 2)
  await settle(post)
  expect(await post.told()).toEqual([])
  fail(post, 1)
  await post.looked()
  post.clock.advance(14_000)
  expect(await post.told()).toEqual([])
  post.clock.advance(1_000)
  const [resting, ...more] = await post.told()
  expect(more).toEqual([])
  expect(JSON.parse(resting?.body ?? '').data).toMatchObject({
    provider: 'acme',
    models: ['small'],
    failures: 3,
  })
  fail(post, 5)
  await settle(post)
  expect(await post.told()).toEqual([])

  post.health.served(HOP)
  await settle(post)
  const [recovered, ...others] = await post.told()
  expect(others).toEqual([])
  expect(recovered?.cause).toBe('gateway.provider_recovered')
  expect(JSON.parse(recovered?.body ?? '').data.event_id).toBe(resting?.id)
  expect(await post.store.events.find(resting?.id ?? 'evt_')).toMatchObject({
    liftedAt: expect.any(Number),
  })
  // Another night is another cause.
  fail(post, 3)
  await settle(post)
  expect(causes(await post.told())).toEqual(['gateway.provider_resting'])
})

test('a trouble that is over within seconds is nobody’s night', async () => {
  const post = await openPost()
  fail(post, 3)
  await post.looked()
  post.clock.advance(14_000)
  await post.looked()
  post.health.served(HOP)
  await settle(post)
  expect(await post.told()).toEqual([])
})

test('a rejected credential is told as one, and not as a provider that rests', async () => {
  const post = await openPost()
  fail(post, 1, new UpstreamFailure('unauthorized', 'no', { status: 401 }))
  await settle(post)
  expect(causes(await post.told())).toEqual(['gateway.credential_rejected'])
})

test('one of several credentials is told by its name, while the others serve', async () => {
  const post = await openPost()
  await giveCredentials(post, 'first', 'second')
  const hop = { ...HOP, credential: 'second' }
  fail(post, 1, new UpstreamFailure('unauthorized', 'no', { status: 401 }), hop)
  post.health.served({ ...HOP, credential: 'first' })
  await settle(post)
  const [event, ...more] = await post.told()
  expect(more).toEqual([])
  expect(JSON.parse(event?.body ?? '').data).toMatchObject({
    message: 'provider acme rejects its credential second (401)',
    hint: expect.stringContaining('providers credentials add acme second --from-env'),
  })
  post.health.served(hop)
  await settle(post)
  expect(causes(await post.told())).toEqual(['gateway.provider_recovered'])
})

test('a credential that was replaced answers again once it has, and one that is out of credit is told', async () => {
  const post = await openPost()
  await giveCredentials(post, 'first', 'second')
  const hopOf = (credential: string): Hop => {
    const provider = post.store.catalogue.current().providers.get('acme') ?? HOP.provider
    return { ...HOP, provider, credential }
  }
  fail(post, 1, new UpstreamFailure('unauthorized', 'no', { status: 401 }), hopOf('first'))
  await settle(post)
  expect(causes(await post.told())).toEqual(['gateway.credential_rejected'])
  await giveCredentials(post, 'first', 'second')
  const spent = new UpstreamFailure('overloaded', 'no', { status: 429, permanent: 'account' })
  post.health.served(hopOf('second'))
  fail(post, 1, spent, hopOf('first'))
  await settle(post)
  expect(await post.told()).toEqual([])
  fail(post, 1, spent, hopOf('second'))
  await settle(post)
  expect(causes(await post.told())).toEqual(['gateway.credential_rejected'])
  // Replaced, and not asked yet.
  await giveCredentials(post, 'first', 'second')
  post.health.attempted(hopOf('first'))
  await settle(post)
  expect(await post.told()).toEqual([])
  post.health.served(hopOf('first'))
  await settle(post)
  const [over, ...more] = await post.told()
  expect(more).toEqual([])
  expect(JSON.parse(over?.body ?? '').data).toMatchObject({
    message: 'provider acme accepts its credential first again',
  })
})

test('the only credential, told once, is not told again once there is another beside it', async () => {
  const post = await openPost()
  const refused = new UpstreamFailure('unauthorized', 'no', { status: 401 })
  fail(post, 1, refused)
  await settle(post)
  expect(causes(await post.told())).toEqual(['gateway.credential_rejected'])
  await giveCredentials(post, 'default', 'eu')
  const provider = post.store.catalogue.current().providers.get('acme') ?? HOP.provider
  fail(post, 1, refused, { ...HOP, provider, credential: 'default' })
  post.health.served({ ...HOP, provider, credential: 'eu' })
  await settle(post)
  expect(await post.told()).toEqual([])
  post.health.served({ ...HOP, provider, credential: 'default' })
  await settle(post)
  expect(causes(await post.told())).toEqual(['gateway.provider_recovered'])
})

test('after a restart it is over only once the provider has answered', async () => {
  const before = await openPost()
  fail(before, 3)
  await settle(before)
  expect(causes(await before.told())).toEqual(['gateway.provider_resting'])

  const after = await openPost(before)
  await settle(after)
  await settle(after)
  expect(await after.told()).toEqual([])
  const at = after.clock.now()
  after.pulse.note(anActivity(aClaim(aKey(at), at)), later(at, 1))
  await settle(after)
  expect(causes(await after.told())).toEqual(['gateway.provider_recovered'])
})

const giveCredentials = ({ store }: Post, ...names: readonly string[]): Promise<unknown> => {
  const credentials = names.map((name) => ({ name, weight: 1, secret: `sk-${name}` }))
  return store.providers.edit(HOP.provider.name, { credentials }, anAct())
}

const ofAnother = aCard({ id: 'acme/large', upstreamName: 'large' })

/** By which a provider that failed is never asked again for what failed, and what it still serves. */
const LEAVINGS: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  'its model is removed': ({ models }) => models.remove(HOP.card.id, anAct()),
  'another provider serves its model': async ({ models, providers }) => {
    await providers.add(aProvider({ name: 'other' }), [], [], anAct())
    const hops = [aHop({ provider: 'other' })]
    await models.route({ pattern: HOP.card.id, order: 'weight', hops }, anAct())
  },
  'its model has another name there': ({ models }) =>
    models.amend(HOP.card.id, { upstreamName: 'small-2' }, anAct()),
}

test.each(Object.keys(LEAVINGS))(
  'what failed is nobody’s trouble any more once %s',
  async (how) => {
    for (const isRestarted of [false, true]) {
      const before = await openPost()
      await before.store.models.add(ofAnother, anAct())
      fail(before, 3)
      await settle(before)
      expect(causes(await before.told())).toEqual(['gateway.provider_resting'])
      const post = isRestarted ? await openPost(before) : before
      await LEAVINGS[how]?.(post.store)
      await settle(post)
      await settle(post)
      // Nobody has seen it answer.
      expect(await post.told()).toEqual([])
      expect(await post.store.events.list({ openOnly: true, limit: 9 })).toEqual([])
    }
  },
)

test('a credential that was rejected is nobody’s trouble any more once it is removed', async () => {
  const post = await openPost()
  await giveCredentials(post, 'first', 'second')
  const refused = new UpstreamFailure('unauthorized', 'no', { status: 401 })
  fail(post, 1, refused, { ...HOP, credential: 'second' })
  await settle(post)
  expect(causes(await post.told())).toEqual(['gateway.credential_rejected'])
  await giveCredentials(post, 'first')
  await settle(post)
  expect(await post.told()).toEqual([])
  expect(await post.store.events.list({ openOnly: true, limit: 9 })).toEqual([])
})

test('a removed provider is nobody’s trouble any more', async () => {
  const post = await openPost()
  fail(post, 3)
  await settle(post)
  await post.told()
  post.health.served(HOP)
  await post.store.providers.remove('acme', anAct())
  await settle(post)
  expect(await post.told()).toEqual([])
  expect(await post.store.events.list({ openOnly: true, limit: 9 })).toEqual([])
})

test('a clock that jumps ahead or back is told once each time, and is over when it is right', async () => {
  const post = await openPost()
  await post.looked()
  post.clock.step(3_600_000)
  expect(causes(await post.told())).toEqual(['gateway.clock_wrong'])
  // Set right again.
  post.clock.step(-3_600_000)
  expect(await post.told()).toEqual([])
  expect(await post.store.events.list({ openOnly: true, limit: 9 })).toEqual([])
  post.clock.step(-600_000)
  const [back] = await post.told()
  expect(JSON.parse(back?.body ?? '').data).toMatchObject({ ahead_seconds: -600 })
  post.clock.step(60_000)
  expect(await post.told()).toEqual([])
})

test('a start after a stop is no jump of the clock, and ends none that was told', async () => {
  const before = await openPost()
  const last = before.clock.now()
  before.clock.step(3_600_000)
  expect(causes(await before.told())).toEqual(['gateway.clock_wrong'])
  const after = await openPost(before, last)
  expect(await after.told()).toEqual([])
  expect(await after.store.events.list({ openOnly: true, limit: 9 })).toHaveLength(1)
  const fresh = await openPost(null, later(last, -335_000))
  expect(await fresh.told()).toEqual([])
  fresh.clock.step(3_600_000)
  const [ahead] = await fresh.told()
  expect(JSON.parse(ahead?.body ?? '').data).toMatchObject({ ahead_seconds: 3_600 })
})

test('a certificate is told two weeks before its end, and when it has ended', async () => {
  const post = await openPost()
  const end = later(post.clock.now(), 16 * 86_400_000)
  post.ends.set('api.example.org', end)
  expect(await post.told()).toEqual([])
  post.clock.advance(2 * 86_400_000)
  expect(causes(await post.told())).toEqual(['gateway.certificate_ending'])
  post.clock.advance(86_400_000)
  expect(await post.told()).toEqual([])
  post.clock.advance(14 * 86_400_000)
  expect((await post.told()).map(({ severity }) => severity)).toEqual(['critical'])
  post.ends.set('api.example.org', later(end, 90 * 86_400_000))
  expect(await post.told()).toEqual([])
})

const DAYS = FULL ? 7 : 1
const STEP_MS = 10 * MINUTE_MS

test(`in ${DAYS} quiet days with requests, refusals and small troubles nobody is told of anything`, {
  // Each request that fails is tried again after real pauses: some 7 s a day.
  timeout: 60_000 * (FULL ? 5 : 1),
}, async () => {
  const clock = handClock('2026-11-23T00:00:00Z')
  const store = await openStore({ dataDir: ':memory:', clock })
  const at = clock.now()
  await store.accounts.create(anAccount({ id: 'acct_1' }), anAct())
  await store.ledger.credit(aTopUp(at, usd('1000')), anAct())
  await store.providers.add(demoProvider(at), [], demoCards(at), anAct())
  await store.noticeSettings.set({ email: 'ops@example.org' }, undefined, anAct())
  const secret = newSecret()
  const limits = { dailySpend: usd('50'), monthlySpend: usd('500'), rpm: 4 }
  await store.keys.issue(aKey(at, limits), secret, anAct())
  const gateway = await startGateway({
    store,
    clock,
    listen: { hostname: '127.0.0.1', port: 0 },
    adminSocket: null,
    lookEveryMs: 1,
    logFault: (cause) => {
      throw cause
    },
    log: null,
  })
  onTestFinished(async () => {
    await gateway.stop(0)
    await store.close()
  })
  const ask = async (model: string, user: string): Promise<number> => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, user, messages: [{ role: 'user', content: 'hi' }] }),
    })
    await response.arrayBuffer()
    return response.status
  }
  const seen = new Set<number>()
  for (let step = 0; step < (DAYS * 24 * 60 * MINUTE_MS) / STEP_MS; step++) {
    for (const model of ['demo/echo', 'demo/flaky', 'demo/none']) {
      seen.add(await ask(model, step % 6 === 0 ? 'fail-502' : 'u_1'))
    }
    clock.advance(STEP_MS)
    await store.events.release(clock.now())
  }
  // It was asked, refused, and let down.
  expect([...seen].toSorted()).toEqual([200, 404, 502])
  expect(await store.events.list({ limit: 9 })).toEqual([])
  expect(await store.notices.list({ limit: 9 })).toEqual([])
})
