// The fault matrix: the client's response, the number of attempts and the charge, for every way in which a provider
// fails, every kind of route and every kind of answer. Nothing is charged twice, and no hold or slot remains.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ActivityEntry } from '#domain/activity.ts'
import { systemClock } from '#domain/clock.ts'
import type { GenerationId } from '#domain/id.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import { type Gateway, startGateway } from '#server/gateway.ts'
import { type Furnished, furnish, type TestKey } from '#test/support/furnish.ts'
import { aCard, anAct, aPriceList, aProvider, aVersion, perM, price } from '#test/support/nouns.ts'
import { type Cell, expected, ROUTES, type Route } from './expected.ts'
import {
  FAULTS,
  type Fault,
  type FaultyProvider,
  type Kind,
  PNG,
  startFaulty,
  TEXT,
} from './faults.ts'

/** Longer than a busy machine keeps an answer waiting that has come. */
const SILENCE_MS = 600
/** Two idle time-outs and the pause before a retry, on a slow machine. */
const MAX_MS = 5_000
const KINDS: readonly Kind[] = ['whole', 'stream', 'image']

let deps: Furnished
let gateway: Gateway
let key: TestKey
let faulty: FaultyProvider
let good: FaultyProvider
const faults = new Map<string, Fault>()

const nameOf = (fault: Fault, route: Route, kind: Kind): string =>
  `${fault}-${route}-${kind}`.replaceAll(/[^\w-]/g, '_')

beforeAll(async () => {
  faulty = await startFaulty((model) => faults.get(model))
  good = await startFaulty(() => undefined)
  deps = await furnish()
  key = await deps.issue({ concurrency: 10, rpm: 10_000 })
  const { store } = deps
  await store.providers.add(aProvider({ name: 'faulty', baseUrl: faulty.url }), [], [], anAct())
  await store.providers.add(aProvider({ name: 'good', baseUrl: good.url }), [], [], anAct())
  await store.providers.add(
    aProvider({ name: 'gone', baseUrl: 'http://127.0.0.1:1/v1' }),
    [],
    [],
    anAct(),
  )
  for (const fault of FAULTS) {
    for (const route of ROUTES) for (const kind of KINDS) await addModel(fault, route, kind)
  }
  gateway = await startGateway({
    store,
    clock: systemClock,
    settings: {
      ...DEFAULT_SETTINGS,
      firstByteTimeoutMs: SILENCE_MS,
      silenceTimeoutMs: SILENCE_MS,
      totalTimeoutMs: MAX_MS,
    },
    listen: { hostname: '127.0.0.1', port: 0 },
    adminSocket: null,
  })
})

afterAll(async () => {
  await gateway.stop(0)
  faulty.stop()
  good.stop()
  await deps.store.close()
})

/** Every cell has a model of its own, so that the failures of one do not put the hop of another into cooldown. */
async function addModel(fault: Fault, route: Route, kind: Kind): Promise<void> {
  const name = nameOf(fault, route, kind)
  faults.set(name, fault)
  const provider = fault === 'refused' ? 'gone' : 'faulty'
  const hop = (of: string, position: number) => ({
    provider: of,
    upstreamName: name,
    position,
    weight: 1,
  })
  await deps.store.models.add(
    aCard({
      id: `${provider}/${name}`,
      provider,
      upstreamName: name,
      outputModalities: ['text', 'image'],
      route: route === 'two hops' ? [hop(provider, 1), hop('good', 2)] : [],
      price: aVersion({
        ...aPriceList({ prompt: perM('1'), completion: perM('2') }),
        imagePrices: [{ resolution: '*', quality: '*', usd: price('0.04') }],
      }),
    }),
    anAct(),
  )
}

interface Told {
  readonly status: number
  readonly code: string | null
  readonly retryAfter: string | null
  readonly shouldRetry: string | null
  /** The content of the answer: text, or images. */
  readonly came: string
  readonly generationId: GenerationId
}

