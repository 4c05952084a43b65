// The images API behind a chat request: which requests use it, what is sent, and how its answers are read.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import type { ModelCard } from '#domain/model-card.ts'
import type { ProviderType } from '#domain/provider.ts'
import type { UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { readRecording, recordings } from '#test/support/replay.ts'
import { openOpenAi, usesImagesApi } from '#upstream/openai/index.ts'
import { type CallOptions, call, collect, fold, provider, request } from '../fixtures.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAA'
const JPEG = '/9j/4AAQSkZJ'
const url = (base64: string, type = 'png') => `data:image/${type};base64,${base64}`
const image = (address: string) => ({ type: 'image_url', image_url: { url: address } })
const text = (words: string) => ({ type: 'text', text: words })

interface Seen {
  readonly path: string
  readonly contentType: string
  readonly json: JsonObject | null
  readonly form: FormData | null
}

let server: ReturnType<typeof Bun.serve>
let seen: Seen[] = []
let answer: () => Response = () => Response.json({ data: [{ b64_json: PNG }] })

beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(incoming) {
      const contentType = incoming.headers.get('content-type') ?? ''
      const isForm = contentType.startsWith('multipart/form-data')
      seen.push({
        path: new URL(incoming.url).pathname + new URL(incoming.url).search,
        contentType,
        json: isForm ? null : ((await incoming.json()) as JsonObject),
        form: isForm ? ((await incoming.formData()) as FormData) : null,
      })
      return answer()
    },
  })
})
afterAll(() => server.stop(true))

interface ImageOptions {
  readonly type?: ProviderType
  readonly model?: string
  readonly more?: CallOptions
  readonly fetched?: Readonly<Record<string, Uint8Array>>
}

function wish(
  body: JsonObject,
  { type = 'openai', model = 'gpt-image-1', more = {} }: ImageOptions,
): UpstreamCall {
  const config = (body['image_config'] ?? {}) as Record<string, string>
  const asked = request(body, {
    wantsImages: true,
    image: { resolution: config['size'], quality: config['quality'] },
    choices: (body['n'] as number) ?? 1,
    endUser: (body['user'] as string) ?? null,
  })
  const made = call({ request: asked, upstreamName: model, type, ...more })
  return { ...made, hop: { ...made.hop, provider: provider(server.url.href, type) } }
}

const userMessage = (...content: unknown[]): JsonObject => ({
  messages: [{ role: 'user', content }],
})

async function ask(body: JsonObject, options: ImageOptions = {}) {
  seen = []
  const { type = 'openai', fetched = {} } = options
  const upstream = openOpenAi(
    provider(`${server.url.href}v1`, type),
    'sk-secret-1234',
    async (address) => {
      const bytes = fetched[address]
      return bytes === undefined ? null : { type: 'image/png', bytes }
    },
  )
  const made = wish(body, options)
  const { events, failure } = await collect(upstream.ask(made)).catch((thrown) => ({
    events: [],
    failure: thrown,
  }))
  return { ...fold(events, failure), events }
}

const sent = () => seen[0]?.json

describe('the images API is used', () => {
  const card = (changes: Partial<ModelCard>): UpstreamCall => {
    const made = wish({}, { type: 'openai-compatible', model: 'painter' })
    return { ...made, hop: { ...made.hop, card: { ...made.hop.card, ...changes } } }
  }
  const ofType = (type: ProviderType, model = 'gpt-image-1') =>
    usesImagesApi(wish({}, { type, model }))

  test('for a model that only draws', () => {
    expect(usesImagesApi(card({ outputModalities: ['image'] }))).toBe(true)
    expect(usesImagesApi(card({ outputModalities: ['image', 'file'] }))).toBe(true)
    expect(usesImagesApi(card({ outputModalities: ['text', 'image'] }))).toBe(false)
  })

  test.each([
    'gpt-image-1',
    'gpt-image-1.5',
    'chatgpt-image-latest',
    'dall-e-3',
    'openai/gpt-image-1',
  ])('for %s, by its name', (model) => expect(ofType('openai', model)).toBe(true))

  test.each(['gpt-5-image', 'gemini-2.5-flash-image', 'my-dall-e'])('not for %s', (model) =>
    expect(ofType('openai', model)).toBe(false),
  )

  test("for a deployment under another name, by the model's id", () => {
    expect(usesImagesApi(card({ id: 'acme/gpt-image-1', upstreamName: 'painter-eu' }))).toBe(true)
  })

  test('neither where a provider draws in chat only, nor without an image modality', () => {
    expect(ofType('azure')).toBe(true)
    expect(ofType('openrouter')).toBe(false)
    const { hop, ...rest } = wish({}, {})
    expect(usesImagesApi({ ...rest, hop, request: { ...rest.request, wantsImages: false } })).toBe(
      false,
    )
  })
})

