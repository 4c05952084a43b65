// Parsing a chat request: strict about the fields that the gateway understands, and passing on the rest (contract §7).

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import { checkExtras } from '#domain/extras.ts'
import { newSecret } from '#domain/secret.ts'
import { JsonBody } from '#http/read/body.ts'
import { chatForm, isOrdinary, readChatRequest } from '#http/surfaces/chat/read-request.ts'
import { aPriceList } from '#test/support/nouns.ts'
import { FULL } from '#test/support/tier.ts'

const SECRET = newSecret()
/** Of a thousand bytes, or more. */
function read(fields: JsonObject) {
  const text = JSON.stringify(fields)
  return readChatRequest(
    new JsonBody(text + ' '.repeat(Math.max(0, 1_000 - Buffer.byteLength(text)))),
  )
}
const says = (content: unknown, role = 'user') => ({ messages: [{ role, content }] })
const ask = (more: JsonObject = {}) => read({ model: 'acme/one', ...says('hi'), ...more })

/** A card without a price for any extra is where some of them are refused. */
const refusal = (more: JsonObject): readonly [string, string | undefined] => {
  try {
    checkExtras(ask(more).extras ?? [], 'acme/one', aPriceList())
  } catch (thrown) {
    if (thrown instanceof GatewayError) return [thrown.code, thrown.details.param]
    throw thrown
  }
  return ['ok', undefined]
}

