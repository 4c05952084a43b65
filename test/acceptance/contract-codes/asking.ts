/** What the caller asked wrongly: bodies, fields, models, addresses. */

import { until } from '#test/support/appliance.ts'
import { dial } from '#test/support/raw-client.ts'
import { limitOf, type Row } from './case.ts'
import { user, type Visitor } from './visitor.ts'

const PNG = 'data:image/png;base64,iVBORw0KGgo='
const MAX_BODY_BYTES = 32 * 1024 * 1024
const MAX_FORM_BYTES = 1024 * 1024

const pictures = (...urls: readonly string[]) =>
  user(urls.map((url) => ({ type: 'image_url', image_url: { url } })))

const picture = (more: object = {}) => ({
  model: 'demo/image',
  modalities: ['image'],
  stream: false,
  ...more,
})

/** Asks as an ordinary key. */
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

/** Asks as a provisioning key. */
const manage =
  (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  async (visitor: Visitor) => {
    await visitor.key({ kind: 'provisioning' })
    return await visitor.call(method, path, body, headers)
  }

/** States a length and sends nothing of it: a refusal that reads the body first would never come. */
async function state(visitor: Visitor, bytes: number): Promise<Response> {
  const { key } = await visitor.key()
  const client = dial(visitor.scene.gateway.url)
  client.send(
    [
      `POST ${visitor.manner.prefix}/chat/completions HTTP/1.1`,
      'Host: gateway.test',
      `Authorization: Bearer ${key}`,
      `X-Request-Id: ${visitor.name}`,
      'Content-Type: application/json',
      `Content-Length: ${bytes}`,
      '\r\n',
    ].join('\r\n'),
  )
  await until(() => client.closed, 'it is refused, and its connection closed')
  return toResponse(client.received)
}

/** What a socket received, as `fetch` would have read it. */
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

export const ASKING = {
  invalid_json: {
    status: 400,
    type: 'invalid_request_error',
    cases: [
      { what: 'half a body', ask: call('POST', '/chat/completions', '{"model":"demo/echo"') },
      { what: 'no body', ask: call('POST', '/chat/completions', '') },
      { what: 'half a record of a key', ask: manage('POST', '/keys', '{"name":') },
    ],
  },
  invalid_request: {
    status: 400,
    type: 'invalid_request_error',
    cases: [
      { what: 'a list', ask: call('POST', '/chat/completions', '[]') },
      invalid('no messages', 'messages', { messages: [] }),
      invalid('a role that nobody has', 'messages[0].role', { messages: [{ role: 'king' }] }),
      invalid('a stream that is no boolean', 'stream', { stream: 'yes' }),
      invalid('an end user beyond 256 characters', 'user', { user: 'x'.repeat(257) }),
      invalid('a ninth fallback', 'models', { models: Array(9).fill('demo/echo') }),
      invalid('no token at all', 'max_tokens', { max_tokens: 0 }),
      {
        what: 'an Idempotency-Key that is none',
        param: 'Idempotency-Key',
        ask: chat({}, { 'Idempotency-Key': 'x'.repeat(256) }),
      },
      { what: 'no id of a receipt', param: 'id', ask: call('GET', '/generation') },
      {
        what: 'a ceiling that is a number',
        param: 'daily_spend_limit_usd',
        ask: manage('POST', '/keys', { name: 'x', daily_spend_limit_usd: 5 }),
      },
      {
        what: 'a kind of key',
        param: 'kind',
        ask: manage('POST', '/keys', { name: 'x', kind: 'provisioning' }),
      },
      {
        what: 'what the provider itself refuses, in its own words',
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
        what: 'a misspelt budget',
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
  image_streaming_not_supported: {
    status: 400,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'pictures in a stream (spec §4.2, §7)',
        param: 'stream',
        ask: chat(picture({ stream: true, modalities: ['text', 'image', 'image'] })),
      },
    ],
  },
  unsupported_modality: {
    status: 400,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'a picture by a writer',
        param: 'modalities',
        ask: chat(picture({ model: 'demo/echo' })),
      },
      {
        what: 'words by a painter',
        param: 'modalities',
        ask: chat(picture({ modalities: ['text'] })),
      },
      { what: 'sound', param: 'modalities', ask: chat({ modalities: ['audio'] }) },
      {
        what: 'a picture for who sees nothing',
        param: 'messages',
        ask: chat({ messages: [pictures(PNG)] }),
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
        ask: chat(picture({ messages: [pictures(PNG, url)] })),
      }),
    ),
  },
  too_many_images: {
    status: 400,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'the seventeenth',
        param: 'messages',
        metadata: limitOf('input_images', 16, 17),
        ask: chat(picture({ messages: [pictures(...Array<string>(17).fill(PNG))] })),
      },
    ],
  },
  context_length_exceeded: {
    status: 400,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'told by the provider',
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
      { what: 'asked', param: 'model', ask: chat({ model: 'acme/none' }) },
      { what: 'looked up', param: 'model', ask: call('GET', '/models/acme/none') },
    ],
  },
  generation_not_found: {
    status: 404,
    type: 'not_found_error',
    cases: [
      {
        what: 'one that never was',
        param: 'id',
        ask: call('GET', '/generation?id=gen-01k3e5q9zzzzzzzzzzzzzzzzzz'),
      },
      { what: 'no id at all', param: 'id', ask: call('GET', "/generation?id=gen-'%20OR%201=1") },
    ],
  },
  route_not_found: {
    status: 404,
    type: 'not_found_error',
    cases: [
      // No key is looked up for an address that is none.
      { what: 'an address that is none', ask: (visitor) => visitor.call('GET', '/completions') },
      { what: 'one below another', ask: (visitor) => visitor.call('POST', '/keys/a/b', {}) },
    ],
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'chat that is fetched',
        allow: 'POST, OPTIONS',
        ask: (visitor) => visitor.call('GET', '/chat/completions'),
      },
      {
        what: 'models that are posted',
        allow: 'GET, HEAD, OPTIONS',
        ask: (visitor) => visitor.call('POST', '/models', {}),
      },
      {
        what: 'a key that is put',
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
        what: 'a byte more than 32 MiB, stated',
        metadata: limitOf('body_bytes', MAX_BODY_BYTES, MAX_BODY_BYTES + 1),
        connection: 'close',
        ask: (visitor) => state(visitor, MAX_BODY_BYTES + 1),
      },
      {
        what: 'a record of a key beyond 1 MiB',
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