describe('a drawing', () => {
  test('is requested in JSON, with the settings of image_config', async () => {
    const image_config = { size: '1024x1536', quality: 'high', background: 'transparent', seed: 1 }
    await ask({
      ...userMessage(text('a siamese cat')),
      n: 2,
      user: 'u-1',
      image_config,
      temperature: 1,
    })
    expect(seen[0]).toMatchObject({
      path: '/v1/images/generations',
      contentType: 'application/json',
    })
    expect(sent()).toEqual({
      model: 'gpt-image-1',
      prompt: 'a siamese cat',
      n: 2,
      size: '1024x1536',
      quality: 'high',
      background: 'transparent',
      user: 'u-1',
    })
  })

  test.each([
    ['openai', 'gpt-image-1', undefined],
    ['openai', 'dall-e-3', 'b64_json'],
    ['azure', 'dall-e-3', 'b64_json'],
    ['openai-compatible', 'gpt-image-1', undefined],
    ['openai-compatible', 'openai/dall-e-3', 'b64_json'],
  ] as const)('of %s %s requests bytes only where it must', async (type, model, format) => {
    await ask(userMessage(text('x')), { type, model })
    expect(sent()?.['response_format']).toBe(format)
  })

  test.each([
    ['gpt-image-1', { aspect_ratio: '16:9' }, '1536x1024'],
    ['gpt-image-1', { aspect_ratio: '9:16' }, '1024x1536'],
    ['gpt-image-1', { aspect_ratio: '1:1' }, '1024x1024'],
    ['dall-e-3', { aspect_ratio: '3:2' }, '1792x1024'],
    ['dall-e-2', { aspect_ratio: '3:2' }, undefined],
    ['gpt-image-1', { size: '2K' }, undefined],
    ['gpt-image-1', { size: 'auto', aspect_ratio: '3:2' }, 'auto'],
    ['gpt-image-1', { aspect_ratio: 'wide' }, undefined],
  ])('of %s with %j has the size %s', async (model, image_config, size) => {
    await ask({ ...userMessage(text('x')), image_config }, { model })
    expect(sent()?.['size']).toBe(size)
  })

  test("keeps the query of a deployment's base URL, and replaces its chat path", async () => {
    seen = []
    for (const base of ['openai/deployments/d?api-version=1', 'v1/chat/completions']) {
      const azure = openOpenAi(provider(server.url.href + base, 'azure'), 'k')
      await collect(azure.ask(wish(userMessage(text('x')), { type: 'azure' })))
    }
    expect(seen.map(({ path }) => path)).toEqual([
      '/openai/deployments/d/images/generations?api-version=1',
      '/v1/images/generations',
    ])
  })

  test.each([
    ['2k', { resolution: '2k' }],
    ['1024x1024', {}],
  ])(
    'of xAI for %s has an aspect ratio, and a resolution where that is no size in pixels',
    async (size, resolution) => {
      const image_config = { size, quality: 'high', aspect_ratio: '16:9' }
      const model = 'dall-e-of-xai'
      await ask({ ...userMessage(text('x')), image_config }, { type: 'xai', model })
      expect(sent()).toEqual({
        model,
        prompt: 'x',
        aspect_ratio: '16:9',
        ...resolution,
        response_format: 'b64_json',
      })
    },
  )
})

describe('a conversation', () => {
  test('becomes a prompt with its instructions first and its last message last', async () => {
    const messages = [
      { role: 'system', content: 'Paint in oil.' },
      { role: 'user', content: 'a cat' },
      { role: 'assistant', content: 'Here.', images: [image(url(PNG))] },
      { role: 'tool', tool_call_id: 'x', content: [] },
      { role: 'user', content: [text('now in'), text('blue')] },
    ]
    await ask({ messages })
    expect(seen[0]?.path).toBe('/v1/images/edits')
    // A form ends its lines with CRLF, as the web does.
    expect(String(seen[0]?.form?.get('prompt')).replaceAll('\r\n', '\n')).toBe(
      'Paint in oil.\n\nEarlier in this conversation:\nuser: a cat\nassistant: Here.\n\nnow in\nblue',
    )
    // The image just drawn is the one to edit.
    expect(seen[0]?.form?.getAll('image')).toHaveLength(1)
  })

  test('without text is refused before anything is sent', async () => {
    const { failure } = await ask(userMessage(image(url(PNG))))
    expect(failure?.kind).toBe('rejected')
    expect(seen).toEqual([])
  })
})