const refused = (read: () => unknown): GatewayError => {
  try {
    read()
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
  throw new Error('it was read')
}

test('the smallest valid request', () => {
  expect(ask()).toEqual({
    kind: 'generate',
    dialect: 'chat',
    conversation: expect.any(Function),
    reasoning: null,
    model: 'acme/one',
    body: { model: 'acme/one', messages: [{ role: 'user', content: 'hi' }] },
    stream: false,
    includeUsage: true,
    wantsImages: false,
    image: { resolution: undefined, quality: undefined },
    endUser: null,
    choices: 1,
    maxOutputTokens: null,
    textBytes: 1_000,
    inputImages: 0,
    allowFallbacks: true,
  })
})

test('null means absent, and is not passed on', () => {
  const names = [
    'stream',
    'n',
    'user',
    'max_tokens',
    'tools',
    'modalities',
    'provider',
    'models',
    'stream_options',
    'image_config',
    'temperature',
    'allow_fallbacks',
  ]
  expect(ask(Object.fromEntries(names.map((name) => [name, null])))).toEqual(ask())
})

test('unknown fields are passed on unchanged', () => {
  const unknown = {
    tools: [{ type: 'function' }],
    reasoning_effort: 'low',
    logit_bias: { 1: 2 },
    x_new: { deep: [1] },
  }
  expect(ask(unknown).body).toMatchObject(unknown)
})

test('routing fields are for the gateway, and are not passed on', () => {
  const request = ask({
    allow_fallbacks: true,
    models: ['acme/two'],
    provider: {
      allow_fallbacks: false,
      order: ['acme'],
      only: ['acme'],
      ignore: ['b'],
      sort: 'price',
    },
  })
  expect(Object.keys(request.body)).toEqual(['model', 'messages'])
  expect(request.allowFallbacks).toBe(true)
  expect(ask({ provider: { allow_fallbacks: false } }).allowFallbacks).toBe(false)
})

test('a body cannot set a prototype', () => {
  const fields = JSON.parse(
    `{"model":"a/b","messages":[{"role":"user","content":"x"}],"__proto__":{"stream":true,"evil":1}}`,
  )
  const request = read(fields)
  expect(request.stream).toBe(false)
  expect(Object.getPrototypeOf(request.body)).toBe(Object.prototype)
  expect(Object.keys(request.body)).toEqual(['model', 'messages'])
  expect(({} as Record<string, unknown>)['evil']).toBeUndefined()
})

describe('modalities', () => {
  test.each([
    [['image'], true],
    [['image', 'text'], true],
    [['text', 'image', 'image'], true],
    [['text'], false],
    [[], false],
  ])('%j', (modalities, wantsImages) => {
    const request = ask({ modalities })
    expect(request.wantsImages).toBe(wantsImages)
    expect('modalities' in request.body).toBe(wantsImages)
  })

  test('audio is not supported', () => {
    expect(refusal({ modalities: ['text', 'audio'] })).toEqual([
      'unsupported_modality',
      'modalities',
    ])
    expect(refusal({ modalities: 'image' })).toEqual(['invalid_request', 'modalities'])
  })
})

describe('a field that the vendor bills beside the price on the card', () => {
  const tool = (more: JsonObject) => ({
    tools: [{ type: 'function', function: { name: 'f' } }, more],
  })
  const long = { cache_control: { type: 'ephemeral', ttl: '1h' } }

  test.each<[JsonObject, string]>([
    ...['priority', 'flex', 'scale', 'performance', ''].map(
      (service_tier): [JsonObject, string] => [{ service_tier }, 'service_tier'],
    ),
    [{ speed: 'fast' }, 'speed'],
    [{ inference_geo: 'us' }, 'inference_geo'],
    [{ web_search_options: {} }, 'web_search_options'],
    [
      { web_search_options: { search_context_size: 'high' } },
      'web_search_options.search_context_size',
    ],
    [{ search_parameters: { mode: 'auto' } }, 'search_parameters'],
    [{ enable_search: true }, 'enable_search'],
    [{ venice_parameters: { enable_web_search: 'auto' } }, 'venice_parameters.enable_web_search'],
    [{ plugins: [{ id: 'response-healing' }, { id: 'web' }] }, 'plugins[1]'],
    [{ plugins: [{ id: 'file-parser' }] }, 'plugins[0]'],
    [{ plugins: [{ id: 'file-parser', pdf: { engine: 'mistral-ocr' } }] }, 'plugins[0]'],
    [{ plugins: ['plugin_web_search'] }, 'plugins[0]'],
    ...[
      'web_search',
      'web_search_preview',
      'openrouter:web_search',
      'builtin_function',
      'mcp',
      'code_interpreter',
    ].map((type): [JsonObject, string] => [
      tool({ type, function: { name: '$web_search' } }),
      'tools[1].type',
    ]),
    [tool({ google_search: {} }), 'tools[1]'],
    [{ data_sources: [{ type: 'azure_search' }] }, 'data_sources'],
    [{ prediction: { type: 'content', content: 'x' } }, 'prediction'],
    [{ image_config: { font_inputs: [{}] } }, 'image_config.font_inputs'],
    [{ extra_body: { plugins: [{ id: 'web' }] } }, 'extra_body.plugins[0]'],
    [long, 'cache_control.ttl'],
    [tool({ type: 'function', function: { name: 'g' }, ...long }), 'tools[1].cache_control.ttl'],
    [{ messages: [{ role: 'user', content: 'hi', ...long }] }, 'messages[0].cache_control.ttl'],
    [says([{ type: 'text', text: 'hi', ...long }]), 'messages[0].content[0].cache_control.ttl'],
  ])('%j is refused, and named', (more, param) => {
    expect(refusal(more)).toEqual(['unsupported_parameter', param])
  })

  test.each<JsonObject>([
    { service_tier: 'auto' },
    { service_tier: 'default' },
    { service_tier: 'standard_only' },
    { speed: 'standard' },
    { search_parameters: { mode: 'off' } },
    { enable_search: false },
    { plugins: [] },
    {
      plugins: [
        { id: 'web', enabled: false },
        { id: 'file-parser', pdf: { engine: 'native' } },
      ],
    },
    { tools: [{ type: 'custom', custom: { name: 'c' } }, { function: { name: 'f' } }] },
    { cache_control: { type: 'ephemeral', ttl: '5m' } },
    says([{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }]),
    { image_config: { aspect_ratio: '1:1', font_inputs: null } },
  ])('%j costs nothing extra, and passes', (more) => {
    expect(ask(more).body).toMatchObject(more)
    expect(ask(more).extras).toBeUndefined()
  })

  test('null means absent', () => {
    const none = { service_tier: null, web_search_options: null, tools: null, plugins: null }
    expect(ask(none)).toEqual(ask())
  })
})

test('the fields that determine the hold', () => {
  expect(ask({ max_tokens: 5 }).maxOutputTokens).toBe(5)
  expect(ask({ max_tokens: 5, max_completion_tokens: 7 }).maxOutputTokens).toBe(7)
  expect(ask({ max_tokens: 5, max_completion_tokens: null }).body).toMatchObject({ max_tokens: 5 })
  expect(ask({ n: 3 }).choices).toBe(3)
  for (const field of ['max_tokens', 'max_completion_tokens', 'n']) {
    for (const value of [0, -1, 1.5, 2 ** 31, '5', true, [], {}]) {
      expect([value, ...refusal({ [field]: value })]).toEqual([value, 'invalid_request', field])
    }
  }
})

test.each([
  ['an address', { type: 'file', file: { file_data: 'https://example.org/a.pdf' } }, true, 0],
  ['a film', { type: 'video_url', video_url: { url: 'https://example.org/a.mp4' } }, true, 0],
  ['a file', { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } }, true, 32],
  ['a sound', { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }, true, 4],
  ['words', { type: 'refusal', refusal: 'no' }, undefined, 0],
] as const)('how large is what a part brings: %s', (_, part, isUnbounded, fileBytes) => {
  const request = ask({ messages: [{ role: 'user', content: [part] }] })
  expect([request.isUnbounded, request.fileBytes ?? 0]).toEqual([isUnbounded, fileBytes])
})

