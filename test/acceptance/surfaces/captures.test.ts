// Every captured request of a real client, sent as it was: answered, or refused for the one reason that the contract has for it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openHolds } from '#test/support/appliance.ts'
import { FULL } from '#test/support/tier.ts'
import { openScriptedGateway, type ScriptedGateway } from '../traps/scripted-gateway.ts'
import { tell } from './any-family.ts'
import { type Answered, CAPTURES, type CapturedRequest, sendAsCaptured } from './sent.ts'

const pathOf = ({ path }: CapturedRequest): string => path.replace(/\?.*$/s, '')
// biome-ignore lint/suspicious/noExplicitAny: a body as a test reads it
type Body = any
const bodyOf = ({ body }: CapturedRequest): Body => body ?? {}
const toolsOf = (captured: CapturedRequest): readonly string[] =>
  (bodyOf(captured).tools ?? []).map(({ type }: { type?: string }) => type ?? 'function')

interface Refused {
  readonly why: string
  readonly is: (captured: CapturedRequest) => boolean
  readonly status: number
  readonly code: string
  /** What its message has to name. */
  readonly says: RegExp
}

const at = (...paths: readonly string[]) => {
  const known = new Set(paths)
  return (captured: CapturedRequest): boolean => known.has(pathOf(captured))
}

const unserved = (why: string, says: RegExp, ...paths: readonly string[]): Refused => ({
  why,
  is: at(...paths),
  status: 404,
  code: 'route_not_found',
  says,
})

const IMAGES = ['generations', 'edits', 'variations'].map((one) => `/v1/images/${one}`)

/** The first that fits. */
const REFUSED: readonly Refused[] = [
  unserved('images are made by chat', /chat\/completions with "modalities"/, ...IMAGES),
  unserved(
    'sound is a part of a message',
    /chat\/completions/,
    '/v1/audio/speech',
    '/v1/audio/transcriptions',
  ),
  unserved('nothing is moderated', /chat\/completions/, '/v1/moderations'),
  unserved('there are no batches', /POST \/v1\/messages/, '/v1/messages/batches'),
  unserved(
    'no answer is kept',
    /POST \/v1\/responses/,
    '/v1/responses/resp_0a1b2c',
    '/v1/responses/compact',
  ),
  unserved('tokens are counted elsewhere', /messages\/count_tokens/, '/v1/responses/input_tokens'),
  unserved('version 2 is not served', /POST \/v1\/rerank/, '/v2/rerank'),
  unserved('version 2 is not served', /POST \/v1\/embeddings/, '/v2/embed'),
  {
    why: 'Codex asks by WebSocket first, and by POST after a 426',
    is: ({ method, path }) => method === 'GET' && path === '/v1/responses',
    status: 426,
    code: 'websocket_not_supported',
    says: /POST/,
  },
  {
    why: 'Codex sent no key',
    is: ({ method, headers }) =>
      method === 'POST' && !/"(?:authorization|x-api-key)"/i.test(JSON.stringify(headers)),
    status: 401,
    code: 'missing_api_key',
    says: /Bearer/,
  },
  {
    why: 'no conversation is kept: the SDK sends the whole of it next',
    is: (captured) => bodyOf(captured).thread !== undefined,
    status: 400,
    code: 'invalid_request',
    says: /whole history/,
  },
  {
    why: 'no card here has a price for tools that the vendor runs',
    is: (captured) =>
      toolsOf(captured).some((type) =>
        /^(?:file_search|code_interpreter|image_generation|mcp|computer_use_preview)$/.test(type),
      ),
    status: 400,
    code: 'unsupported_parameter',
    says: /tools\[\d+\]\.type/,
  },
  {
    why: 'no answer is stored',
    is: (captured) => {
      const { background, previous_response_id: previous } = bodyOf(captured)
      return background === true || Boolean(previous)
    },
    status: 400,
    code: 'unsupported_parameter',
    says: /no answer is stored/,
  },
]

const refusedAs = (captured: CapturedRequest): Refused | undefined =>
  REFUSED.find(({ is }) => is(captured))

/** Those of one client at one path, and of one refusal, are alike: the first stands for them where time is short. */
function sample(captures: readonly CapturedRequest[]): readonly CapturedRequest[] {
  if (FULL) return captures
  const seen = new Set<string>()
  return captures.filter((captured) => {
    const { scenario, method } = captured
    const [client] = scenario.split('.')
    const kind = [
      client,
      method,
      pathOf(captured),
      bodyOf(captured).stream,
      refusedAs(captured)?.why,
    ]
    const name = kind.join(' ')
    return !seen.has(name) && Boolean(seen.add(name))
  })
}

