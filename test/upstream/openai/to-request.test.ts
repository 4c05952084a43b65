// The client's body is sent whole, with the provider's name for the model, and only to the operator's URL.
import { describe, expect, test } from 'vitest'
import { toEndpoint } from '#upstream/openai/endpoint.ts'
import { toOpenRouter } from '#upstream/openai/to-openrouter.ts'
import { toRequest } from '#upstream/openai/to-request.ts'
import { call, provider, request } from '../fixtures.ts'

test('the model is renamed, and unknown fields are kept', () => {
  const sent = toRequest(request({ temperature: 0.5, brand_new: { a: [1] } }), 'model-9', 'openai')
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
  const sent = toRequest(request(body, { stream: true }), 'm', 'openai')
  expect(sent['stream']).toBe(true)
  expect(sent['stream_options']).toEqual({ include_usage: true, include_obfuscation: false })
})

test('a provider that reports usage anyway gets no stream options', () => {
  const body = { stream: true, stream_options: { include_usage: true } }
  expect(toRequest(request(body, { stream: true }), 'm', 'mistral')).not.toHaveProperty(
    'stream_options',
  )
})

test('a provider that knows only max_tokens gets the maximum in that field', () => {
  const asked = request({ max_completion_tokens: 7 })
  expect(toRequest(asked, 'm', 'deepseek')).toMatchObject({ max_tokens: 7 })
  expect(toRequest(asked, 'm', 'deepseek')).not.toHaveProperty('max_completion_tokens')
  expect(toRequest(asked, 'm', 'openai')).toMatchObject({ max_completion_tokens: 7 })
  expect(toRequest(request({ max_tokens: 5 }), 'm', 'mistral')).toMatchObject({ max_tokens: 5 })
})

test('a whole answer has no stream options', () => {
  const sent = toRequest(request({ stream_options: { include_usage: true } }), 'm', 'openai')
  expect(sent).not.toHaveProperty('stream_options')
})

describe('to OpenRouter', () => {
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
    expect(toOpenRouter(request({ usage: { other: 1 } }), writes)['usage']).toEqual({
      other: 1,
      include: true,
    })
  })

  test('a model that can draw is told to write, unless images are asked for', () => {
    expect(toOpenRouter(request(), draws)['modalities']).toEqual(['text'])
    expect(toOpenRouter(request(), writes)).not.toHaveProperty('modalities')
    const asked = request({ modalities: ['image', 'text'] }, { wantsImages: true })
    expect(toOpenRouter(asked, draws)['modalities']).toEqual(['image', 'text'])
  })

  test('a file is read by the model itself, or by an engine that costs nothing', () => {
    const free = { id: 'file-parser', pdf: { engine: 'cloudflare-ai' } }
    const asked = request(file, { fileBytes: 4 })
    expect(toOpenRouter(asked, writes)['plugins']).toEqual([free])
    const healed = request({ ...file, plugins: [{ id: 'response-healing' }] }, { fileBytes: 4 })
    expect(toOpenRouter(healed, writes)['plugins']).toEqual([{ id: 'response-healing' }, free])
    const stated = { id: 'file-parser', pdf: { engine: 'native' } }
    const chosen = request({ ...file, plugins: [stated] }, { fileBytes: 4 })
    expect(toOpenRouter(chosen, writes)['plugins']).toEqual([stated])
    const reads = { ...writes, inputModalities: ['text', 'file'] as const }
    expect(toOpenRouter(asked, reads)).not.toHaveProperty('plugins')
    expect(toOpenRouter(request(), writes)).not.toHaveProperty('plugins')
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
