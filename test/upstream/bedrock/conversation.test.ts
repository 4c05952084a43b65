// Amazon Bedrock over real sockets: what is asked where, how it is signed, and what becomes of its answers and refusals.

import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { UpstreamFailure } from '#domain/upstream.ts'
import { JsonBody } from '#http/read/body.ts'
import { type BedrockOptions, refuse, startBedrock } from '#scripts/clouds/bedrock.ts'
import { type Front, type Seen, startFront } from '#scripts/clouds/front.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { openUpstream } from '#upstream/registry.ts'
import { call, collect, collectFolded, provider, request } from '../fixtures.ts'

const CLAUDE = 'us.anthropic.claude-haiku-4-5-20251001-v1:0'
const GPT = 'openai.gpt-oss-120b-1:0'
const KEY = JSON.stringify({
  AccessKeyId: 'AKIDEXAMPLE',
  SecretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  Region: 'us-east-1',
})
const KEYS = { AKIDEXAMPLE: { secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' } }

const MESSAGE = {
  id: 'msg_bdrk_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-haiku-4-5-20251001',
  content: [{ type: 'text', text: 'Hello 🦊' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 4 },
}
const EVENTS = [
  { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello 🦊' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
  {
    type: 'message_stop',
    'amazon-bedrock-invocationMetrics': { inputTokenCount: 9, outputTokenCount: 4 },
  },
]
const SSE = EVENTS.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(
  '',
)
const COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: GPT,
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 },
}

const streamed = (text: string): Response =>
  new Response(text, { headers: { 'content-type': 'text/event-stream' } })

const vendor: BedrockOptions['ask'] = ({ url }) => {
  if (url.pathname.endsWith('/invoke-with-response-stream')) return streamed(SSE)
  if (url.pathname.endsWith('/count-tokens')) return Response.json({ inputTokens: 42 })
  return Response.json(url.pathname.endsWith('/chat/completions') ? COMPLETION : MESSAGE)
}

const clock = handClock('2026-11-24T12:00:00Z')
const open: Front[] = []
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const front of open.splice(0)) await front.stop()
})

function bedrock(options: Partial<BedrockOptions> = {}): Front {
  const front = startBedrock({ ask: vendor, keys: KEYS, now: () => clock.now(), ...options })
  open.push(front)
  return front
}

const upstreamAt = ({ url }: Front, credential: string | null) =>
  openUpstream(provider(url, 'bedrock'), credential, clock)

/** Reached by the names of AWS: it is the proxy for all of them. */
function byName(front: Front): Front {
  vi.stubEnv('HTTP_PROXY', front.url)
  vi.stubEnv('http_proxy', undefined)
  vi.stubEnv('NO_PROXY', '127.0.0.1')
  vi.stubEnv('no_proxy', undefined)
  return front
}

const asking = (more: Parameters<typeof request>[1] = {}, upstreamName = CLAUDE) =>
  call({ request: request({ stream: more.stream === true }, more), type: 'bedrock', upstreamName })