describe('an edit', () => {
  const bytesOf = async (entry: unknown) => Buffer.from(await (entry as File).arrayBuffer())

  test('is a form with the bytes of the image', async () => {
    await ask({
      ...userMessage(text('blue'), image(url(PNG))),
      image_config: { size: '1024x1024' },
    })
    const form = seen[0]!.form!
    expect(seen[0]?.path).toBe('/v1/images/edits')
    expect([...form.keys()]).toEqual(['model', 'prompt', 'size', 'image'])
    const file = form.get('image') as unknown as File
    expect([file.name, file.type]).toEqual(['image-1.png', 'image/png'])
    expect((await bytesOf(file)).toString('base64')).toBe(PNG)
  })

  test('of several images is a list in their order, each with the type of its bytes', async () => {
    await ask(userMessage(text('mix'), image(url(PNG)), image(url(JPEG, 'png'))))
    const files = seen[0]!.form!.getAll('image[]') as unknown as File[]
    expect(files.map(({ name, type }) => [name, type])).toEqual([
      ['image-1.png', 'image/png'],
      ['image-2.jpeg', 'image/jpeg'],
    ])
  })

  test('of megabytes arrives intact', async () => {
    const bytes = Buffer.alloc(6_000_000)
    for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 7919) % 256
    Buffer.from(PNG, 'base64').copy(bytes)
    await ask(userMessage(text('Größe, 猫'), image(url(bytes.toString('base64')))))
    expect(seen[0]?.form?.get('prompt')).toBe('Größe, 猫')
    expect((await bytesOf(seen[0]?.form?.get('image'))).equals(bytes)).toBe(true)
  })

  test('uses the images of the latest message that has any', async () => {
    const messages = [
      { role: 'user', content: [text('a'), image(url(PNG)), image(url(PNG))] },
      { role: 'assistant', content: 'done' },
      { role: 'user', content: [text('b'), image(url(JPEG))] },
    ]
    await ask({ messages })
    expect((seen[0]!.form!.get('image') as unknown as File).type).toBe('image/jpeg')
  })

  test.each(['https://pics.example/a.png', url('AAAA'), url('PHN2Zz4=', 'svg+xml')])(
    'of %s is refused before anything is sent',
    async (address) => {
      const { failure } = await ask(userMessage(text('blue'), image(address)))
      expect(failure?.kind).toBe('rejected')
      expect(seen).toEqual([])
    },
  )

  test('of xAI is JSON', async () => {
    const options: ImageOptions = { type: 'xai', model: 'dall-e-of-xai' }
    await ask(userMessage(text('blue'), image(url(PNG))), options)
    expect(seen[0]?.path).toBe('/v1/images/edits')
    expect(sent()).toMatchObject({ image: { type: 'image_url', url: url(PNG) } })
    await ask(userMessage(text('mix'), image(url(PNG)), image(url(JPEG))), options)
    expect(sent()?.['images']).toHaveLength(2)
  })
})

