/** Errors in the request: bodies, fields, models, paths. */

import { until } from '#test/support/appliance.ts'
import { dial, head } from '#test/support/raw-client.ts'
import { limitOf, type Row } from './case.ts'
import { user, type Visitor } from './visitor.ts'

const PNG = 'data:image/png;base64,iVBORw0KGgo='
const MAX_BODY_BYTES = 32 * 1024 * 1024
const MAX_FORM_BYTES = 1024 * 1024

const images = (...urls: readonly string[]) =>
  user(urls.map((url) => ({ type: 'image_url', image_url: { url } })))

const image = (more: object = {}) => ({
  model: 'demo/image',
  modalities: ['image'],
  stream: false,
  ...more,
})

/** Sends a request with an ordinary key. */
const chat = (more: object, headers?: Record<string, string>) => async (visitor: Visitor) => {
  await visitor.key()
  return await visitor.chat(more, headers)
}

const call =
  (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  async (visitor: Visitor) => {
    await visitor.key()
    return await visitor.call(method, path, body, headers)
  }

/** Sends a request with a provisioning key. */
const manage =
  (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  async (visitor: Visitor) => {
    await visitor.key({ kind: 'provisioning' })
    return await visitor.call(method, path, body, headers)
  }

/** Declares a length and sends no body: a gateway that reads the body first would never answer. */
export async function state(visitor: Visitor, bytes: number): Promise<Response> {
  const { key } = visitor.asking ?? (await visitor.key())
  const client = dial(visitor.scene.gateway.url)
  const headers = { Authorization: `Bearer ${key}`, 'X-Request-Id': visitor.name }
  client.send(head(`${visitor.manner.prefix}/chat/completions`, headers, bytes))
  await until(() => client.closed, 'it is refused, and its connection closed')
  return toResponse(client.received)
}

/** The response that a socket received, as `fetch` would have parsed it. */
function toResponse(received: string): Response {
  const at = received.indexOf('\r\n\r\n')
  const [start = '', ...lines] = received.slice(0, at).split('\r\n')
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
  return new Response(received.slice(at + 4), { status: Number(start.split(' ')[1]), headers })
}

const invalid = (what: string, param: string, more: object) => ({ what, param, ask: chat(more) })

export const REQUESTS = {
  invalid_json: {
    status: 400,
    type: 'invalid_request_error',
    cases: [
      { what: 'truncated JSON', ask: call('POST', '/chat/completions', '{"model":"demo/echo"') },
      { what: 'no body', ask: call('POST', '/chat/completions', '') },
      { what: 'truncated JSON for a key', ask: manage('POST', '/keys', '{"name":') },
    ],
  },
  invalid_request: {
    status: 400,
    type: 'invalid_request_error',
    cases: [
      { what: 'an array', ask: call('POST', '/chat/completions', '[]') },
      invalid('no messages', 'messages', { messages: [] }),
      invalid('an unknown role', 'messages[0].role', { messages: [{ role: 'king' }] }),
      invalid('a stream that is no boolean', 'stream', { stream: 'yes' }),
      invalid('an end user beyond 256 characters', 'user', { user: 'x'.repeat(257) }),
      invalid('a ninth fallback', 'models', { models: Array(9).fill('demo/echo') }),
      invalid('no token at all', 'max_tokens', { max_tokens: 0 }),
      {
        what: 'an invalid Idempotency-Key',
        param: 'Idempotency-Key',
        ask: chat({}, { 'Idempotency-Key': 'x'.repeat(256) }),
      },
      { what: 'a receipt without an id', param: 'id', ask: call('GET', '/generation') },
      {
        what: 'a spend limit that is a number',
        param: 'daily_spend_limit_usd',
        ask: manage('POST', '/keys', { name: 'x', daily_spend_limit_usd: 5 }),
      },
      {
        what: 'a kind of key',
        param: 'kind',
        ask: manage('POST', '/keys', { name: 'x', kind: 'provisioning' }),
      },
      {
        what: 'a request that the provider refuses, with its message',
        param: 'temperature',
        metadata: { provider: 'acme', provider_status: 400 },
        taken: 1,
        words: /acme refused the request: temperature must be at most 1/,
        ask: chat({ model: 'acme/picky' }),
      },
    ],
  },
  unknown_parameter: {
    status: 400,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'a misspelt spend limit',
        param: 'daily_spend_limit',
        words: /did you mean "daily_spend_limit_usd"/,
        ask: manage('POST', '/keys', { name: 'x', daily_spend_limit: '5' }),
      },
      {
        what: 'a field of another product',
        param: 'user_role',
        async ask(visitor) {
          const { id } = await visitor.key()
          await visitor.key({ kind: 'provisioning' })
          return await visitor.call('PATCH', `/keys/${id}`, { user_role: 'admin' })
        },
      },
    ],
  },
  unsupported_parameter: {
    status: 400,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'a service tier with its own price',
        param: 'service_tier',
        ask: chat({ service_tier: 'priority' }),
      },
      {
        what: 'a search of the web',
        param: 'web_search_options',
        ask: chat({ web_search_options: {} }),
      },
      {
        what: 'a tool that the vendor runs',
        param: 'tools[0].type',
        ask: chat({ tools: [{ type: 'web_search' }] }),
      },
      {
        what: 'caching for an hour',
        param: 'messages[0].content[0].cache_control.ttl',
        ask: chat({
          messages: [
            user([{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral', ttl: '1h' } }]),
          ],
        }),
      },
    ],
  },
  image_streaming_not_supported: {
    status: 400,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'a streamed image request (contract §7)',
        param: 'stream',
        ask: chat(image({ stream: true, modalities: ['text', 'image', 'image'] })),
      },
    ],
  },
  unsupported_operation: {
    status: 400,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'an answer from a model that makes vectors',
        param: 'model',
        ask: chat({ model: 'acme/vectors' }),
      },
      {
        what: 'vectors from a model that makes answers',
        param: 'model',
        ask: call('POST', '/embeddings', { model: 'demo/echo', input: 'hi' }),
      },
      {
        what: 'an order of documents from a model that makes vectors',
        param: 'model',
        ask: call('POST', '/rerank', { model: 'acme/vectors', query: 'q', documents: ['a'] }),
      },
      {
        what: 'a message from a model that makes vectors',
        param: 'model',
        ask: call('POST', '/responses', { model: 'acme/vectors', input: 'hi' }),
      },
    ],
  },
  unsupported_modality: {
    status: 400,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'an image from a text model',
        param: 'modalities',
        ask: chat(image({ model: 'demo/echo' })),
      },
      {
        what: 'text from an image model',
        param: 'modalities',
        ask: chat(image({ modalities: ['text'] })),
      },
      { what: 'audio output', param: 'modalities', ask: chat({ modalities: ['audio'] }) },
      {
        what: 'an image to a model without image input',
        param: 'messages',
        ask: chat({ messages: [images(PNG)] }),
      },
    ],
  },
  invalid_image: {
    status: 400,
    type: 'invalid_request_error',
    cases: ['data:image/png;base64,!!!!', 'http://pics.example/a.png', 'file:///etc/passwd'].map(
      (url) => ({
        what: url,
        param: 'messages[0].content[1].image_url.url',
        ask: chat(image({ messages: [images(PNG, url)] })),
      }),
    ),
  },
  too_many_images: {
    status: 400,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'seventeen images',
        param: 'messages',
        metadata: limitOf('input_images', 16, 17),
        ask: chat(image({ messages: [images(...Array<string>(17).fill(PNG))] })),
      },
    ],
  },
  context_length_exceeded: {
    status: 400,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'reported by the provider',
        metadata: { provider: 'acme', provider_status: 400 },
        taken: 1,
        ask: chat({ model: 'acme/short' }),
      },
    ],
  },
  model_not_found: {
    status: 404,
    type: 'not_found_error',
    cases: [
      { what: 'in a chat request', param: 'model', ask: chat({ model: 'acme/none' }) },
      { what: 'in the catalogue', param: 'model', ask: call('GET', '/models/acme/none') },
    ],
  },
  generation_not_found: {
    status: 404,
    type: 'not_found_error',
    cases: [
      {
        what: 'an unknown id',
        param: 'id',
        ask: call('GET', '/generation?id=gen-01k3e5q9zzzzzzzzzzzzzzzzzz'),
      },
      { what: 'an invalid id', param: 'id', ask: call('GET', "/generation?id=gen-'%20OR%201=1") },
    ],
  },
  route_not_found: {
    status: 404,
    type: 'not_found_error',
    cases: [
      // No key is looked up for an unknown path.
      { what: 'an unknown path', ask: (visitor) => visitor.call('GET', '/completions') },
      {
        what: 'an unknown path below a known one',
        ask: (visitor) => visitor.call('POST', '/keys/a/b', {}),
      },
    ],
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'GET on chat completions',
        allow: 'POST, OPTIONS',
        ask: (visitor) => visitor.call('GET', '/chat/completions'),
      },
      {
        what: 'POST on models',
        allow: 'GET, HEAD, OPTIONS',
        ask: (visitor) => visitor.call('POST', '/models', {}),
      },
      {
        what: 'PUT on a key',
        allow: 'GET, PATCH, DELETE, HEAD, OPTIONS',
        ask: (visitor) => visitor.call('PUT', '/keys/key_x', {}),
      },
    ],
  },
  request_too_large: {
    status: 413,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'a Content-Length of one byte more than 32 MiB',
        metadata: limitOf('body_bytes', MAX_BODY_BYTES, MAX_BODY_BYTES + 1),
        connection: 'close',
        ask: (visitor) => state(visitor, MAX_BODY_BYTES + 1),
      },
      {
        what: 'a key beyond 1 MiB',
        metadata: limitOf('body_bytes', MAX_FORM_BYTES, MAX_FORM_BYTES + '{"name":""}'.length),
        connection: 'close',
        ask: manage('POST', '/keys', { name: 'x'.repeat(MAX_FORM_BYTES) }),
      },
    ],
  },
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request_error',
    cases: [
      { 'Content-Type': 'text/plain' },
      { 'Content-Type': 'application/x-www-form-urlencoded' },
      { 'Content-Type': 'application/json; charset=utf-16' },
      { 'Content-Encoding': 'gzip' },
    ].map((headers) => ({ what: JSON.stringify(headers), ask: chat({}, headers) })),
  },
} satisfies Record<string, Row>
