// Traces as an OTLP receiver gets them: a span per request, a child span for the provider, in the client's own trace.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { later, systemClock } from '#domain/clock.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { type Gateway, startGateway } from '#server/gateway.ts'
import { type Furnished, furnish, hello, type TestKey } from '#test/support/furnish.ts'
import { type Answer, never, openReceiver, type Receiver } from '#test/support/receiver.ts'
import { eventually, finish, script } from '#test/support/scripted-upstream.ts'

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly events?: readonly { readonly name: string; readonly attributes: readonly Attribute[] }[]
  readonly status: { readonly code: number }
}
interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

let deps: Furnished
let gateway: Gateway
let key: TestKey
let receiver: Receiver
const faults: unknown[] = []
let answer: Answer

beforeEach(async () => {
  faults.length = 0
  answer = () => Response.json({})
  deps = await furnish()
  key = await deps.issue({ rpm: 100 })
  receiver = openReceiver((nth, received) => answer(nth, received))
})
afterEach(async () => {
  await gateway.stop(0)
  await deps.store.close()
  await receiver.close()
})

const start = async (options: Partial<Parameters<typeof startGateway>[0]> = {}) => {
  gateway = await startGateway({
    store: deps.store,
    clock: deps.clock,
    listen: { hostname: '127.0.0.1', port: 0 },
    adminSocket: null,
    version: '1.2.3',
    logFault: (cause) => faults.push(cause),
    telemetry: {
      metrics: null,
      traces: {
        url: `${receiver.url}/v1/traces`,
        headers: { 'x-receiver-key': 'receiver-canary' },
        serviceName: 'gw',
      },
    },
    ...options,
  })
}

const chat = async (body: unknown, headers: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...key.bearer, ...headers },
    body: JSON.stringify(body),
  })
  await response.text()
  return response
}

const spans = (): readonly Span[] =>
  receiver.received.flatMap(({ body }) =>
    (
      JSON.parse(body) as {
        resourceSpans: { scopeSpans: { spans: Span[] }[] }[]
      }
    ).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
  )

const plain = (attributes: readonly Attribute[] = []) =>
  Object.fromEntries(attributes.map(({ key: name, value }) => [name, Object.values(value)[0]]))

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

