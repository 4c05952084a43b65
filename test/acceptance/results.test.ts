/** Embeddings and rerank on the compiled program: every vendor's wire, exact charges, and what is refused. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  type Appliance,
  activityOf,
  chargesIn,
  furnishCli,
  openHolds,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { type Socket, startProvider } from '#test/upstream/fixtures.ts'

const cli = furnishCli(openCli())
let gateway: Appliance
let provider: Socket
let key: string

// biome-ignore lint/suspicious/noExplicitAny: a naive reading of whatever was sent.
type Json = any

/** What a vendor answers to a request; by the first step of the path. */
type Vendor = (path: string, body: Json) => unknown

const textsOf = (input: unknown): readonly unknown[] =>
  typeof input === 'string' || typeof (input as unknown[])[0] === 'number'
    ? [input]
    : (input as unknown[])

/** A vector that says of which text it is. */
const vectorOf = (text: unknown): readonly number[] => [String(text).length, 0.5, -1]

const base64 = (numbers: readonly number[]): string =>
  Buffer.from(new Float32Array(numbers).buffer).toString('base64')

const openAi: Vendor = (_, { input, encoding_format }) => ({
  object: 'list',
  data: textsOf(input).map((text, index) => ({
    object: 'embedding',
    index,
    embedding: encoding_format === 'base64' ? base64(vectorOf(text)) : vectorOf(text),
  })),
  model: 'embed-1',
  usage: { prompt_tokens: 3 * textsOf(input).length, total_tokens: 3 * textsOf(input).length },
})