describe('what names an object of the operator at a provider', () => {
  const part = (sent: JsonObject, role = 'user') =>
    says([{ type: 'text', text: 'see' }, sent], role)
  const answer = (more: object) => ({ messages: [{ role: 'assistant', content: null, ...more }] })
  const hosted = (more: object) => ({ tools: [{ type: 'file_search', ...more }] })
  const at = 'messages[0].content[1]'
  test.each<[JsonObject, string]>([
    [part({ type: 'file', file: { file_id: 'file-1' } }), `${at}.file.file_id`],
    [part({ type: 'file', file: { file_id: 'file-1' } }, 'system'), `${at}.file.file_id`],
    [part({ type: 'file', file: { file_id: 'file-1' } }, 'tool'), `${at}.file.file_id`],
    [part({ type: 'file', file_id: 'file-1' }), `${at}.file_id`],
    [part({ type: 'image_file', image_file: { file_id: 'file-1' } }), `${at}.image_file.file_id`],
    [part({ type: 'file', file: { file_data: 'gs://bucket/a.pdf' } }), `${at}.file.file_data`],
    [part({ type: 'video_url', video_url: { url: 'ms://file-1' } }), `${at}.video_url.url`],
    [part({ type: 'video_url', video_url: { url: 'file:///films/a.mp4' } }), `${at}.video_url.url`],
    [part({ type: 'document_url', document_url: 's3://bucket/a.pdf' }), `${at}.document_url`],
    ...['', 'x@', '.', ':443'].map((more): [JsonObject, string] => {
      const host = 'generativelanguage.googleapis.com'
      const [before, after] = more === 'x@' ? [more, ''] : ['', more]
      const url = `https://${before}${host}${after}/v1beta/files/abc`
      return [part({ type: 'image_url', image_url: { url } }), `${at}.image_url.url`]
    }),
    [answer({ audio: { id: 'audio_1' } }), 'messages[0].audio.id'],
    [
      answer({
        images: [
          {
            type: 'image_url',
            image_url: { url: 'https://generativelanguage.googleapis.com/v1beta/files/abc' },
          },
        ],
      }),
      'messages[0].images[0].image_url.url',
    ],
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ conversation: { id: 'conv_1' } }, 'conversation'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
    [{ container: { id: 'c' } }, 'container'],
    [{ cached_content: 'cachedContents/1' }, 'cached_content'],
    [
      { extra_body: { google: { cached_content: 'cachedContents/1' } } },
      'extra_body.google.cached_content',
    ],
    [{ vector_store_ids: ['vs_1'] }, 'vector_store_ids'],
    [{ file_ids: ['file-1'] }, 'file_ids'],
    [hosted({ vector_store_ids: ['vs_1'] }), 'tools[0].vector_store_ids'],
    [hosted({ retrieval: { knowledge_id: '1' } }), 'tools[0].retrieval.knowledge_id'],
    [hosted({ container: 'cntr_1' }), 'tools[0].container'],
    [hosted({ container: { file_ids: ['file-1'] } }), 'tools[0].container.file_ids'],
  ])('%j is refused, whatever has a price', (more, param) => {
    const thrown = refused(() => ask(more))
    expect([thrown.code, thrown.details.param]).toEqual(['unsupported_parameter', param])
    expect(thrown.message).toContain("belongs to the operator's account there; ")
  })

  test.each<JsonObject>([
    part({ type: 'file', file: { file_id: null, file_data: 'data:application/pdf;base64,AAAA' } }),
    part({ type: 'file', file: { file_data: 'JVBERi0=' } }),
    part({ type: 'video_url', video_url: { url: 'http://127.0.0.1/a.mp4' } }),
    part({
      type: 'image_url',
      image_url: { url: 'https://example.org/generativelanguage.googleapis.com' },
    }),
    answer({ audio: null }),
    { prompt: 'a text', cached_content: null },
    { tools: [{ type: 'function', function: { name: 'f', parameters: { file_id: {} } } }] },
  ])('%j is not', (more) => {
    expect(refusal(more)).toEqual(['ok', undefined])
  })
})

