// Vertex AI over real sockets: what is asked where, with which token, and what becomes of tokens that end or are refused.

import { afterEach, describe, expect, test, vi } from 'vitest'
import type { UpstreamFailure } from '#domain/upstream.ts'
import { JsonBody } from '#http/read/body.ts'
import { startVertex, type VertexFront, type VertexOptions } from '#scripts/clouds/vertex.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { openUpstream } from '#upstream/registry.ts'
import { call, collect, collectFolded, provider, request } from '../fixtures.ts'

const CLAUDE = 'claude-haiku-4-5@20251001'
const GEMINI = 'gemini-2.5-flash'
const PLACE = '/v1/projects/my-project/locations/global/publishers'
const MINUTE_MS = 60_000

const MESSAGE = {
  id: 'msg_vrtx_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-haiku-4-5-20251001',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 4 },
}
const GENERATED = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1, totalTokenCount: 10 },
}
const SSE = `event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message: { ...MESSAGE, content: [] } })}\n\nevent: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`

const vendor: VertexOptions['ask'] = ({ url }) => {
  if (url.pathname.includes('count-tokens')) return Response.json({ input_tokens: 42 })
  if (url.pathname.endsWith(':streamRawPredict')) {
    return new Response(SSE, { headers: { 'content-type': 'text/event-stream' } })
  }
  return Response.json(url.pathname.includes('/anthropic/') ? MESSAGE : GENERATED)
}

const clock = handClock('2026-11-24T12:00:00Z')
const open: VertexFront[] = []
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const front of open.splice(0)) await front.stop()
})

function vertex(options: Partial<VertexOptions> = {}): VertexFront {
  const front = startVertex({ ask: vendor, now: () => clock.now(), ...options })
  open.push(front)
  return front
}

const upstreamAt = (
  { url, keyFile }: VertexFront,
  credential: string | null = keyFile,
  path = '/v1',
) => openUpstream(provider(url + path, 'vertex'), credential, clock)

const asking = (upstreamName = GEMINI, stream = false) =>
  call({ request: request({ stream }, { stream }), type: 'vertex', upstreamName })

const native = (body: object, stream = false, headers?: Record<string, string>) =>
  call({
    type: 'vertex',
    upstreamName: CLAUDE,
    request: request(
      { ...body, stream },
      {
        dialect: 'messages',
        stream,
        source: new JsonBody(JSON.stringify({ ...body, stream })),
        ...(headers && { headers }),
        maxOutputTokens: 100,
      },
    ),
  })

const asked = (front: VertexFront) => front.seen.filter(({ url }) => url.pathname !== '/token')

describe('a model', () => {
  test('of Google is asked in its own wire, in the project of the service account', async () => {
    const front = vertex()
    const answer = await collectFolded(upstreamAt(front).ask(asking()))
    expect(answer.failure).toBeNull()
    expect(answer.text).toBe('Hi')
    expect(asked(front)[0]?.url.pathname).toBe(`${PLACE}/google/models/${GEMINI}:generateContent`)
    expect(asked(front)[0]?.headers.get('x-goog-api-key')).toBeNull()
  })

  test('of Anthropic is asked in the Messages API, without its name', async () => {
    const front = vertex()
    const answer = await collectFolded(upstreamAt(front).ask(asking(CLAUDE)))
    expect(answer.text).toBe('Hello')
    const [seen] = asked(front)
    expect(seen?.url.pathname).toBe(
      `${PLACE}/anthropic/models/${encodeURIComponent(CLAUDE)}:rawPredict`,
    )
    const body = JSON.parse(seen?.text ?? '')
    expect(body).toMatchObject({ anthropic_version: 'vertex-2023-10-16', max_tokens: 4096 })
    expect(Object.keys(body)).not.toContain('model')
    expect(seen?.headers.get('anthropic-version')).toBeNull()
  })

  test('streams by another method', async () => {
    const front = vertex()
    const upstream = upstreamAt(front)
    await collectFolded(upstream.ask(asking(GEMINI, true)))
    await collectFolded(upstream.ask(asking(CLAUDE, true)))
    const methods = asked(front).map(({ url }) => url.pathname.split(':').at(-1) + url.search)
    expect(methods).toEqual(['streamGenerateContent?alt=sse', 'streamRawPredict'])
    expect(JSON.parse(asked(front)[1]?.text ?? '')).toMatchObject({ stream: true })
  })

  test('is asked in the project and the region that the address names', async () => {
    const front = vertex()
    const path = '/v1/projects/other/locations/europe-west1'
    await collectFolded(upstreamAt(front, front.keyFile, path).ask(asking()))
    expect(asked(front)[0]?.url.pathname).toContain(`${path}/publishers/google/models/`)
  })

  test('is asked in the region that the host names', async () => {
    const front = vertex()
    vi.stubEnv('HTTP_PROXY', front.url)
    vi.stubEnv('http_proxy', undefined)
    vi.stubEnv('NO_PROXY', '127.0.0.1')
    vi.stubEnv('no_proxy', undefined)
    const named = provider('http://us-east5-aiplatform.googleapis.com/v1', 'vertex')
    await collectFolded(openUpstream(named, front.keyFile, clock).ask(asking()))
    expect(asked(front)[0]?.url.pathname).toContain('/projects/my-project/locations/us-east5/')
  })
})