describe('exported spans', () => {
  test('are a request and its inference, with the attributes of the GenAI conventions', async () => {
    await start()
    await chat(hello({ user: 'end-user-canary' }), { 'X-Request-Id': 'mine-7' })
    await gateway.stop(0)
    const [request, inference] = spans()
    expect(request).toMatchObject({
      name: 'POST /v1/chat/completions',
      kind: 2,
      status: { code: 0 },
    })
    expect(plain(request?.attributes)).toMatchObject({
      'http.response.status_code': '200',
      'gateway.key.id': key.key.id,
      'gateway.request.id': 'mine-7',
      'gateway.stream': false,
    })
    expect(inference).toMatchObject({ name: 'chat demo/echo', kind: 3, traceId: request?.traceId })
    expect(inference?.parentSpanId).toBe(request?.spanId)
    expect(plain(inference?.attributes)).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'demo',
      'gen_ai.request.model': 'demo/echo',
      'gen_ai.usage.output_tokens': '3',
      'gen_ai.response.finish_reasons': { values: [{ stringValue: 'stop' }] },
    })
    expect(BigInt(inference?.endTimeUnixNano ?? 0)).toBeGreaterThanOrEqual(
      BigInt(inference?.startTimeUnixNano ?? 1),
    )
    const { body, path, headers } = receiver.received[0] ?? { body: '', path: '', headers: {} }
    expect(path).toBe('/v1/traces')
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-receiver-key': 'receiver-canary',
    })
    expect(JSON.parse(body)).toMatchObject({
      resourceSpans: [
        {
          resource: {
            attributes: [
              { key: 'service.name', value: { stringValue: 'gw' } },
              { key: 'service.version', value: { stringValue: '1.2.3' } },
            ],
          },
        },
      ],
    })
    const secret = key.bearer['Authorization']?.slice('Bearer '.length) ?? ''
    for (const canary of [secret.slice(0, 10), 'hello there', 'end-user-canary', key.key.label]) {
      expect(body).not.toContain(canary)
    }
  })

  test.each([true, false])("continue a client's trace (stream: %s)", async (stream) => {
    await start()
    await chat(hello({ stream }), { traceparent: PARENT })
    await gateway.stop(0)
    expect(spans()[0]).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      parentSpanId: 'b7ad6b7169203331',
    })
  })

  test('leave out a trace that its client does not sample; an invalid header starts a new trace', async () => {
    await start()
    await chat(hello(), { traceparent: `${PARENT.slice(0, -1)}0` })
    await chat(hello(), { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` })
    await gateway.stop(0)
    expect(spans()).toHaveLength(2)
    expect(spans()[0]?.parentSpanId).toBeUndefined()
    expect(spans()[0]?.traceId).toMatch(/^(?!0{32})[\da-f]{32}$/)
  })

  test('are one with its error code for a refusal; failed attempts are events', async () => {
    const broken = script(
      async function* () {
        yield [finish()]
      },
      async () => {
        throw new UpstreamFailure('failed', 'provider-words-canary', { status: 500 })
      },
    )
    await start({ upstreamFor: () => broken.upstream })
    await chat(hello({ model: 'demo/none' }))
    await chat(hello({ allow_fallbacks: false }))
    await gateway.stop(0)
    const [refused, request, inference] = spans()
    expect(plain(refused?.attributes)).toMatchObject({ 'error.type': 'model_not_found' })
    expect(request).toMatchObject({ status: { code: 2 } })
    expect(inference?.events?.map(({ name }) => name)).toEqual(['gateway.attempt_failed'])
    expect(plain(inference?.events?.[0]?.attributes)).toMatchObject({
      'error.type': 'failed',
      'http.response.status_code': '500',
    })
    expect(receiver.received.map(({ body }) => body).join('')).not.toContain('canary')
  })
})

describe('a receiver that', () => {
  test('works gets spans while the gateway runs, not only at its end', async () => {
    await start()
    await chat(hello())
    await eventually(() => receiver.received.length === 1, 'a batch comes')
    expect(spans()).toHaveLength(2)
  })

  test('works gets them also after the clock was set back', async () => {
    let setBackMs = 0
    const now = () => later(systemClock.now(), -setBackMs)
    await start({ clock: { ...systemClock, now } })
    await chat(hello())
    setBackMs = 3_600_000
    await chat(hello())
    await eventually(() => spans().length === 4, 'both come')
  })

  test('is overloaded once gets the same batch again', async () => {
    answer = (nth) => new Response('', { status: nth === 0 ? 503 : 200 })
    await start()
    await chat(hello())
    await gateway.stop(0)
    const [first, second] = receiver.received
    expect(receiver.received).toHaveLength(2)
    expect(second?.body).toBe(first?.body)
    expect(faults).toEqual([])
  })

  test("hangs delays the gateway's shutdown by three seconds at most", async () => {
    answer = never
    await start()
    await chat(hello())
    const before = performance.now()
    await gateway.stop(0)
    expect(performance.now() - before).toBeLessThan(5_000)
    expect(receiver.received).toHaveLength(1)
    expect(String(faults[0])).toMatch(/the last traced requests were lost/)
  })

  test('refuses is logged once, and does not affect requests', async () => {
    answer = () => new Response('receiver-words-canary', { status: 400 })
    await start()
    expect((await chat(hello())).status).toBe(200)
    await chat(hello())
    await gateway.stop(0)
    expect(receiver.received).toHaveLength(1)
    expect(String(faults[0])).toMatch(/2 traced requests were lost/)
    expect(faults).toHaveLength(1)
    expect(String(faults[0])).not.toContain('canary')
  })
})