test('image_config is read into the image options', () => {
  expect(
    ask({ image_config: { size: '1024x1024', quality: 'high', aspect_ratio: '1:1' } }).image,
  ).toEqual({ resolution: '1024x1024', quality: 'high' })
  expect(refusal({ image_config: { size: 5 } })).toEqual(['invalid_request', 'image_config.size'])
})

test.each(['size', 'image_size', 'resolution'])(
  'image_config.%s is the size that is charged and the one that is sent',
  (name) => {
    const asked = ask({ image_config: { [name]: '4K' } })
    expect(asked.image.resolution).toBe('4K')
    expect(asked.conversation().drawing.size).toBe('4K')
  },
)

test.each([
  ['size', 'image_size'],
  ['size', 'resolution'],
  ['image_size', 'resolution'],
])('%s and %s are one size: two that differ are refused by both names', (one, other) => {
  expect(ask({ image_config: { [one]: '1K', [other]: '1K' } }).image.resolution).toBe('1K')
  const differing = { image_config: { [one]: '1K', [other]: '4K' } }
  expect(refusal(differing)).toEqual(['invalid_request', `image_config.${other}`])
  expect(() => ask(differing)).toThrow(`image_config.${one} and image_config.${other}`)
})

const image = (url: unknown) => ({ type: 'image_url', image_url: { url } })
const PIXEL = 'data:image/png;base64,iVBORw0KGgo='

describe('messages', () => {
  test.each<[string, JsonObject, string]>([
    ['no messages', { messages: undefined }, 'messages'],
    ['no list', { messages: {} }, 'messages'],
    ['an empty list', { messages: [] }, 'messages'],
    ['too many', { messages: Array(10_001).fill({ role: 'user', content: '' }) }, 'messages'],
    ['no object', { messages: ['hi'] }, 'messages[0]'],
    ['null', { messages: [null] }, 'messages[0]'],
    ['a list as message', { messages: [[]] }, 'messages[0]'],
    ['no role', { messages: [{ content: 'x' }] }, 'messages[0].role'],
    ['a strange role', says('x', 'root'), 'messages[0].role'],
    ['a role from the prototype', says('x', 'constructor'), 'messages[0].role'],
    ['no content', { messages: [{ role: 'user' }] }, 'messages[0].content'],
    ['null content of a user', says(null), 'messages[0].content'],
    ['a number as content', says(5), 'messages[0].content'],
    ['a part that is text', says(['x']), 'messages[0].content[0]'],
    ['a part without type', says([{ text: 'x' }]), 'messages[0].content[0].type'],
    [
      'text that is none',
      says([{ type: 'text', text: 'a' }, { type: 'text' }]),
      'messages[0].content[1].text',
    ],
    [
      'an image that is text',
      says([{ type: 'image_url', image_url: PIXEL }]),
      'messages[0].content[0].image_url',
    ],
    ['an image without address', says([image(undefined)]), 'messages[0].content[0].image_url.url'],
  ])('%s', (_, more, param) => {
    expect(refusal(more)).toEqual(['invalid_request', param])
  })

  test('a missing required field is reported as required', () => {
    expect(() => read(says('hi'))).toThrow('model: is required')
    expect(() => read({ model: 'acme/one' })).toThrow('messages: is required')
    expect(() => ask({ model: null })).toThrow('model: Invalid input: expected string')
  })

  test('a number that is none of those it may be is told which it may be', () => {
    expect(() => ask({ max_tokens: 1.5 })).toThrow(/^max_tokens: must be an integer$/)
    expect(() => ask({ max_tokens: 0 })).toThrow(/^max_tokens: must be at least 1$/)
    // The same bound as of a number that is just too large, and not that of all integers.
    for (const huge of [2 ** 31, Number.MAX_SAFE_INTEGER, 1e18]) {
      expect(() => ask({ max_tokens: huge })).toThrow(/^max_tokens: must be at most 2147483647$/)
    }
    expect(() => ask({ max_tokens: -1e18 })).toThrow(/^max_tokens: must be at least 1$/)
    expect(() => ask({ n: 2 ** 31 })).toThrow(/^n: must be at most \d+$/)
  })

  test('every role, every kind of content, and unknown content parts', () => {
    const messages = [
      { role: 'system', content: 's' },
      {
        role: 'developer',
        content: [{ type: 'text', text: 'd', cache_control: { type: 'ephemeral' } }],
      },
      {
        role: 'user',
        content: [
          { type: 'input_audio', input_audio: {} },
          image('https://example.org/a.png'),
          image(PIXEL),
        ],
      },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c' }] },
      { role: 'assistant', tool_calls: [{ id: 'c' }] },
      { role: 'tool', tool_call_id: 'c', content: 't' },
    ]
    const request = ask({ messages })
    expect(request.body['messages']).toEqual(messages)
    expect(request.inputImages).toBe(2)
  })
})

