// Images through the whole gateway, as a stock client sees them: drawn, edited, missing, abandoned, and what each costs.
import OpenAI, { APIError } from 'openai'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import { newPriceVersionId } from '#domain/id.ts'
import type { ModelCard, Prices } from '#domain/model-card.ts'
import type { ProviderType } from '#domain/provider.ts'
import type { Upstream } from '#domain/upstream.ts'
import { aCard, anAct, aPriceList, aProvider, perM, price, usd } from '#test/support/nouns.ts'
import { readRecording, recordings } from '#test/support/replay.ts'
import { eventually } from '#test/support/scripted-upstream.ts'
import { fetchImage, PUBLIC_INTERNET } from '#upstream/guarded-fetch/fetch-image.ts'
import { openOpenAi } from '#upstream/openai/index.ts'
import { openUpstream } from '#upstream/registry.ts'
import { type Served, serve } from './serve.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAA'
const DATA_URL = `data:image/png;base64,${PNG}`
const drawn = (index = 0, url = DATA_URL) => ({ type: 'image_url', image_url: { url }, index })
const image = (url: string) => ({ type: 'image_url' as const, image_url: { url } })

let server: ReturnType<typeof Bun.serve>
let seen: { readonly path: string; readonly body: JsonObject | FormData }[] = []
let answer: () => Response | Promise<Response>
let s: Served
let client: OpenAI

/** Fetches as in production, except that every name resolves to this test's own server. */
const fetched = (address: string, signal: AbortSignal) =>
  fetchImage(address, signal, {
    ...PUBLIC_INTERNET,
    protocols: ['http:'],
    ports: 'any',
    resolve: async () => ['127.0.0.1'],
    isAllowed: (found) => found === '127.0.0.1',
  })

beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(incoming) {
      const { pathname } = new URL(incoming.url)
      if (pathname === '/image') return new Response(Buffer.from(PNG, 'base64'))
      if (pathname === '/inside') return Response.redirect('http://10.0.0.1/image')
      const isForm = incoming.headers.get('content-type')?.startsWith('multipart/')
      const body = isForm ? await incoming.formData() : await incoming.json()
      seen.push({ path: pathname, body: body as JsonObject })
      return await answer()
    },
  })
})
afterAll(() => server.stop(true))

const PRICES = {
  list: {
    prompt: price('0'),
    completion: price('0'),
    imagePrices: [
      { resolution: '1024x1024', quality: 'high', usd: price('0.167') },
      { resolution: '1024x1536', quality: 'high', usd: price('0.25') },
      { resolution: '1024x1024', quality: 'low', usd: price('0.011') },
      { resolution: '1024x1536', quality: 'low', usd: price('0.016') },
    ],
  },
  tokens: {
    prompt: perM('5'),
    completion: perM('10'),
    imageInputToken: perM('8'),
    imageOutputToken: perM('40'),
  },
  mixed: {
    prompt: perM('5'),
    completion: perM('10'),
    imagePrices: [{ resolution: '*', quality: '*', usd: price('0.039') }],
  },
} satisfies Record<string, Partial<Prices>>

async function addModel(
  type: ProviderType,
  name: string,
  prices: Partial<Prices>,
  more: Partial<ModelCard> = {},
) {
  const at = s.deps.clock.now()
  await s.deps.store.models.add(
    aCard({
      id: `${type}/${name}`,
      provider: type,
      upstreamName: name,
      inputModalities: ['text', 'image'],
      outputModalities: ['text', 'image'],
      price: { id: newPriceVersionId(at), effectiveFrom: at, prices: aPriceList(prices) },
      ...more,
    }),
    anAct(),
  )
}

beforeEach(async () => {
  seen = []
  const base = server.url.href.replace(/\/$/, '')
  const providers = (['openai', 'openrouter', 'google'] as const).map((type) =>
    aProvider({ name: type, type, baseUrl: `${base}/v1` }),
  )
  const families = new Map<string, Upstream>(
    providers.map((one) => [
      one.name,
      one.type === 'google' ? openUpstream(one, 'k-123456') : openOpenAi(one, 'sk-123456', fetched),
    ]),
  )
  s = await serve({ ask: (call) => families.get(call.hop.provider.name)!.ask(call) })
  for (const one of providers) await s.deps.store.providers.add(one, [], [], anAct())
  await addModel('openai', 'gpt-image-1', PRICES.list)
  await addModel('openai', 'gpt-image-1.5', PRICES.tokens)
  await addModel('openai', 'dall-e-3', PRICES.mixed)
  await addModel('openrouter', 'google/gemini-image', PRICES.mixed, { imagesPerAnswer: 2 })
  await addModel('google', 'gemini-image', PRICES.tokens)
  client = new OpenAI({
    apiKey: s.key.bearer['Authorization']!.slice('Bearer '.length),
    baseURL: `${s.gateway.url}/v1`,
    maxRetries: 2,
  })
})
afterEach(async () => {
  await s.gateway.stop(0)
  await s.deps.store.close()
})