describe('an answer', () => {
  const answering = (body: JsonObject, init: ResponseInit = {}) => {
    answer = () => Response.json(body, init)
  }

  test('has an image for each choice, with the type of its bytes', async () => {
    answering({
      created: 1,
      data: [{ b64_json: PNG, revised_prompt: 'a cat' }, { b64_json: JPEG }, { b64_json: JPEG }],
      output_format: 'png',
      size: '1024x1024',
      quality: 'low',
      usage: {
        input_tokens: 50,
        input_tokens_details: { text_tokens: 10, image_tokens: 40 },
        output_tokens: 272,
        total_tokens: 322,
      },
    })
    const { events, usage, answerFields, messageFields } = await ask({
      ...userMessage(text('x')),
      n: 2,
    })
    const drawn = { resolution: '1024x1024', quality: 'low' }
    expect(events.filter(({ type }) => type === 'image')).toEqual([
      { type: 'image', choice: 0, url: url(PNG), drawn },
      { type: 'image', choice: 1, url: url(JPEG, 'jpeg'), drawn },
      { type: 'image', choice: 1, url: url(JPEG, 'jpeg'), drawn },
    ])
    expect(messageFields).toEqual({ revised_prompt: 'a cat' })
    expect(answerFields).toMatchObject({ quality: 'low' })
    expect(usage).toMatchObject({ inputTokens: 10, imageInputTokens: 40 })
    expect(usage).toMatchObject({ outputTokens: 0, imageOutputTokens: 272 })
  })

  test('with a URL is fetched, and a failed fetch means no image', async () => {
    answering({
      data: [{ url: 'https://a.example/1' }, { url: 'https://a.example/2' }, { url: 'file:///x' }],
    })
    const fetched = { 'https://a.example/2': Buffer.from(PNG, 'base64') }
    const { images, failure } = await ask(userMessage(text('x')), { model: 'dall-e-3', fetched })
    expect(images).toEqual([url(PNG)])
    expect(failure).toBeNull()
  })

  test.each([[[]], [[{ b64_json: 'AAAA' }]], [[{ b64_json: '' }]], [[null]], ['none']])(
    'of %j holds no image',
    async (data) => {
      answering({ data })
      const { images, finish } = await ask(userMessage(text('x')))
      expect(images).toEqual([])
      expect(finish).toEqual([{ choice: 0, reason: 'stop', native: 'stop' }])
    },
  )

  test.each([
    [400, 'rejected'],
    [401, 'unauthorized'],
    [429, 'overloaded'],
    [500, 'failed'],
  ] as const)('of status %i is a failure: %s', async (status, kind) => {
    answering({ error: { message: 'no', code: 'moderation_blocked' } }, { status })
    expect((await ask(userMessage(text('x')))).failure?.kind).toBe(kind)
  })

  test('with an error in a 200, or that is not JSON, is a failure', async () => {
    answering({ error: { message: 'no' } })
    expect((await ask(userMessage(text('x')))).failure?.kind).toBe('failed')
    answer = () => new Response('<html>')
    expect((await ask(userMessage(text('x')))).failure?.kind).toBe('failed')
  })

  test('of a chat may have its images as URLs, too', async () => {
    const message = {
      role: 'assistant',
      content: '',
      images: [image('https://a.example/1'), image(url(PNG))],
    }
    answering({ choices: [{ index: 0, message, finish_reason: 'stop' }] })
    const fetched = { 'https://a.example/1': Buffer.from(`${PNG}AAAA`, 'base64') }
    const { images } = await ask(userMessage(text('x')), { type: 'openrouter', fetched })
    expect(images).toEqual([url(`${PNG}AAAA`), url(PNG)])
    expect(seen[0]?.path).toBe('/v1/chat/completions')
  })
})

const recorded = recordings().filter(({ family }) => family === 'openai-images')
describe.skipIf(recorded.length === 0)('recorded', () => {
  const requestOf = (name: string): JsonObject => {
    const file = new URL(`../../../../shared/recordings/${name}.json`, import.meta.url)
    return JSON.parse(readFileSync(fileURLToPath(file), 'utf8')).request.body
  }

  test.each(recorded.map(({ name, status }) => [name, status] as const))(
    '%s',
    async (name, status) => {
      const response = readRecording(name)
      answer = () => Response.json(response.body, { status })
      const { model, prompt, size, quality, n } = requestOf(name) as Record<string, string>
      const answered = await ask(
        { ...userMessage(text(prompt!)), image_config: { size, quality } },
        { model: model! },
      )
      // One image is what a model draws by default; models other than GPT must be asked for bytes.
      const format = model!.startsWith('dall-e') ? { response_format: 'b64_json' } : {}
      expect({ ...sent(), n }).toEqual({ ...requestOf(name), ...format })
      const body = response.body as {
        data?: { b64_json: string }[]
        usage?: Record<string, number>
      }
      if (status !== 200) {
        const failure = answered.failure as UpstreamFailure
        expect([failure.kind, failure.message]).toEqual([
          'rejected',
          "Unknown parameter: 'quality'.",
        ])
        return
      }
      expect(answered.images).toEqual(body.data?.map(({ b64_json }) => url(b64_json)))
      expect(answered.usage).toMatchObject({
        inputTokens: body.usage?.['input_tokens'],
        imageOutputTokens: body.usage?.['output_tokens'],
        outputTokens: 0,
      })
    },
  )
})