describe('images', () => {
  test.each([
    'http://example.org/a.png',
    'file:///etc/passwd',
    'https://',
    'javascript:alert(1)',
    'data:text/html;base64,aGk=',
    'data:image/png,plain',
    'data:image/png;base64,',
    'data:image/png;base64,a',
    'data:image/png;base64,%%%%',
    'data:image/png;base64,iVBORw0KGgo=iVBO',
    '',
  ])('%s is not an image', (url) => {
    expect(refusal(says([{ type: 'text', text: 'x' }, image(url)]))).toEqual([
      'invalid_image',
      'messages[0].content[1].image_url.url',
    ])
  })

  test('sixteen at most, over all messages', () => {
    const messages = (count: number) =>
      Array.from({ length: count }, () => ({ role: 'user', content: [image(PIXEL)] }))
    expect(ask({ messages: messages(16) }).inputImages).toBe(16)
    expect(refusal({ messages: messages(17) })[0]).toBe('too_many_images')
  })
})

describe('images of earlier answers', () => {
  const answer = (...urls: unknown[]) => ({
    role: 'assistant',
    content: '',
    images: urls.map((url, index) => ({ ...image(url), index })),
  })
  const withEarlier = (...messages: unknown[]) =>
    ask({
      messages: [
        { role: 'user', content: 'a cat' },
        ...messages,
        { role: 'user', content: 'in blue' },
      ],
    })
  const base64 = (url: string) => url.length - url.indexOf(',') - 1

  test('count as images, not as text', () => {
    const read = withEarlier(answer(PIXEL, PIXEL), answer('https://example.org/a.png'))
    expect(read).toMatchObject({ inputImages: 3, earlierImages: 3 })
    expect(read.textBytes).toBe(1_000 - 2 * base64(PIXEL))
    const both = withEarlier(answer(PIXEL), { role: 'user', content: [image(PIXEL)] })
    expect(both).toMatchObject({ inputImages: 2, earlierImages: 1 })
    expect(both.textBytes).toBe(1_000 - 2 * base64(PIXEL))
    expect(withEarlier(answer())).not.toHaveProperty('earlierImages')
  })

  test('are passed on unchanged', () => {
    const message = answer(PIXEL)
    expect(withEarlier(message).body['messages']).toContainEqual(message)
  })

  test('may exceed the number that a client may send itself', () => {
    const answers = Array.from({ length: 40 }, () => answer(PIXEL))
    expect(withEarlier(...answers)).toMatchObject({ inputImages: 40, earlierImages: 40 })
    const own = { role: 'user', content: Array.from({ length: 16 }, () => image(PIXEL)) }
    expect(withEarlier(...answers, own).inputImages).toBe(56)
    const one = { role: 'user', content: [image(PIXEL)] }
    expect(refusal({ messages: [...answers, own, one] })[0]).toBe('too_many_images')
  })

  test.each([
    ['no base64', answer('data:image/png;base64,a b c')],
    ['text that says it is an image', answer(`data:image/png;base64,${'é'.repeat(8)}`)],
    ['another address', answer('http://example.org/a.png')],
    ['no address', answer(undefined, 5, null)],
    [
      'no parts',
      { role: 'assistant', content: '', images: [PIXEL, null, 5, { image_url: PIXEL }] },
    ],
    ['no list', { role: 'assistant', content: '', images: PIXEL }],
    ['another role', { ...answer(PIXEL), role: 'user' }],
  ])('%s is ordinary text, and no error', (_, message) => {
    const read = withEarlier(message)
    expect(read).toMatchObject({ inputImages: 0, textBytes: 1_000 })
    expect(read).not.toHaveProperty('earlierImages')
  })
})