describe('Claude, asked in Messages', () => {
  const BODY = { model: 'v/c', messages: [{ role: 'user', content: 'hi ☃' }], max_tokens: 100 }

  test('gets the client’s own text but for the model, and the betas that Vertex knows', async () => {
    const front = vertex()
    const betas = 'claude-code-20250219,context-1m-2025-08-07,fast-mode-2026-02-01'
    const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': betas }
    const { events } = await collect(upstreamAt(front).ask(native(BODY, true, headers)))
    const [seen] = asked(front)
    expect(seen?.text).toBe(
      '{"messages":[{"role":"user","content":"hi ☃"}],"max_tokens":100,"stream":true,"anthropic_version":"vertex-2023-10-16"}',
    )
    expect(seen?.headers.get('anthropic-beta')).toBe('context-1m-2025-08-07')
    expect(seen?.headers.get('anthropic-version')).toBeNull()
    const said = events.map((event) => (event.type === 'native' ? event.text : '')).join('')
    expect(said).toBe(SSE)
  })

  test('its tokens are counted by a method of its own, which takes the name', async () => {
    const front = vertex()
    expect(await upstreamAt(front).count?.(native(BODY))).toBe('{"input_tokens":42}')
    const [seen] = asked(front)
    expect(seen?.url.pathname).toBe(`${PLACE}/anthropic/models/count-tokens:rawPredict`)
    expect(JSON.parse(seen?.text ?? '')).toMatchObject({ model: CLAUDE })
  })
})