const isMessages = ({ path, headers }: CapturedRequest): boolean =>
  path.startsWith('/v1/messages') || /"anthropic-version"/i.test(JSON.stringify(headers))

/** The end of a whole stream, by path. */
const ENDS: Readonly<Record<string, RegExp>> = {
  '/v1/messages': /event: message_stop\ndata: .*\n\n$/,
  '/v1/responses': /event: response\.completed\ndata: .*\n\n$/,
  '/v1/chat/completions': /data: \[DONE\]\n\n$/,
}

function expectServed(captured: CapturedRequest, { status, text, headers }: Answered): void {
  expect([status, status === 200 ? '' : text]).toEqual([200, ''])
  expect(headers['x-request-id']).toMatch(/./)
  if (captured.method !== 'POST') return
  expect(headers['x-ratelimit-limit-minute']).toBe('100000')
  if (pathOf(captured) === '/v1/messages/count_tokens') {
    expect(JSON.parse(text).input_tokens).toBeGreaterThan(0)
    return
  }
  expect(headers['x-generation-id']).toMatch(/^gen-/)
  expect(headers['x-gateway-model']).toMatch(/\//)
  expect(headers['x-gateway-provider']).toMatch(/./)
  if (isMessages(captured)) expect(headers['request-id']).toBe(headers['x-request-id'])
  if (bodyOf(captured).stream === true) expect(text).toMatch(ENDS[pathOf(captured)] ?? /./)
  else expect(typeof JSON.parse(text)).toBe('object')
}

function expectRefused(captured: CapturedRequest, answered: Answered, as: Refused): void {
  const { status, text } = answered
  const { type, error } = JSON.parse(text)
  const code = isMessages(captured) ? error.details.code : error.code
  // A wrong address names all that is served too.
  const [said] = error.message.split('; served are ')
  expect([status, code, said]).toEqual([as.status, as.code, expect.stringMatching(as.says)])
  expect(type).toBe(isMessages(captured) ? 'error' : undefined)
}

/** What no provider may see of a client, by the end of its name or all of it. */
const KEPT_BACK =
  /^(?:cookie|proxy-.*|x-forwarded-.*|x-codex-.*|session-id|thread-id|originator|x-stainless-.*|x-claude-.*|x-app|x-client-.*|version|chatgpt-.*|openai-organization|openai-project|anthropic-dangerous-.*)$/
/** What a client may say to its own vendor. */
const PASSED: Readonly<Record<string, RegExp>> = {
  '/v1/messages': /^(?:anthropic-version|anthropic-beta)$/,
  '/v1/responses': /^openai-beta$/,
}

interface Lane {
  readonly surface: string
  readonly family: string
}

/** What a wire of another family has no word for, by family; each has to be named. */
const UNSAID: readonly (Refused & { readonly families: readonly string[] })[] = [
  {
    families: ['chat', 'responses', 'gemini'],
    why: 'a tool that Anthropic runs is no other model’s',
    is: (captured) =>
      isMessages(captured) && toolsOf(captured).some((type) => /^web_search_/.test(type)),
    status: 400,
    code: 'unsupported_parameter',
    says: /tools\[\d+\]\.type: .* has no such tool as web_search/,
  },
  {
    families: ['responses'],
    why: 'the API stops at no sequence',
    is: (captured) => isMessages(captured) && bodyOf(captured).stop_sequences?.length > 0,
    status: 400,
    code: 'invalid_request',
    says: /stop/,
  },
]

/** The surface to a wire of another family, by way of the conversation. */
const LANES: readonly Lane[] = [
  { surface: '/v1/messages', family: 'chat' },
  { surface: '/v1/messages', family: 'responses' },
  { surface: '/v1/messages', family: 'gemini' },
  { surface: '/v1/responses', family: 'chat' },
  { surface: '/v1/responses', family: 'anthropic' },
  { surface: '/v1/responses', family: 'gemini' },
  { surface: '/v1/chat/completions', family: 'responses' },
  { surface: '/v1/chat/completions', family: 'anthropic' },
  { surface: '/v1/chat/completions', family: 'gemini' },
]

const PRICED = { in_usd: '1', out_usd: '2' }
const CREDENTIAL = 'sk-operators-own'
/** Providers by their type, whose models come with them, those that embed and rank too. */
const TYPES = ['anthropic', 'openai', 'cohere']

describe.skipIf(CAPTURES.length === 0)('a captured request', () => {
  let setup: ScriptedGateway
  let key: string
  const providers: { readonly seen: readonly { headers: object; path: string }[] }[] = []

  const add = (model: string, card: object) => setup.gateway.verb('models.add', { model, ...card })

  beforeAll(async () => {
    setup = await openScriptedGateway()
    for (const type of TYPES) {
      providers.push(await setup.provide(type, tell, { type, credential: CREDENTIAL }))
    }
    // Each of one wire.
    providers.push(await setup.provide('wire', tell, { credential: CREDENTIAL }))
    await add('wire/chat', PRICED)
    await add('wire/responses', { ...PRICED, wires: ['responses'] })
    providers.push(await setup.provide('google', tell, { type: 'google', credential: CREDENTIAL }))
    await add('google/gemini', PRICED)
    await add('google/gemini-embedding', { kind: 'embed', in_usd: '1' })
    const issued = await setup.gateway.verb('keys.create', { name: 'k', rpm_limit: 100_000 })
    key = issued.key
  })
  afterAll(() => setup?.close())

  test('is one of 252', () => {
    expect(CAPTURES.length).toBe(252)
    const groups = Map.groupBy(CAPTURES, (captured) => refusedAs(captured)?.why ?? 'served')
    expect(groups.get('served')?.length).toBe(220)
    for (const { why } of REFUSED) expect([why, groups.has(why)]).toEqual([why, true])
  })

  const all = sample(CAPTURES)

  /** Two name a model of another family: their lanes have them. */
  const served = all.filter(
    (captured) => !refusedAs(captured) && !captured.scenario.endsWith('.custom-model'),
  )

  test.each(served)('$name is answered', async (captured) => {
    const before = providers.map(({ seen }) => seen.length)
    expectServed(captured, await sendAsCaptured(setup.gateway.url, key, captured))
    const asked = providers.flatMap(({ seen }, n) => seen.slice(before[n]))
    expect(asked.length).toBe(captured.method === 'POST' ? 1 : 0)
    for (const { headers } of asked) {
      const passed = PASSED[pathOf(captured).replace('/count_tokens', '')]
      for (const [name, value] of Object.entries(headers)) {
        expect([name, KEPT_BACK.test(name)]).toEqual([name, false])
        if (/^(?:anthropic|openai)-/.test(name))
          expect([name, passed?.test(name)]).toEqual([name, true])
        expect(String(value)).not.toContain(key)
      }
      expect(JSON.stringify(headers)).toContain(CREDENTIAL)
      expect(JSON.stringify(headers)).not.toMatch(/stainless|claude-cli|codex_exec|OpenAI\/JS/)
    }
  })

  test.each(
    all.flatMap((captured) => {
      const as = refusedAs(captured)
      return as ? [{ ...captured, captured, as, why: as.why }] : []
    }),
  )('$name is refused: $why', async ({ captured, as }) => {
    const before = providers.map(({ seen }) => seen.length)
    expectRefused(captured, await sendAsCaptured(setup.gateway.url, key, captured), as)
    expect(providers.map(({ seen }) => seen.length)).toEqual(before)
  })

  const MODEL_OF: Readonly<Record<string, string>> = {
    chat: 'wire/chat',
    responses: 'wire/responses',
    anthropic: 'anthropic/claude-sonnet-4-5',
    gemini: 'google/gemini',
  }

  describe.each(LANES)('$surface to $family', ({ surface, family }) => {
    const own = all.filter(
      (captured) =>
        captured.method === 'POST' && pathOf(captured) === surface && !refusedAs(captured),
    )
    const toFamily = (captured: CapturedRequest): CapturedRequest => ({
      ...captured,
      body: { ...bodyOf(captured), model: MODEL_OF[family] },
    })

    test.each(own)(
      '$name is answered, or refused for what the wire has no word for',
      async (captured) => {
        const answered = await sendAsCaptured(setup.gateway.url, key, toFamily(captured))
        const unsaid = UNSAID.find(({ families, is }) => families.includes(family) && is(captured))
        if (unsaid) expectRefused(captured, answered, unsaid)
        else expectServed(captured, answered)
      },
    )
  })

  test.each(all.filter((captured) => pathOf(captured) === '/v1/embeddings'))(
    '$name is answered by Gemini, or refused for its token ids',
    async (captured) => {
      const body = { ...bodyOf(captured), model: 'google/gemini-embedding' }
      const answered = await sendAsCaptured(setup.gateway.url, key, { ...captured, body })
      const hasIds = typeof [body.input].flat(2)[0] === 'number'
      if (!hasIds) return expectServed(captured, answered)
      expect([answered.status, answered.text]).toEqual([400, expect.stringContaining('token ids')])
    },
  )

  test('leaves nothing held', () => {
    expect(openHolds(setup.cli)).toBe(0)
  })
})