test.each<[JsonObject, string]>([
  [{ model: undefined }, 'model'],
  [{ model: 5 }, 'model'],
  [{ model: 'x'.repeat(257) }, 'model'],
  [{ stream: 'true' }, 'stream'],
  [{ stream: 1 }, 'stream'],
  [{ stream_options: [] }, 'stream_options'],
  [{ stream_options: { include_usage: 'yes' } }, 'stream_options.include_usage'],
  [{ user: 'x'.repeat(257) }, 'user'],
  [{ user: SECRET }, 'user'],
  [{ user: `Bearer ${SECRET}`, image_config: {} }, 'user'],
  [{ safety_identifier: SECRET }, 'safety_identifier'],
  [{ model: `acme/${SECRET}` }, 'model'],
  [{ temperature: 'hot' }, 'temperature'],
  [{ allow_fallbacks: 'no' }, 'allow_fallbacks'],
  [{ provider: { order: 'acme' } }, 'provider.order'],
  [{ models: ['a', 5] }, 'models[1]'],
  [{ models: Array(9).fill('a/b') }, 'models'],
])('%j is refused, naming its field', (more, param) => {
  expect(refusal(more)).toEqual(['invalid_request', param])
})

test('an end user’s name may resemble an API key', () => {
  const user = `if-${'a'.repeat(49)}`
  expect(ask({ user }).endUser).toBe(user)
})

test('an end user is named by `user`, else by `safety_identifier`', () => {
  expect(ask({ safety_identifier: 's' }).endUser).toBe('s')
  expect(ask({ user: null, safety_identifier: 's' }).endUser).toBe('s')
  expect(ask({ user: 'u', safety_identifier: 's' }).endUser).toBe('u')
})

describe('an ordinary request', () => {
  const value = fc.oneof(
    fc.constantFrom<unknown>(null, true, false, 0, 1, 1.5, -1, 128, 129, 2 ** 31 - 1, 2 ** 31),
    fc.constantFrom<unknown>(Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 1e300, undefined),
    fc.constantFrom<unknown>('', 'a', 'x'.repeat(256), 'x'.repeat(257), [], ['text'], {}, [[]]),
    fc.constantFrom<unknown>({ include_usage: false }, { size: '1K' }, { order: ['a'] }),
  )
  const names = [...Object.keys(chatForm.shape), 'seed', 'tools', '__proto__', 'toString']
  const fields = fc
    .tuple(fc.array(fc.tuple(fc.constantFrom(...names), value)), fc.boolean())
    .map(([pairs, named]) =>
      Object.fromEntries(named ? [...pairs, ['model', 'a'], ['messages', []]] : pairs),
    )

  test('is accepted by the schema, and is parsed to itself', () => {
    fc.assert(
      fc.property(fields, (body) => {
        if (!isOrdinary(body)) return
        const known = Object.entries(body).filter(([name]) => Object.hasOwn(chatForm.shape, name))
        expect(chatForm.safeParse(body)).toEqual({
          success: true,
          data: Object.fromEntries(known),
        })
      }),
      { numRuns: FULL ? 5_000 : 250 },
    )
  })

  test.each([
    [{ model: 'a', messages: [] }],
    [{ model: 'a', messages: [], stream: true, temperature: 0.7, max_tokens: 100, seed: 1 }],
    [{ model: 'a', messages: [], n: 2, user: 'u', top_p: 1, tools: [{}] }],
  ])('%j', (body) => {
    expect(isOrdinary(body)).toBe(true)
  })
})

test('a long body keeps its source text, a short one does not', () => {
  const fields = { model: 'acme/one', ...says('hi') }
  const text = JSON.stringify(fields)
  expect(readChatRequest(new JsonBody(text.padEnd(2_047)))).not.toHaveProperty('source')
  const { source, body } = readChatRequest(new JsonBody(text.padEnd(2_048)))
  expect(source?.text).toBe(text.padEnd(2_048))
  expect(source?.exact).toBe(body)
})