const native = (body: object, stream = false, headers?: Record<string, string>) =>
  call({
    type: 'bedrock',
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

describe('Claude, asked in chat', () => {
  test('is invoked by the address of its model, with a signature that AWS accepts', async () => {
    const front = bedrock()
    const answer = await collectFolded(upstreamAt(front, KEY).ask(asking()))
    expect(answer.failure).toBeNull()
    expect(answer.text).toBe('Hello 🦊')
    expect(answer.usage).toMatchObject({ inputTokens: 9, outputTokens: 4 })
    const [seen] = front.seen
    expect(seen?.url.pathname).toBe(`/model/${encodeURIComponent(CLAUDE)}/invoke`)
    const body = JSON.parse(seen?.text ?? '')
    expect(body).toMatchObject({ anthropic_version: 'bedrock-2023-05-31', max_tokens: 4096 })
    expect(Object.keys(body)).not.toContain('model')
    expect(seen?.headers.get('anthropic-version')).toBeNull()
  })

  test('streams in events of AWS', async () => {
    const front = bedrock()
    const answer = await collectFolded(upstreamAt(front, KEY).ask(asking({ stream: true })))
    expect(answer.failure).toBeNull()
    expect(answer.text).toBe('Hello 🦊')
    expect(answer.usage).toMatchObject({ inputTokens: 9, outputTokens: 4 })
    const [seen] = front.seen
    expect(seen?.url.pathname).toMatch(/\/invoke-with-response-stream$/)
    expect(seen?.headers.get('accept')).toBe('application/vnd.amazon.eventstream')
    expect(Object.keys(JSON.parse(seen?.text ?? ''))).not.toContain('stream')
  })

  test('an API key is a bearer, and nothing is signed', async () => {
    const front = bedrock({ apiKey: 'bedrock-api-key-1' })
    const answer = await collectFolded(upstreamAt(front, 'bedrock-api-key-1').ask(asking()))
    expect(answer.text).toBe('Hello 🦊')
    expect(front.seen[0]?.headers.get('authorization')).toBe('Bearer bedrock-api-key-1')
  })

  test('a model by ARN is asked as Claude where its id says so', async () => {
    const front = bedrock()
    const arn = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2'
    const asked = asking({}, arn)
    const hop = { ...asked.hop, card: { ...asked.hop.card, id: 'acme/claude-opus-4-8' } }
    const sent = { ...asked, hop, request: request({}, { reasoning: { effort: 'high' } }) }
    const answer = await collectFolded(upstreamAt(front, KEY).ask(sent))
    expect(answer.failure).toBeNull()
    expect(front.seen[0]?.url.pathname).toBe(`/model/${encodeURIComponent(arn)}/invoke`)
    // As its generation thinks.
    expect(JSON.parse(front.seen[0]?.text ?? '')).toMatchObject({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
    })
  })
})

describe('other models', () => {
  test('are asked in OpenAI’s wire, signed too', async () => {
    const front = bedrock()
    const answer = await collectFolded(upstreamAt(front, KEY).ask(asking({}, GPT)))
    expect(answer.text).toBe('Hi')
    expect(front.seen[0]?.url.pathname).toBe('/openai/v1/chat/completions')
    expect(JSON.parse(front.seen[0]?.text ?? '')).toMatchObject({ model: GPT })
  })
})

describe('bedrock-mantle', () => {
  const mantle = provider('http://bedrock-mantle.eu-west-1.api.aws', 'bedrock')

  test.each([
    ['anthropic.claude-opus-4-8', '/anthropic/v1/messages'],
    ['openai.gpt-oss-120b', '/v1/chat/completions'],
    ['openai.gpt-5.5', '/openai/v1/chat/completions'],
  ])('asks %s at %s', async (model, path) => {
    const front = byName(bedrock({ region: 'eu-west-1', service: 'bedrock-mantle' }))
    const upstream = openUpstream(mantle, KEY.replace('us-east-1', 'eu-west-1'), clock)
    const answer = await collectFolded(upstream.ask(asking({}, model)))
    expect(answer.failure).toBeNull()
    expect(front.seen[0]?.url.pathname).toBe(path)
    expect(JSON.parse(front.seen[0]?.text ?? '')).toMatchObject({ model })
  })
})

describe('Claude, asked in Messages', () => {
  const BODY = {
    model: 'bedrock/claude',
    messages: [{ role: 'user', content: 'hi ☃' }],
    max_tokens: 100,
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    metadata: { user_id: 'u' },
  }

  test('gets the client’s own text but for what is elsewhere there, and the betas that Bedrock knows', async () => {
    const front = bedrock()
    const betas =
      'claude-code-20250219,context-1m-2025-08-07, advanced-tool-use-2025-11-20,nonsense'
    const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': betas }
    const { events } = await collect(upstreamAt(front, KEY).ask(native(BODY, true, headers)))
    const [seen] = front.seen
    expect(seen?.text).toBe(
      '{"messages":[{"role":"user","content":"hi ☃"}],"max_tokens":100,"metadata":{"user_id":"u"},' +
        '"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["context-1m-2025-08-07","tool-search-tool-2025-10-19"]}',
    )
    expect(seen?.headers.get('anthropic-beta')).toBeNull()
    const said = events.map((event) => (event.type === 'native' ? event.text : '')).join('')
    expect(said).toBe(SSE)
  })

  test('a whole answer passes as it came', async () => {
    const front = bedrock()
    const { events } = await collect(upstreamAt(front, KEY).ask(native(BODY)))
    expect(events.at(-1)).toMatchObject({ type: 'native', text: JSON.stringify(MESSAGE) })
  })

  test('its tokens are counted by the model itself, and by nobody where Bedrock refuses', async () => {
    const front = bedrock()
    const upstream = upstreamAt(front, KEY)
    expect(await upstream.count?.(native(BODY))).toBe('{"input_tokens":42}')
    const [seen] = front.seen
    expect(seen?.url.pathname).toBe(
      `/model/${encodeURIComponent('anthropic.claude-haiku-4-5-20251001-v1:0')}/count-tokens`,
    )
    const { input } = JSON.parse(seen?.text ?? '')
    const counted = JSON.parse(Buffer.from(input.invokeModel.body, 'base64').toString())
    expect(counted).toMatchObject({ anthropic_version: 'bedrock-2023-05-31', max_tokens: 1 })
    const refusing = bedrock({ ask: () => refuse(400, 'ValidationException', 'not supported') })
    expect(await upstreamAt(refusing, KEY).count?.(native(BODY))).toBeNull()
  })
})

describe('refusals', () => {
  const kindOf = async (front: Front, credential: string) => {
    const { failure } = await collect(upstreamAt(front, credential).ask(asking()))
    const { kind, details, message } = failure as UpstreamFailure
    return { kind, code: details.providerCode, message }
  }

  test.each([
    [400, 'ValidationException', 'max_tokens: too large', 'rejected', 'ValidationException'],
    [
      400,
      'ValidationException',
      'Input is too long for requested model.',
      'rejected',
      'context_length_exceeded',
    ],
    [
      400,
      'ValidationException',
      'Invocation of model ID x with on-demand throughput isn’t supported.',
      'failed',
      'ValidationException',
    ],
    [400, 'ThrottlingException', 'Too many requests', 'overloaded', 'ThrottlingException'],
    [429, 'ThrottlingException', 'Too many tokens', 'overloaded', 'ThrottlingException'],
    [403, 'AccessDeniedException', 'no', 'unauthorized', 'AccessDeniedException'],
    [408, 'ModelTimeoutException', 'slow', 'timeout', 'ModelTimeoutException'],
    [424, 'ModelErrorException', 'broken', 'failed', 'ModelErrorException'],
    [503, 'ServiceUnavailableException', 'busy', 'overloaded', 'ServiceUnavailableException'],
    [500, 'InternalServerException', 'oops', 'failed', 'InternalServerException'],
  ] as const)('%i %s (%s) is %s', async (status, name, message, kind, code) => {
    const front = bedrock({ ask: () => refuse(status, name, message) })
    expect(await kindOf(front, KEY)).toMatchObject({ kind, code })
  })

  test('a secret that is wrong is the operator’s failure', async () => {
    const front = bedrock()
    const wrong = KEY.replace('wJalr', 'wrong')
    expect(await kindOf(front, wrong)).toMatchObject({ kind: 'unauthorized' })
  })

  test('a signature is dated by the clock: one that is late is refused', async () => {
    const front = bedrock({ now: () => clock.now() + 10 * 60_000 })
    expect(await kindOf(front, KEY)).toMatchObject({ kind: 'unauthorized' })
  })

  test('names of accounts stay here', async () => {
    const message = 'arn:aws:iam::123456789012:user/ann may not use projects/secret-project today'
    const front = bedrock({ ask: () => refuse(400, 'ValidationException', message) })
    expect((await kindOf(front, KEY)).message).toBe(
      '[account removed] may not use [account removed] today',
    )
  })

  test('one in the middle of a stream ends it', async () => {
    const cut = SSE.slice(0, SSE.indexOf('event: message_delta'))
    const error =
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    const front = bedrock({ ask: () => streamed(cut + error) })
    const { text, failure } = await collectFolded(
      upstreamAt(front, KEY).ask(asking({ stream: true })),
    )
    expect(text).toBe('Hello 🦊')
    expect(failure).toMatchObject({ kind: 'overloaded' })
  })

  test('a stream that stops in the middle of a message is broken off', async () => {
    const front = bedrock({
      ask: () => streamed(SSE.slice(0, SSE.indexOf('event: message_delta'))),
    })
    const { failure } = await collectFolded(upstreamAt(front, KEY).ask(asking({ stream: true })))
    expect(failure).toMatchObject({ kind: 'failed' })
  })

  test('without a region in address or credential nothing can be signed', () => {
    const keyOnly = JSON.stringify({ AccessKeyId: 'AKIDEXAMPLE', SecretAccessKey: 'x' })
    expect(() => openUpstream(provider('http://127.0.0.1:1', 'bedrock'), keyOnly, clock)).toThrow(
      'names no region',
    )
  })
})

describe('a role', () => {
  /** AWS's token service, which gives keys that expire. */
  function tokenService(answer: (seen: Seen) => Promise<Response> | Response): Front {
    const front = startFront(answer)
    open.push(front)
    vi.stubEnv('AWS_ENDPOINT_URL_STS', front.url)
    return front
  }

  const given = (name: string): Response =>
    new Response(
      `<${name}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${name}Result><Credentials>
        <AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey>
        <SessionToken>role-session</SessionToken><Expiration>2026-11-24T13:00:00Z</Expiration>
      </Credentials></${name}Result></${name}Response>`,
      { headers: { 'content-type': 'text/xml' } },
    )

  const OF_ROLE = { ASIAROLE: { secret: 'role-secret', session: 'role-session' } }

  test('is taken on with the operator’s key, once for all who ask at the same time', async () => {
    const sts = tokenService(() => given('AssumeRole'))
    const front = bedrock({ keys: OF_ROLE })
    const credential = JSON.stringify({
      ...JSON.parse(KEY),
      RoleArn: 'arn:aws:iam::123456789012:role/bedrock',
      ExternalId: 'ours',
    })
    const upstream = upstreamAt(front, credential)
    const answers = await Promise.all([1, 2, 3].map(() => collectFolded(upstream.ask(asking()))))
    expect(answers.map(({ text, failure }) => [text, failure])).toEqual(
      answers.map(() => ['Hello 🦊', null]),
    )
    expect(sts.seen).toHaveLength(1)
    expect(sts.seen[0]?.text).toContain('RoleSessionName=gatewayctl')
    expect(sts.seen[0]?.text).toContain('ExternalId=ours')
  })

  test('of the machine is taken on by its identity token', async () => {
    const sts = tokenService(({ text }) =>
      given(new URLSearchParams(text).get('Action') ?? 'AssumeRole'),
    )
    const file = join(mkdtempSync(join(tmpdir(), 'token-')), 'token')
    writeFileSync(file, 'identity-token')
    vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', file)
    vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::123456789012:role/pod')
    vi.stubEnv('AWS_ACCESS_KEY_ID', undefined)
    const front = byName(bedrock({ keys: OF_ROLE, region: 'eu-central-1' }))
    const named = provider('http://bedrock-runtime.eu-central-1.amazonaws.com', 'bedrock')
    const answer = await collectFolded(openUpstream(named, null, clock).ask(asking()))
    expect(answer.failure).toBeNull()
    expect(sts.seen.map(({ text }) => text.includes('identity-token'))).toEqual([true])
    expect(front.seen).toHaveLength(1)
  })

  test('that is refused is the operator’s failure, in no words of AWS', async () => {
    tokenService(() => new Response('<Error><Code>AccessDenied</Code></Error>', { status: 403 }))
    const front = bedrock({ keys: OF_ROLE })
    const credential = JSON.stringify({ ...JSON.parse(KEY), RoleArn: 'arn:aws:iam::1:role/r' })
    const { failure } = await collect(upstreamAt(front, credential).ask(asking()))
    expect(failure).toMatchObject({ kind: 'unauthorized' })
    expect((failure as Error).message).not.toContain('arn:')
    expect(front.seen).toHaveLength(0)
  })

  test('who leaves while it is taken on has sent nothing, and the others go on', async () => {
    const sts = Promise.withResolvers<Response>()
    const service = tokenService(() => sts.promise)
    const front = bedrock({ keys: OF_ROLE })
    const credential = JSON.stringify({ ...JSON.parse(KEY), RoleArn: 'arn:aws:iam::1:role/r' })
    const upstream = upstreamAt(front, credential)
    const leaving = new AbortController()
    const left = { ...asking(), signal: leaving.signal }
    const gone = collect(upstream.ask(left))
    const stays = collectFolded(upstream.ask(asking()))
    await vi.waitFor(() => expect(service.seen).toHaveLength(1))
    leaving.abort(new Error('left'))
    expect((await gone).failure).toMatchObject({ message: 'left' })
    expect(left.sending.isSent).toBe(false)
    sts.resolve(given('AssumeRole'))
    expect((await stays).text).toBe('Hello 🦊')
    expect(front.seen).toHaveLength(1)
  })
})