interface Answered {
  readonly message: OpenAI.ChatCompletionMessage & {
    readonly images?: unknown
    readonly revised_prompt?: string
  }
  readonly usage: {
    prompt_tokens: number
    completion_tokens: number
    images: number
    cost: number
    cost_details: { source: string }
  }
  readonly choices: readonly { readonly message: Answered['message'] }[]
}

async function draw(model: string, more: JsonObject = {}): Promise<Answered> {
  const { choices, usage } = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'a cat' }],
    modalities: ['image'] as never,
    ...more,
  })
  return { message: choices[0]!.message, choices, usage } as unknown as Answered
}

const refusal = async (asking: Promise<unknown>): Promise<APIError> => {
  const thrown = await asking.catch((caught: unknown) => caught)
  if (!(thrown instanceof APIError)) throw new Error('it was answered')
  return thrown
}
const balance = async () => (await s.deps.store.accounts.find(s.deps.account.id))?.balance

const images = (more: JsonObject = {}, count = 1) =>
  Response.json({
    created: 1,
    data: Array.from({ length: count }, () => ({ b64_json: PNG })),
    ...more,
  })
const USAGE = {
  input_tokens: 10,
  output_tokens: 4160,
  output_tokens_details: { image_tokens: 4160, text_tokens: 0 },
  total_tokens: 4170,
}

describe('the cost of an image', () => {
  const sized = (size: string, quality: string) => () => images({ size, quality, usage: USAGE })

  test('is by the size and quality that were requested', async () => {
    answer = () => images({ usage: USAGE })
    const image_config = { size: '1024x1024', quality: 'high' }
    const { message, usage } = await draw('openai/gpt-image-1', { image_config })
    expect(message).toMatchObject({ role: 'assistant', content: '', images: [drawn()] })
    expect(usage).toMatchObject({ images: 1, cost: 0.167, cost_details: { source: 'provider' } })
    expect(seen[0]?.body).toMatchObject({ size: '1024x1024', quality: 'high' })
  })

  test('is by the size and quality that were drawn, where the answer states them', async () => {
    answer = sized('1024x1536', 'low')
    expect((await draw('openai/gpt-image-1')).usage.cost).toBe(0.016)
    expect(
      (await draw('openai/gpt-image-1', { image_config: { size: '1024x1024' } })).usage.cost,
    ).toBe(0.016)
  })

  test('is by those requested, where the price list has no entry for what was drawn', async () => {
    answer = sized('1254x1254', 'sublime')
    const image_config = { size: '1024x1024', quality: 'low' }
    expect((await draw('openai/gpt-image-1', { image_config })).usage.cost).toBe(0.011)
  })

  test('is charged for each of several', async () => {
    answer = () => images({ usage: USAGE }, 3)
    const image_config = { size: '1024x1024', quality: 'low' }
    const { choices, usage } = await draw('openai/gpt-image-1', { image_config, n: 3 })
    expect(choices.map(({ message }) => message.images)).toEqual([[drawn()], [drawn()], [drawn()]])
    expect(usage).toMatchObject({ images: 3, cost: 0.033 })
  })

  test('is charged and delivered as often as it was requested, whatever else was drawn', async () => {
    answer = () => images({ usage: USAGE }, 3)
    const image_config = { size: '1024x1024', quality: 'low' }
    const { choices, usage } = await draw('openai/gpt-image-1', { image_config, n: 2 })
    expect(choices.map(({ message }) => message.images)).toEqual([[drawn()], [drawn()]])
    expect(usage).toMatchObject({ images: 2, cost: 0.022 })
  })

  test('is by token', async () => {
    answer = () => images({ usage: USAGE })
    const { usage } = await draw('openai/gpt-image-1.5')
    // 10 × $5/M + 4160 × $40/M
    expect(usage).toMatchObject({
      prompt_tokens: 10,
      completion_tokens: 4160,
      images: 1,
      cost: 0.16645,
    })
  })

  test('is by token, with image input tokens at their own price', async () => {
    const input_tokens_details = { text_tokens: 10, image_tokens: 323 }
    answer = () => images({ usage: { ...USAGE, input_tokens: 333, input_tokens_details } })
    const content = [
      { type: 'text', text: 'now in blue' },
      { type: 'image_url', image_url: { url: DATA_URL } },
    ]
    const messages = [{ role: 'user', content }]
    const { usage } = await draw('openai/gpt-image-1.5', { messages })
    // 10 × $5/M + 323 × $8/M + 4160 × $40/M
    expect(usage).toMatchObject({
      prompt_tokens: 333,
      prompt_tokens_details: { image_tokens: 323 },
      cost: 0.169034,
    })
    const [line] = await s.deps.store.activity.list({ limit: 1 })
    expect(line?.usage).toMatchObject({ inputTokens: 10, imageInputTokens: 323, inputImages: 1 })
  })

  test('is mixed: text by token, images by piece', async () => {
    answer = () => images({ usage: USAGE })
    // 10 × $5/M + $0.039
    expect((await draw('openai/dall-e-3')).usage.cost).toBe(0.03905)
  })
})