async function ask(fault: Fault, route: Route, kind: Kind): Promise<Told> {
  const name = nameOf(fault, route, kind)
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...key.bearer },
    body: JSON.stringify({
      model: `${fault === 'refused' ? 'gone' : 'faulty'}/${name}`,
      messages: [{ role: 'user', content: 'count' }],
      ...(kind === 'stream' && { stream: true }),
      ...(kind === 'image' && { modalities: ['image', 'text'] }),
      ...(route === 'no fallbacks' && { allow_fallbacks: false }),
    }),
  })
  const text = await response.text()
  const told = response.headers.get('content-type')?.startsWith('text/event-stream')
    ? readStream(text)
    : readWhole(JSON.parse(text))
  return {
    ...told,
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    shouldRetry: response.headers.get('x-should-retry'),
    generationId: response.headers.get('x-generation-id') as GenerationId,
  }
}

// biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary JSON
function readWhole(body: any): Pick<Told, 'code' | 'came'> {
  const message = body.choices?.[0]?.message
  const images = message?.images?.map((one: { image_url: { url: string } }) => one.image_url.url)
  return { code: body.error?.code ?? null, came: images?.join() ?? message?.content ?? '' }
}

function readStream(text: string): Pick<Told, 'code' | 'came'> {
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
  const chunks = text
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)))
  const failed = chunks.find((chunk) => chunk.error)
  if (failed) expect(failed.choices[0].finish_reason).toBe('error')
  return {
    code: failed?.error.code ?? null,
    came: chunks.map((chunk) => chunk.choices[0]?.delta?.content ?? '').join(''),
  }
}

/** The cost of a whole good answer: 10 in at $1/M, 4 out at $2/M, and its image at $0.04. */
const FULL = { whole: 18_000n, stream: 18_000n, image: 40_018_000n }

function tell(kind: Kind, told: Told, line: ActivityEntry): Cell {
  const whole = kind === 'image' ? `data:image/png;base64,${PNG}` : TEXT
  const charge =
    line.cost === 0n ? 'nothing' : line.usageSource === 'estimated' ? 'what came' : 'all'
  if (charge === 'all') expect(line.cost).toBe(FULL[kind])
  if (charge === 'what came') expect(line.cost).toBeLessThan(100_000n)
  return {
    answer: told.code === null ? `${told.status}` : `${told.status} ${told.code}`,
    retryAfter: told.retryAfter,
    shouldRetry: told.shouldRetry,
    came: told.came === whole ? 'all' : told.came === '' ? 'nothing' : 'some',
    failed: line.failedAttempts.map(({ outcome }) => outcome).join(' '),
    charge,
  }
}

describe.each(FAULTS)('T20, T22: %s', (fault) => {
  describe.each(ROUTES)('%s', (route) => {
    test.each(KINDS)('%s', async (kind) => {
      const beganMs = performance.now()
      const told = await ask(fault, route, kind)
      expect(performance.now() - beganMs).toBeLessThan(MAX_MS)

      const line = await deps.store.activity.find(told.generationId)
      if (!line) throw new Error('the request left no line')
      expect(tell(kind, told, line)).toEqual(expected(fault, route, kind))

      const name = nameOf(fault, route, kind)
      const failed = line.failedAttempts.filter(({ provider }) => provider !== 'good').length
      expect(faulty.asked.get(name) ?? 0).toBe(fault === 'refused' ? 0 : failed)
      expect(good.asked.get(name) ?? 0).toBe(line.provider === 'good' ? 1 : 0)
      await expectClosedBooks(told.generationId, line)
    })
  })
})

async function expectClosedBooks(id: GenerationId, line: ActivityEntry): Promise<void> {
  const { store, clock } = deps
  const entries = await store.ledger.list({ keyId: key.key.id, kind: 'charge', limit: 1_000 })
  const charges = entries.filter(({ generationId }) => generationId === id)
  expect(charges.map(({ amount }) => -amount)).toEqual(line.cost === 0n ? [] : [line.cost])
  expect((await store.health({ checkIntegrity: false })).openHolds).toBe(0)
  expect(await store.admissions.usage(key.key.id, clock.now())).toMatchObject({
    requestsInProgress: 0,
    reserved: 0n,
  })
}