describe('a token', () => {
  test('is fetched once for all who ask at the same time, and used until it ends', async () => {
    const front = vertex()
    const upstream = upstreamAt(front)
    await Promise.all([1, 2, 3].map(() => collectFolded(upstream.ask(asking()))))
    clock.advance(50 * MINUTE_MS)
    await collectFolded(upstream.ask(asking()))
    expect(front.tokens()).toBe(1)
  })

  test('is renewed before its end, and nobody waits for that', async () => {
    const slow = Promise.withResolvers<undefined>()
    let isSlow = false
    const front = vertex({ beforeToken: () => (isSlow ? slow.promise : undefined) })
    const upstream = upstreamAt(front)
    await collectFolded(upstream.ask(asking()))
    clock.advance(56 * MINUTE_MS)
    isSlow = true
    const answers = await Promise.all([1, 2].map(() => collectFolded(upstream.ask(asking()))))
    expect(answers.map(({ text }) => text)).toEqual(['Hi', 'Hi'])
    expect(front.tokens()).toBe(1)
    slow.resolve(undefined)
    await vi.waitFor(() => expect(front.tokens()).toBe(2))
    clock.advance(10 * MINUTE_MS)
    expect((await collectFolded(upstream.ask(asking()))).text).toBe('Hi')
    expect(front.tokens()).toBe(2)
  })

  test('that Google no longer accepts is the operator’s failure, and another is fetched next', async () => {
    const front = vertex()
    const upstream = upstreamAt(front)
    await collectFolded(upstream.ask(asking()))
    clock.advance(MINUTE_MS)
    front.revoke()
    const { failure } = await collect(upstream.ask(asking()))
    expect(failure).toMatchObject({ kind: 'unauthorized' })
    expect((await collectFolded(upstream.ask(asking()))).text).toBe('Hi')
    expect(front.tokens()).toBe(2)
  })

  test('that is refused says why in one word, and not to whom', async () => {
    const front = vertex()
    const stranger = vertex()
    const forged = front.keyFile.replace(
      /"private_key": "[^"]*"/,
      stranger.keyFile.match(/"private_key": "[^"]*"/)?.[0] ?? '',
    )
    const { failure } = await collect(upstreamAt(front, forged).ask(asking()))
    expect(failure).toMatchObject({ kind: 'unauthorized' })
    expect((failure as Error).message).toBe('Google gave no access token: invalid_grant')
    expect(asked(front)).toHaveLength(0)
  })

  test('is signed for at the time of the clock', async () => {
    const front = vertex({ now: () => clock.now() + 2 * 60 * MINUTE_MS })
    const { failure } = await collect(upstreamAt(front).ask(asking()))
    expect(failure).toMatchObject({ kind: 'unauthorized' })
  })

  test('is no matter of the client where the token endpoint is down or answers with a redirect', async () => {
    const down = vertex({ beforeToken: async () => new Response('', { status: 503 }) })
    expect((await collect(upstreamAt(down).ask(asking()))).failure).toMatchObject({
      kind: 'failed',
    })
    const moved = vertex({
      beforeToken: async () => new Response('', { status: 307, headers: { location: down.url } }),
    })
    const { failure } = await collect(upstreamAt(moved).ask(asking()))
    expect(failure).toMatchObject({ kind: 'unauthorized' })
    expect(down.seen).toHaveLength(1)
  })

  test('who leaves while it is fetched has sent nothing', async () => {
    const slow = Promise.withResolvers<undefined>()
    const front = vertex({ beforeToken: () => slow.promise })
    const upstream = upstreamAt(front)
    const leaving = new AbortController()
    const left = { ...asking(), signal: leaving.signal }
    const gone = collect(upstream.ask(left))
    const stays = collectFolded(upstream.ask(asking()))
    await vi.waitFor(() => expect(front.seen).toHaveLength(1))
    leaving.abort(new Error('left'))
    expect((await gone).failure).toMatchObject({ message: 'left' })
    expect(left.sending.isSent).toBe(false)
    slow.resolve(undefined)
    expect((await stays).text).toBe('Hi')
    expect(asked(front)).toHaveLength(1)
  })

  test('is waited for no longer than the first byte of an answer', async () => {
    const front = vertex({ beforeToken: () => new Promise(() => undefined) })
    const impatient = { ...asking(), timeouts: { ...asking().timeouts, firstByteTimeoutMs: 50 } }
    const { failure } = await collect(upstreamAt(front).ask(impatient))
    expect(failure).toMatchObject({ kind: 'timeout' })
  })

  test('is that of the machine where no key is stored', async () => {
    const front = vertex()
    vi.stubEnv('GCE_METADATA_HOST', new URL(front.url).host)
    const path = '/v1/projects/my-project/locations/global'
    const answer = await collectFolded(upstreamAt(front, null, path).ask(asking()))
    expect(answer.text).toBe('Hi')
  })
})

describe('what cannot be used', () => {
  const openWith = (credential: string | null) =>
    openUpstream(provider('http://127.0.0.1:1/v1', 'vertex'), credential, clock)

  test('is said before anything is asked', () => {
    expect(() => openWith('AIzaSyKey')).toThrow('not JSON')
    expect(() => openWith('{"type":"authorized_user"}')).toThrow('authorized_user')
    expect(() => openWith('{"type":"service_account"}')).toThrow('client_email')
    expect(() => openWith(null)).toThrow('names a project')
    const stated = {
      type: 'service_account',
      client_email: 'a@b',
      private_key: '-----BEGIN PRIVATE KEY-----',
    }
    for (const token_uri of ['http://tokens.example/token', 'file:///etc/passwd', 'nowhere']) {
      expect(() => openWith(JSON.stringify({ ...stated, token_uri }))).toThrow('no https address')
    }
  })

  test('a private key that is none is the operator’s failure', async () => {
    const front = vertex()
    const broken = front.keyFile.replace(/MII[A-Za-z0-9+]{20}/, 'MIIbroken')
    const { failure } = await collect(upstreamAt(front, broken).ask(asking()))
    expect((failure as UpstreamFailure).kind).toBe('unauthorized')
    expect((failure as Error).message).toContain('private key')
  })

  test.each([
    [
      'Google',
      {
        error: {
          code: 403,
          message: 'Permission denied on projects/my-project',
          status: 'PERMISSION_DENIED',
        },
      },
    ],
    ['Anthropic', { type: 'error', error: { type: 'permission_error', message: 'no' } }],
  ])('a refusal in the words of %s is the operator’s failure', async (_, body) => {
    const front = vertex({ ask: () => Response.json(body, { status: 403 }) })
    const { failure } = await collect(upstreamAt(front).ask(asking(CLAUDE)))
    expect(failure).toMatchObject({ kind: 'unauthorized' })
  })
})