const rank = (documents: readonly string[], most = documents.length) =>
  documents
    .map((document, index) => ({ index, relevance_score: 1 / (1 + document.length) }))
    .toSorted((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, most)

const VENDORS: Readonly<Record<string, Vendor>> = {
  openai: openAi,
  // It knows no base64, says nothing of usage, and answers out of order.
  small: (path, body) => openAi(path, body),
  plain: (path, body) =>
    path.endsWith('/rerank')
      ? { results: rank(body.documents, body.top_n), usage: { total_tokens: 40 } }
      : {
          data: textsOf(body.input)
            .map((text, index) => ({ index, embedding: vectorOf(text) }))
            .toReversed(),
        },
  gemini: (_, { requests }) => ({
    embeddings: requests.map((one: Json) => ({ values: vectorOf(one.content.parts[0].text) })),
  }),
  cohere: (path, body) =>
    path === '/cohere/v2/rerank'
      ? {
          id: 'c-1',
          results: rank(body.documents, body.top_n),
          meta: { api_version: { version: '2' }, billed_units: { search_units: 1 } },
        }
      : {
          id: 'c-2',
          embeddings: { float: body.texts.map(vectorOf) },
          meta: { billed_units: { input_tokens: 2 * body.texts.length } },
        },
  voyage: (path, body) =>
    path === '/voyage/v1/rerank'
      ? { object: 'list', data: rank(body.documents, body.top_k), usage: { total_tokens: 43 } }
      : {
          ...(openAi(path, body) as object),
          usage: { total_tokens: 5 },
        },
  // It refuses the format that client libraries ask for unasked.
  strict: (path, body) =>
    body.encoding_format === 'base64'
      ? {
          error: { message: "Unknown value 'base64' of encoding_format", param: 'encoding_format' },
        }
      : openAi(path, body),
  // It answers the first hundred entries alone.
  halting: (_, { requests }) =>
    requests[0].content.parts[0].text === 'x'
      ? { error: { code: 500, message: 'out of order', status: 'INTERNAL' } }
      : VENDORS['gemini']?.('', { requests }),
  // Of some parts it says nothing.
  silent: (path, body) => (body.texts[0] === 'wait' ? null : VENDORS['cohere']?.(path, body)),
  absurd: (path, body) => ({
    ...(openAi(path, body) as object),
    usage: { prompt_tokens: -5, total_tokens: -5 },
  }),
  broken: () => ({ object: 'list', data: [], usage: { prompt_tokens: 3, total_tokens: 3 } }),
}

/** Each costs $2 per million tokens, and $0.002 a search unit. */
const MODELS = {
  'openai/e': { kind: 'embed', in_usd: '2', embedding_space: 'one' },
  'plain/e': { kind: 'embed', in_usd: '2', embedding_space: 'one' },
  'plain/r': { kind: 'rerank', in_usd: '2' },
  'plain/u': { kind: 'rerank', per_search_unit_usd: '0.002' },
  'gemini/e': { kind: 'embed', in_usd: '2', embedding_space: 'two' },
  'cohere/e': { kind: 'embed', in_usd: '2' },
  'cohere/r': { kind: 'rerank', per_search_unit_usd: '0.002' },
  'voyage/e': { kind: 'embed', in_usd: '2' },
  'voyage/r': { kind: 'rerank', in_usd: '2' },
  'strict/e': { kind: 'embed', in_usd: '2' },
  'halting/e': { kind: 'embed', in_usd: '2' },
  'silent/e': { kind: 'embed', in_usd: '2' },
  'small/e': { kind: 'embed', in_usd: '2', context_length: 10 },
  'claude/e': { kind: 'embed', in_usd: '2' },
  'absurd/e': { kind: 'embed', in_usd: '2' },
  'broken/e': { kind: 'embed', in_usd: '2', embedding_space: 'one' },
} as const

const TYPES: Readonly<Record<string, string>> = {
  openai: 'openai',
  plain: 'openai-compatible',
  gemini: 'google',
  cohere: 'cohere',
  voyage: 'voyage',
  strict: 'openai-compatible',
  halting: 'google',
  silent: 'cohere',
  small: 'openai-compatible',
  claude: 'anthropic',
  absurd: 'openai-compatible',
  broken: 'openai-compatible',
}

beforeAll(async () => {
  provider = await startProvider((response, n) => {
    const { path, body } = provider.seen[n]!
    const name = path.split('/')[1] ?? ''
    const answer = VENDORS[name]?.(path, body) as Json
    if (answer === null) return
    response.writeHead(answer.error ? (answer.error.code ?? 400) : 200, {
      'content-type': 'application/json',
    })
    response.end(JSON.stringify(answer))
  })
  gateway = await startAppliance(cli)
  for (const [name, type] of Object.entries(TYPES)) {
    const base = `${provider.url}/${name}`
    const base_url = type === 'cohere' || type === 'google' ? base : `${base}/v1`
    await gateway.verb('providers.add', { name, type, base_url, credential: 'sk-vendor' })
  }
  for (const [model, more] of Object.entries(MODELS)) {
    await gateway.verb('models.add', { model, ...more } as never)
  }
  key = (await gateway.verb('keys.create', { name: 'results' })).key
})

afterEach(() => {
  provider.seen.length = 0
})

afterAll(async () => {
  await gateway?.kill()
  await provider?.stop()
  cli.close()
})

const ask = (
  path: 'embeddings' | 'rerank',
  body: unknown,
  headers = {},
  signal: AbortSignal | null = null,
): Promise<Response> =>
  fetch(`${gateway.url}/v1/${path}`, {
    method: 'POST',
    signal,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

/** The receipt of an answer. */
async function receiptOf(response: Response): Promise<Json> {
  const id = response.headers.get('X-Generation-Id') ?? ''
  const found = await fetch(`${gateway.url}/v1/generation?id=${id}`, {
    headers: { Authorization: `Bearer ${key}` },
  })
  return await found.json()
}

async function refusal(asking: Promise<Response>) {
  const response = await asking
  const { error } = (await response.json()) as Json
  return { status: response.status, code: error.code, param: error.param }
}

describe('vectors', () => {
  test.each(['openai/e', 'plain/e', 'strict/e', 'gemini/e', 'cohere/e', 'voyage/e'])(
    "W31: %s: OpenAI's SDK reads them, as it asks by itself and as floats",
    async (model) => {
      const { embeddings } = gateway.client(key)
      const usual = await embeddings.create({ model, input: ['a', 'bcd'] })
      const floats = await embeddings.create({
        model,
        input: ['a', 'bcd'],
        encoding_format: 'float',
      })
      for (const answer of [usual, floats]) {
        expect(answer.data.map(({ embedding }) => [...embedding])).toEqual([
          [1, 0.5, -1],
          [3, 0.5, -1],
        ])
        expect(answer.data.map(({ index }) => index)).toEqual([0, 1])
        expect(answer.usage.total_tokens).toBeGreaterThan(0)
      }
      expect(openHolds(cli)).toBe(0)
    },
  )

  test("the provider's text passes unchanged where it says the same, and so does the format", async () => {
    const body = { model: 'openai/e', input: 'hi', user: 'u_1', dimensions: 3, models: null }
    const response = await ask('embeddings', body)
    expect(await response.text()).toBe(JSON.stringify(openAi('', { input: 'hi' })))
    expect(provider.seen[0]?.body).toEqual({ model: 'e', input: 'hi', user: 'u_1', dimensions: 3 })
    expect(provider.seen[0]?.path).toBe('/openai/v1/embeddings')
    const nulled = await ask('embeddings', {
      model: 'openai/e',
      input: 'hi',
      encoding_format: null,
    })
    expect(nulled.status).toBe(200)
    expect(provider.seen[1]?.body).toEqual({ model: 'e', input: 'hi' })
  })

  test('a count that cannot be is not passed on: the client reads what is charged', async () => {
    const answer = (await (
      await ask('embeddings', { model: 'absurd/e', input: 'hi' })
    ).json()) as Json
    expect(answer.data[0].embedding).toEqual(vectorOf('hi'))
    expect(answer.usage).toEqual({ prompt_tokens: 1, total_tokens: 1 })
  })

  test('W31: a null format is not sent on; one that was refused once is not sent again', async () => {
    const input = ['hi']
    for (const encoding_format of [null, undefined, 'base64', 'base64']) {
      const response = await ask('embeddings', { model: 'strict/e', input, encoding_format })
      expect(response.status).toBe(200)
    }
    expect(provider.seen.map(({ body }) => body)).toEqual(
      Array(provider.seen.length).fill({ model: 'e', input }),
    )
  })

  test('W31: token ids to a vendor that takes texts are refused before they are sent', async () => {
    for (const model of ['gemini/e', 'cohere/e', 'voyage/e']) {
      for (const input of [
        [1, 2],
        [[1], [2]],
      ]) {
        const got = await refusal(ask('embeddings', { model, input }))
        expect(got).toMatchObject({ status: 400, code: 'invalid_request', param: 'input' })
      }
    }
    expect(provider.seen).toEqual([])
    expect(openHolds(cli)).toBe(0)
  })

  test('each vendor hears its own words', async () => {
    const more = { input: ['a'], dimensions: 8, encoding_format: 'base64' }
    for (const model of ['gemini/e', 'cohere/e', 'voyage/e']) {
      expect((await ask('embeddings', { model, ...more })).status).toBe(200)
    }
    expect(provider.seen.map(({ path, body }) => [path, body])).toEqual([
      [
        '/gemini/models/e:batchEmbedContents',
        {
          requests: [
            { model: 'models/e', content: { parts: [{ text: 'a' }] }, outputDimensionality: 8 },
          ],
        },
      ],
      [
        '/cohere/v2/embed',
        {
          model: 'e',
          input_type: 'search_document',
          texts: ['a'],
          embedding_types: ['float'],
          output_dimension: 8,
        },
      ],
      [
        '/voyage/v1/embeddings',
        { model: 'e', input: ['a'], encoding_format: 'base64', output_dimension: 8 },
      ],
    ])
  })

  test('are charged by what the provider counted, else by an estimate that is marked', async () => {
    const counted = await receiptOf(
      await ask('embeddings', { model: 'openai/e', input: ['a', 'b'] }),
    )
    expect(counted).toMatchObject({ cost_usd: '0.000012', usage_source: 'provider' })
    const estimated = await receiptOf(
      await ask('embeddings', { model: 'gemini/e', input: 'x'.repeat(40) }),
    )
    expect(estimated).toMatchObject({ cost_usd: '0.00002', usage_source: 'estimated' })
    const ids = await receiptOf(await ask('embeddings', { model: 'plain/e', input: [[1, 2], [3]] }))
    expect(ids).toMatchObject({ cost_usd: '0.000006', usage_source: 'estimated' })
  })

  test('a list that is longer than the vendor takes is asked in parts, and charged once', async () => {
    const input = Array.from({ length: 250 }, (_, i) => 'x'.repeat(1 + (i % 7)))
    const before = chargesIn(cli).length
    for (const [model, parts] of [
      ['gemini/e', 3],
      ['cohere/e', 3],
    ] as const) {
      provider.seen.length = 0
      const response = await ask('embeddings', { model, input, encoding_format: 'base64' })
      const { data } = (await response.json()) as Json
      expect(provider.seen.length).toBe(parts)
      expect(data.map(({ index }: Json) => index)).toEqual(input.map((_, i) => i))
      expect(data.map(({ embedding }: Json) => embedding)).toEqual(
        input.map((text) => base64(vectorOf(text))),
      )
      if (model === 'cohere/e') {
        expect(await receiptOf(response)).toMatchObject({
          cost_usd: '0.001',
          usage_source: 'provider',
        })
      }
    }
    expect(chargesIn(cli).length).toBe(before + 2)
  })

  test('as many as are allowed are answered; a part that fails fails all of it, and costs nothing', async () => {
    const input = Array.from({ length: 2_048 }, (_, i) => 'x'.repeat(1 + (i % 5)))
    for (const [model, parts] of [
      ['openai/e', 1],
      ['voyage/e', 3],
    ] as const) {
      provider.seen.length = 0
      const { data } = (await (await ask('embeddings', { model, input })).json()) as Json
      expect(provider.seen.length).toBe(parts)
      expect(data.map(({ embedding: [length] }: Json) => length)).toEqual(
        input.map(({ length }) => length),
      )
    }
    const before = chargesIn(cli).length
    const late = [...Array(100).fill('yy'), 'x']
    const body = { model: 'halting/e', input: late, allow_fallbacks: false }
    expect(await refusal(ask('embeddings', body))).toMatchObject({ status: 502 })
    expect(chargesIn(cli).length).toBe(before)
    expect(openHolds(cli)).toBe(0)
  })

  // Of 200 entries 96 are sent at once, each of a token by estimate, and two by the vendor's count.
  test.each([
    [1, 0, 96],
    [2, 96, 2 * 96 + 96],
    [3, 192, 2 * 192 + 8],
  ])('who leaves while part %i runs pays for those that were sent', async (parts, at, tokens) => {
    const input = Array(200).fill('yyyy').with(at, 'wait')
    const before = chargesIn(cli).length
    const leaving = new AbortController()
    const { signal } = leaving
    const body = { model: 'silent/e', input }
    const asking = ask('embeddings', body, {}, signal).catch(() => 'left')
    await until(() => provider.seen.length === parts, 'the part is asked for')
    leaving.abort()
    expect(await asking).toBe('left')
    await until(() => chargesIn(cli).length > before, 'it is charged')
    expect(chargesIn(cli).at(-1)?.amount_nanos).toBe(tokens * -2_000)
  })

  test('an estimate is of each entry by itself, whether or not they are asked in parts', async () => {
    for (const entries of [100, 101]) {
      const input = Array(entries).fill('x')
      const receipt = await receiptOf(await ask('embeddings', { model: 'gemini/e', input }))
      expect(receipt.usage.prompt_tokens).toBe(entries)
    }
  })

  test('each entry has the context for itself', async () => {
    const model = 'small/e'
    const entry = 'x'.repeat(100)
    expect((await ask('embeddings', { model, input: Array(50).fill(entry) })).status).toBe(200)
    const long = { model, input: ['a', 'x'.repeat(200)] }
    expect(await refusal(ask('embeddings', long))).toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      param: 'input',
    })
  })

  test('another model answers only where its vectors have the same space', async () => {
    const models = ['gemini/e', 'openai/e']
    const response = await ask('embeddings', { model: 'broken/e', input: 'a', models })
    expect(response.status).toBe(200)
    expect(provider.seen.map(({ path }) => path.split('/')[1])).toEqual(['broken', 'openai'])
    provider.seen.length = 0
    const none = { model: 'broken/e', input: 'a', models: ['gemini/e', 'cohere/e'] }
    expect(await refusal(ask('embeddings', none))).toMatchObject({ status: 502 })
    expect(new Set(provider.seen.map(({ path }) => path.split('/')[1]))).toEqual(
      new Set(['broken']),
    )
    expect(openHolds(cli)).toBe(0)
  })

  test('what is refused', async () => {
    const input = 'a'
    const cases: [body: object, code: string, param: string][] = [
      [{ model: 'claude/e', input }, 'unsupported_operation', 'model'],
      [{ model: 'cohere/r', input }, 'unsupported_operation', 'model'],
      [{ model: 'demo/echo', input }, 'unsupported_operation', 'model'],
      [{ model: 'openai/e', input, stream: true }, 'invalid_request', 'stream'],
      [{ model: 'openai/e' }, 'invalid_request', 'input'],
      [{ model: 'openai/e', input: [] }, 'invalid_request', 'input'],
      [{ model: 'openai/e', input: '' }, 'invalid_request', 'input'],
      [{ model: 'openai/e', input: ['a', ''] }, 'invalid_request', 'input[1]'],
      [{ model: 'openai/e', input: ['a', [1]] }, 'invalid_request', 'input[1]'],
      [{ model: 'openai/e', input: [[1], []] }, 'invalid_request', 'input[1]'],
      [{ model: 'openai/e', input: [1, 2.5] }, 'invalid_request', 'input'],
      [{ model: 'openai/e', input: Array(2_049).fill('a') }, 'invalid_request', 'input'],
      [{ model: 'openai/e', input, encoding_format: 'hex' }, 'invalid_request', 'encoding_format'],
      [{ model: 'openai/e', input, service_tier: 'flex' }, 'unsupported_parameter', 'service_tier'],
      [{ model: 'gemini/e', input: [[1, 2]] }, 'invalid_request', 'input'],
    ]
    for (const [body, code, param] of cases) {
      const got = await refusal(ask('embeddings', body))
      expect(got, JSON.stringify(body).slice(0, 99)).toMatchObject({ status: 400, code, param })
    }
    expect(provider.seen).toEqual([])
    expect(openHolds(cli)).toBe(0)
  })

  test('a dry run holds a token per byte of text, one per token id, and what a server puts around each entry', async () => {
    const quote = async (input: unknown) => {
      const dry = { 'X-Gateway-Dry-Run': 'true' }
      const response = await ask('embeddings', { model: 'openai/e', input }, dry)
      return ((await response.json()) as Json).max_cost_usd
    }
    expect(await quote(['abc', 'жж'])).toBe('0.000526')
    expect(await quote([[70_000, 1, 2]])).toBe('0.000262')
    expect(provider.seen).toEqual([])
  })

  test('a repetition gets the same bytes for one charge; another surface is another request', async () => {
    const headers = { 'Idempotency-Key': crypto.randomUUID() }
    const body = { model: 'plain/e', input: 'same', query: 'q', documents: ['d'] }
    const first = await ask('embeddings', body, headers)
    const text = await first.text()
    const again = await ask('embeddings', body, headers)
    expect(await again.text()).toBe(text)
    expect(again.headers.get('Idempotent-Replayed')).toBe('true')
    expect(provider.seen.length).toBe(1)
    expect(await refusal(ask('rerank', body, headers))).toMatchObject({ status: 409 })
  })
})

describe('an order of documents', () => {
  const documents = ['ccc', 'a', 'bb']

  test.each(['cohere/r', 'voyage/r', 'plain/r'])(
    "%s: in Cohere's shape, and in Voyage's",
    async (model) => {
      const body = { model, query: 'q', documents }
      const cohere = (await (await ask('rerank', { ...body, top_n: 2 })).json()) as Json
      expect(cohere.results.map(({ index }: Json) => index)).toEqual([1, 2])
      const voyage = (await (await ask('rerank', { ...body, top_k: 2 })).json()) as Json
      expect(voyage.data.map(({ index }: Json) => index)).toEqual([1, 2])
      expect(voyage.object).toBe('list')
      const whole = {
        ...body,
        documents: documents.map((text) => ({ text })),
        return_documents: true,
      }
      const repeated = (await (await ask('rerank', whole)).json()) as Json
      expect(repeated.results.map(({ document }: Json) => document)).toEqual([
        { text: 'a' },
        { text: 'bb' },
        { text: 'ccc' },
      ])
      const word = model === 'voyage/r' ? 'top_k' : 'top_n'
      expect(provider.seen.map((one) => one.body[word])).toEqual([2, 2, undefined])
      expect(provider.seen.map((one) => one.body['documents'])).toEqual(Array(3).fill(documents))
    },
  )

  test('of as many as are allowed is whole, for what its vendor counted', async () => {
    const many = Array.from({ length: 1_000 }, (_, i) => 'x'.repeat(1 + (i % 9)))
    const response = await ask('rerank', { model: 'cohere/r', query: 'q', documents: many })
    const { results } = (await response.json()) as Json
    expect(new Set(results.map(({ index }: Json) => index)).size).toBe(1_000)
    expect(await receiptOf(response)).toMatchObject({ cost_usd: '0.002', usage_source: 'provider' })
  })

  test('costs search units or tokens, as its card says; what is not counted is estimated', async () => {
    const body = { query: 'q', documents }
    const cost = async (model: string) => {
      const { cost_usd, usage_source } = await receiptOf(await ask('rerank', { model, ...body }))
      return [cost_usd, usage_source]
    }
    expect(await cost('cohere/r')).toEqual(['0.002', 'provider'])
    expect(await cost('voyage/r')).toEqual(['0.000086', 'provider'])
    expect(await cost('plain/r')).toEqual(['0.00008', 'provider'])
    expect(await cost('plain/u')).toEqual(['0.002', 'estimated'])
  })

  test('a dry run holds search units by bytes, and bytes as tokens', async () => {
    const quote = async (model: string, texts: readonly string[]) => {
      const dry = { 'X-Gateway-Dry-Run': 'true' }
      const response = await ask('rerank', { model, query: 'q', documents: texts }, dry)
      return ((await response.json()) as Json).max_cost_usd
    }
    expect(await quote('cohere/r', ['a'])).toBe('0.002')
    expect(await quote('cohere/r', Array(101).fill('a'))).toBe('0.004')
    expect(await quote('cohere/r', Array(51).fill('x'.repeat(500)))).toBe('0.004')
    expect(await quote('voyage/r', ['abc', 'd'])).toBe('0.000524')
  })

  test('what is refused', async () => {
    const model = 'cohere/r'
    const cases: [body: object, code: string, param: string][] = [
      [{ model: 'openai/e', query: 'q', documents }, 'unsupported_operation', 'model'],
      [{ model, query: 'q', documents, stream: true }, 'invalid_request', 'stream'],
      [{ model, documents }, 'invalid_request', 'query'],
      [{ model, query: 'q' }, 'invalid_request', 'documents'],
      [{ model, query: 'q', documents: [] }, 'invalid_request', 'documents'],
      [{ model, query: 'q', documents: ['a', null] }, 'invalid_request', 'documents[1]'],
      [{ model, query: 'q', documents: Array(1_001).fill('a') }, 'invalid_request', 'documents'],
      [{ model, query: 'q', documents, top_n: 0 }, 'invalid_request', 'top_n'],
    ]
    for (const [body, code, param] of cases) {
      const got = await refusal(ask('rerank', body))
      expect(got, JSON.stringify(body).slice(0, 99)).toMatchObject({ status: 400, code, param })
    }
    expect(openHolds(cli)).toBe(0)
  })
})

test('of many at once at the last of a ceiling, no more are admitted than it pays for', async () => {
  const many = 600
  // Ten are held at once, at 132 tokens each; each costs three.
  const limits = { name: 'poor', daily_spend_limit_usd: '0.00264' }
  const { key: poor } = await gateway.verb('keys.create', limits as never)
  const answers = await Promise.all(
    Array.from({ length: many }, () =>
      fetch(`${gateway.url}/v1/embeddings`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${poor}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ model: 'openai/e', input: 'abcd' }),
      }),
    ),
  )
  const served = answers.filter(({ status }) => status === 200).length
  expect(served).toBeGreaterThanOrEqual(10)
  // Of 440 charges that fit the last crosses.
  expect(served).toBeLessThanOrEqual(441)
  await until(() => openHolds(cli) === 0, 'no hold is left')
  const ids = answers.map(({ headers }) => headers.get('X-Generation-Id') ?? '')
  const rows = ids.map((id) => activityOf(cli, id)).filter((row) => row !== undefined)
  expect(rows.length).toBeGreaterThan(0)
})
