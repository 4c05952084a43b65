// The client's body is sent whole, with the provider's name for the model, and only to the operator's URL.
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import type { ModelCard } from '#domain/model-card.ts'
import { PROVIDER_PRESETS, type ProviderType } from '#domain/provider.ts'
import type { Work } from '#domain/work.ts'
import { toEndpoint } from '#upstream/openai/endpoint.ts'
import { toOpenRouter } from '#upstream/openai/to-openrouter.ts'
import { toRequest } from '#upstream/openai/to-request.ts'
import { asked, call, provider, request } from '../fixtures.ts'

test('the model is renamed, and unknown fields are kept', () => {
  const sent = toRequest(
    call({ request: request({ temperature: 0.5, brand_new: { a: [1] } }), type: 'openai' }),
  )
  expect(sent).toEqual({
    model: 'model-9',
    messages: [{ role: 'user', content: 'hi' }],
    temperature: 0.5,
    brand_new: { a: [1] },
  })
})

test('a stream always asks for its usage, beside what the client asked', () => {
  const body = {
    stream: true,
    stream_options: { include_usage: false, include_obfuscation: false },
  }
  const sent = toRequest(call({ request: request(body, { stream: true }), type: 'openai' }))
  expect(sent['stream']).toBe(true)
  expect(sent['stream_options']).toEqual({ include_usage: true, include_obfuscation: false })
})

test('a provider that reports usage anyway gets no stream options', () => {
  const body = { stream: true, stream_options: { include_usage: true } }
  expect(
    toRequest(call({ request: request(body, { stream: true }), type: 'mistral' })),
  ).not.toHaveProperty('stream_options')
})

const bounded = (
  type: ProviderType,
  maxOutputTokens: number | null,
  body: JsonObject = {},
  baseUrl = PROVIDER_PRESETS[type].baseUrl ?? 'https://llm.example/v1',
) => {
  const { hop, ...rest } = call({ type, maxOutputTokens, request: request(body) })
  const { max_tokens, max_completion_tokens, n_predict } = toRequest({
    ...rest,
    hop: { ...hop, provider: provider(baseUrl, type) },
  })
  return { max_tokens, max_completion_tokens, n_predict }
}

test.each<[ProviderType, JsonObject]>([
  ['deepseek', { max_tokens: 7 }],
  ['mistral', { max_tokens: 7 }],
  ['openrouter', { max_completion_tokens: 7 }],
  ['openai', { max_completion_tokens: 7 }],
  ['azure', { max_completion_tokens: 7 }],
  ['groq', { max_completion_tokens: 7 }],
  ['xai', { max_completion_tokens: 7 }],
  ['openai-compatible', { max_tokens: 7, max_completion_tokens: 7 }],
])('%s gets the bound of the call in its own word, never the client’s: %j', (type, bound) => {
  for (const stated of [
    {},
    { max_tokens: 9 },
    { max_completion_tokens: 9 },
    { max_tokens: 5, max_completion_tokens: 9 },
    { n_predict: 9 },
    { n_predict: -1 },
  ]) {
    expect(bounded(type, 7, stated)).toEqual(bound)
  }
  // Another server of that type may know another word; a regional address is the vendor's.
  const both = type === 'azure' ? bound : { max_tokens: 7, max_completion_tokens: 7 }
  expect(bounded(type, 7, {}, 'http://127.0.0.1:8000/v1')).toEqual(both)
  const regional = PROVIDER_PRESETS[type].baseUrl?.replace('https://', 'https://eu.')
  expect(bounded(type, 7, {}, regional)).toEqual(bound)
  expect(bounded(type, null, { max_tokens: 5, max_completion_tokens: 9 })).toEqual({})
  // It overrides `max_tokens` at llama.cpp, but not beyond the bound.
  expect(bounded(type, 7, { n_predict: 3 })).toEqual({ ...bound, n_predict: 3 })
})

test('a whole answer has no stream options', () => {
  const sent = toRequest(
    call({ request: request({ stream_options: { include_usage: true } }), type: 'openai' }),
  )
  expect(sent).not.toHaveProperty('stream_options')
})

describe('to OpenRouter', () => {
  const open = (wish: Work, card: ModelCard) => toOpenRouter(asked(wish, card, 'openrouter'))
  const draws = call().hop.card
  const writes = { ...draws, outputModalities: ['text'] as const }
  const file = {
    messages: [
      {
        role: 'user',
        content: [{ type: 'file', file: { file_data: 'data:application/pdf;base64,AA==' } }],
      },
    ],
  }

  test('its own accounting is asked for', () => {
    expect(open(request({ usage: { other: 1 } }), writes)['usage']).toEqual({
      other: 1,
      include: true,
    })
  })

  test('a model that can draw is told to write, unless images are asked for', () => {
    expect(open(request(), draws)['modalities']).toEqual(['text'])
    expect(open(request(), writes)).not.toHaveProperty('modalities')
    const wish = request({ modalities: ['image', 'text'] }, { wantsImages: true })
    expect(open(wish, draws)['modalities']).toEqual(['image', 'text'])
  })

  test('a file is read by the model itself, or by an engine that costs nothing', () => {
    const free = { id: 'file-parser', pdf: { engine: 'cloudflare-ai' } }
    const wish = request(file, { isUnbounded: true })
    expect(open(wish, writes)['plugins']).toEqual([free])
    const healed = request(
      { ...file, plugins: [{ id: 'response-healing' }] },
      { isUnbounded: true },
    )
    expect(open(healed, writes)['plugins']).toEqual([{ id: 'response-healing' }, free])
    const stated = { id: 'file-parser', pdf: { engine: 'native' } }
    const chosen = request({ ...file, plugins: [stated] }, { isUnbounded: true })
    expect(open(chosen, writes)['plugins']).toEqual([stated])
    const reads = { ...writes, inputModalities: ['text', 'file'] as const }
    expect(open(wish, reads)).not.toHaveProperty('plugins')
    expect(open(request(), writes)).not.toHaveProperty('plugins')
  })
})

test.each([
  ['https://llm.example/v1', 'https://llm.example/v1/chat/completions'],
  ['https://llm.example/v1/', 'https://llm.example/v1/chat/completions'],
  ['http://127.0.0.1:11434', 'http://127.0.0.1:11434/chat/completions'],
  [
    'https://x.example/openai/deployments/d?api-version=2026-01-01',
    'https://x.example/openai/deployments/d/chat/completions?api-version=2026-01-01',
  ],
  ['https://llm.example/v1/chat/completions', 'https://llm.example/v1/chat/completions'],
])('the path is inserted before the query: %s', (baseUrl, url) => {
  expect(toEndpoint(provider(baseUrl), null).url).toBe(url)
})

test("the credential is sent in the provider's own header", () => {
  const base = 'https://llm.example/v1'
  expect(toEndpoint(provider(base, 'openai'), 's').auth).toEqual({ authorization: 'Bearer s' })
  expect(toEndpoint(provider(base, 'azure'), 's').auth).toEqual({ 'api-key': 's' })
  expect(toEndpoint(provider(base), null).auth).toEqual({})
})

test.each(['file:///etc/passwd', 'data:text/plain,x', 'llm.example', ''])(
  'no address: %s',
  (baseUrl) => {
    expect(() => toEndpoint(provider(baseUrl), null)).toThrow('not an http address')
  },
)