describe('an image from', () => {
  test("OpenRouter's message.images beside an empty text, as many as the model's card states", async () => {
    const message = {
      role: 'assistant',
      content: '',
      images: [image(DATA_URL), image(DATA_URL), image(DATA_URL)],
    }
    answer = () =>
      Response.json({
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage: { prompt_tokens: 4, completion_tokens: 0, total_tokens: 4, cost: 0.0387262 },
      })
    const { message: got, usage } = await draw('openrouter/google/gemini-image')
    expect(got).toMatchObject({ content: '', images: [drawn(0), drawn(1)] })
    // 4 × $5/M + 2 × $0.039, whatever cost OpenRouter itself states.
    expect(usage).toMatchObject({ images: 2, cost: 0.07802 })
    const [line] = await s.deps.store.activity.list({ limit: 1 })
    expect(line).toMatchObject({ cost: usd('0.07802'), statedCost: usd('0.0387262') })
    expect(seen[0]).toMatchObject({ path: '/v1/chat/completions', body: { modalities: ['image'] } })
  })

  test("Gemini's inlineData", async () => {
    const parts = [{ inlineData: { mimeType: 'image/png', data: PNG } }]
    const candidatesTokensDetails = [{ modality: 'IMAGE', tokenCount: 1290 }]
    answer = () =>
      Response.json({
        candidates: [{ content: { parts }, finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 6, candidatesTokenCount: 1290, candidatesTokensDetails },
      })
    const { message, usage } = await draw('google/gemini-image')
    expect(message).toMatchObject({ content: '', images: [drawn()] })
    // 6 × $5/M + 1290 × $40/M
    expect(usage).toMatchObject({ images: 1, cost: 0.05163 })
  })

  test('a URL, which is fetched and sent as bytes', async () => {
    const url = `http://pics.example:${server.port}/image`
    answer = () => Response.json({ data: [{ url, revised_prompt: 'a fluffy cat' }] })
    const { message } = await draw('openai/dall-e-3')
    expect(message).toMatchObject({ images: [drawn()], revised_prompt: 'a fluffy cat' })
    expect(seen[0]?.body).toMatchObject({ response_format: 'b64_json' })

    answer = () =>
      Response.json({
        choices: [{ message: { content: '', images: [image(url)] }, finish_reason: 'stop' }],
      })
    expect((await draw('openrouter/google/gemini-image')).message.images).toEqual([drawn()])
  })
})

describe('editing', () => {
  test('one image, then several, then the image just drawn', async () => {
    answer = () => images({ usage: USAGE })
    const edit = (...content: unknown[]) =>
      draw('openai/gpt-image-1.5', { messages: [{ role: 'user', content }] })
    const words = { type: 'text', text: 'in blue' }
    const { message } = await edit(words, image(DATA_URL))
    await edit(words, image(DATA_URL), image('data:image/jpeg;base64,/9j/4AAQ'))
    await draw('openai/gpt-image-1.5', {
      messages: [{ role: 'user', content: 'a cat' }, message, { role: 'user', content: 'in blue' }],
    })
    expect(seen.map(({ path }) => path)).toEqual(Array(3).fill('/v1/images/edits'))
    const names = seen.map(({ body }) => [...(body as FormData).keys()].slice(2))
    expect(names).toEqual([['image'], ['image[]', 'image[]'], ['image']])
  })

  test('the hold for the image just drawn is that of an image, not that of the text it is encoded as', async () => {
    const reserved: bigint[] = []
    answer = async () => {
      const { reserved: held } = await s.deps.store.admissions.usage(
        s.key.key.id,
        s.deps.clock.now(),
      )
      reserved.push(held)
      return images({ usage: USAGE, data: [{ b64_json: PNG + 'A'.repeat(400_000) }] })
    }
    const { message } = await draw('openai/gpt-image-1.5')
    await draw('openai/gpt-image-1.5', {
      messages: [{ role: 'user', content: 'a cat' }, message, { role: 'user', content: 'in blue' }],
    })
    const [first = 0n, second = 0n] = reserved
    expect(first).toBeGreaterThan(usd('0.33'))
    // 7,500 tokens at $8/M, and a few tokens of text.
    expect(second - first).toBeGreaterThan(usd('0.06'))
    expect(second - first).toBeLessThan(usd('0.064'))
  })

  test('an image by URL is refused and costs nothing', async () => {
    const before = await balance()
    const content = [{ type: 'text', text: 'blue' }, image('https://10.0.0.1/a.png')]
    const refused = await refusal(
      draw('openai/gpt-image-1', { messages: [{ role: 'user', content }] }),
    )
    expect([refused.status, refused.code]).toEqual([400, 'invalid_request'])
    expect(seen).toEqual([])
    expect(await balance()).toBe(before)
  })
})

describe('a missing image', () => {
  test.each([
    ['nothing', () => Response.json({ data: [], usage: USAGE })],
    ['no bytes of an image', () => Response.json({ data: [{ b64_json: 'AAAA' }], usage: USAGE })],
    ['an address inside', () => Response.json({ data: [{ url: 'http://10.0.0.1/image' }] })],
    [
      'an address that leads inside',
      () => Response.json({ data: [{ url: `http://pics.example:${server.port}/inside` }] }),
    ],
  ])('%s is 502, free, and not retried', async (_, reply) => {
    answer = reply
    const before = await balance()
    const refused = await refusal(draw('openai/gpt-image-1', { allow_fallbacks: false }))
    expect([refused.status, refused.code]).toEqual([502, 'no_image_returned'])
    expect(refused.headers?.get('x-should-retry')).toBe('false')
    expect(refused.message).not.toMatch(/10\.0\.0\.1|redirect|address/)
    expect(seen).toHaveLength(1)
    expect(await balance()).toBe(before)
    expect(await s.openHolds()).toBe(0)
  })

  test('a streamed image request is refused before any provider is called', async () => {
    const refused = await refusal(draw('openai/gpt-image-1', { stream: true }))
    expect([refused.status, refused.code, refused.param]).toEqual([
      400,
      'image_streaming_not_supported',
      'stream',
    ])
    expect(seen).toEqual([])
  })

  test('a client that disconnects while an image is drawn pays for what it requested', async () => {
    const before = await balance()
    answer = () => new Promise(() => {})
    const controller = new AbortController()
    const left = client.chat.completions.create(
      {
        model: 'openai/gpt-image-1',
        messages: [{ role: 'user', content: 'a cat' }],
        n: 2,
        ...{ modalities: ['image'] as never, image_config: { size: '1024x1024', quality: 'low' } },
      },
      { signal: controller.signal },
    )
    await eventually(() => seen.length === 1, 'the provider is asked')
    controller.abort()
    await expect(left).rejects.toThrow()
    await eventually(async () => (await s.openHolds()) === 0, 'the request is settled')
    expect(before! - (await balance())!).toBe(22_000_000n)
  })
})

const recorded = recordings().find(({ name }) => name === 'openai-images/gpt-image-1-b64')
test.skipIf(recorded === undefined)('a recorded answer of OpenAI', async () => {
  const { body } = readRecording(recorded!.name) as { body: { data: { b64_json: string }[] } }
  answer = () => Response.json(body)
  const { message, usage } = await draw('openai/gpt-image-1')
  expect(message.images).toEqual([drawn(0, `data:image/png;base64,${body.data[0]?.b64_json}`)])
  // The answer itself states 1024x1024 in high quality.
  expect(usage).toMatchObject({
    images: 1,
    cost: 0.167,
    prompt_tokens: 10,
    completion_tokens: 4160,
  })
})
