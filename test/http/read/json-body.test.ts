// A long body is read without its passages: whatever is decided of it is what all of it would have decided.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import { JsonBody } from '#http/read/body.ts'
import { rejectRepeatedNames } from '#http/read/repeated-names.ts'
import { openSeals } from '#http/seals.ts'
import { readChatRequest } from '#http/surfaces/chat/read-request.ts'
import { readMessagesRequest } from '#http/surfaces/messages/read-request.ts'
import { readResponsesRequest } from '#http/surfaces/responses/read-request.ts'
import { FULL } from '#test/support/tier.ts'

const PROSE = 'As "plain" as\n\tcan be, {[}: \\u0041, é and 猫. '.repeat(60)

const CHAT = {
  model: 'acme/one',
  service_tier: 'flex',
  messages: [
    { role: 'system', content: PROSE },
    {
      role: 'user',
      content: [
        { type: 'text', text: PROSE, cache_control: { type: 'ephemeral', ttl: '1h' } },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${'AAAA'.repeat(900)}` } },
        { type: 'file', file: { file_data: 'AAAA'.repeat(300) } },
      ],
    },
    { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: PROSE } }] },
    { role: 'tool', tool_call_id: 'a', content: PROSE },
  ],
  tools: [{ type: 'function', function: { name: 'f', description: PROSE } }],
  user: 'u_1',
  seed: 12345678901234567890n,
}
const MESSAGES = {
  model: 'acme/two',
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: PROSE },
        {
          type: 'image',
          source: { type: 'base64', media_type: 'image/png', data: 'AAAA'.repeat(400) },
        },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: PROSE } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: PROSE, signature: 'c2ln'.repeat(200) },
        { type: 'tool_use', id: 't', name: 'f', input: { content: PROSE, text: [PROSE] } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: PROSE }] },
  ],
  system: [{ type: 'text', text: PROSE, cache_control: { type: 'ephemeral' } }],
  tools: [
    { name: 'f', input_schema: { type: 'object' } },
    { type: 'web_search_20250305', name: 'w' },
  ],
  max_tokens: 9,
  metadata: { user_id: 'x'.repeat(300) },
}
const RESPONSES = {
  model: 'acme/three',
  instructions: PROSE,
  input: [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: PROSE }] },
    { type: 'reasoning', id: 'rs_1', encrypted_content: 'AAAA'.repeat(100), summary: [] },
    { type: 'function_call', call_id: 'c', name: 'f', arguments: PROSE },
    { type: 'function_call_output', call_id: 'c', output: PROSE },
    { type: 'item_reference', id: 'rs_2' },
  ],
  tools: [{ type: 'web_search' }, { type: 'function', name: 'f', parameters: {} }],
}

const spell = (body: object, space?: string): string =>
  JSON.stringify(body, (_, value) => (typeof value === 'bigint' ? 0 : value), space).replace(
    '"seed":0',
    '"seed":12345678901234567890',
  )

const headers = new Headers()
const seals = openSeals(new Uint8Array(32))
const READERS = {
  chat: (body: JsonBody) => readChatRequest(body),
  messages: (body: JsonBody) => readMessagesRequest(body, headers),
  responses: (body: JsonBody) => readResponsesRequest(body, headers, seals),
}
const BODIES = { chat: CHAT, messages: MESSAGES, responses: RESPONSES }
type Dialect = keyof typeof BODIES

/** The same with all of it parsed at once. */
function inFull(text: string): JsonBody {
  const body = new JsonBody(text)
  const fields = JSON.parse(text)
  Object.defineProperties(body, { fields: { value: fields }, exact: { value: body.whole() } })
  return body
}

/** What is decided, and what a translation would say. */
function decide(dialect: Dialect, read: () => JsonBody): unknown {
  try {
    const body = read()
    if (dialect !== 'chat') rejectRepeatedNames(body)
    const { source: _source, body: _body, conversation: _, ...decided } = READERS[dialect](body)
    const request = READERS[dialect](body)
    return { decided, repeats: body.repeatsNames, said: request.conversation() }
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown
    return { code: thrown.code, message: thrown.message, param: thrown.details.param }
  }
}

const decoder = new TextDecoder()

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe.each(Object.keys(BODIES) as Dialect[])('%s', (dialect) => {
  test.each([undefined, ' '])('reads as little, and decides the same (space: %j)', (space) => {
    const text = spell(BODIES[dialect], space)
    const body = new JsonBody(text)
    expect(JSON.stringify(body.fields).length).toBeLessThan(text.length / 2)
    expect(body.whole()).toEqual(inFull(text).exact)
    expect(decide(dialect, () => new JsonBody(text))).toEqual(decide(dialect, () => inFull(text)))
  })

  test('whatever becomes of its bytes', () => {
    const bytes = Buffer.from(spell(BODIES[dialect]))
    const at = fc.nat(bytes.length - 1)
    const piece = fc
      .constantFrom(
        '"',
        '\\',
        '\\"',
        '\\\\',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        ' ',
        '\n',
        '\0',
        '\\u0022',
        '\\x',
        '"text":',
        '"content":"',
        '"messages":[],',
        '"model":"b",',
        '"t\\u0065xt":',
        'null',
        '1e999',
        '"ttl":"1h",',
        '"type":"image",',
        '"source":{"type":"file"},',
      )
      .map((text) => Buffer.from(text))
    const rest = fc.oneof(piece, fc.uint8Array({ maxLength: 3 }))
    const mutation = fc.record({ at, cut: fc.oneof(fc.nat(4), fc.nat(2_000)), put: rest })
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 3 }), (mutations) => {
        const mutated = decoder.decode(
          mutations.reduce<Buffer>(
            (text, { at: from, cut, put }) =>
              Buffer.concat([text.subarray(0, from), put, text.subarray(from + cut)]),
            bytes,
          ),
        )
        const decided = decide(dialect, () => new JsonBody(mutated))
        if (isJson(mutated)) expect(decided).toEqual(decide(dialect, () => inFull(mutated)))
        else
          expect(decided).toMatchObject({ code: expect.stringMatching(/^invalid_(json|request)$/) })
      }),
      { numRuns: FULL ? 3_000 : 300 },
    )
  })
})

test.each(['\\x', '\\u00g0', '\\u12', '\n', '\0'])('a passage with %j is no JSON', (wrong) => {
  const text = `${'x'.repeat(3_000)}${wrong}${'y'.repeat(300)}`
  expect(() => new JsonBody(`{"messages":[{"text":"${text}"}]}`)).toThrow(
    'the body is not valid JSON',
  )
})

test.each<[string, string, JsonObject]>([
  ['outside of a conversation', 'tools', { tools: [{ text: PROSE }] }],
  ['by another name', 'messages', { messages: [{ data: PROSE }] }],
  ['without a name', 'input', { input: [PROSE] }],
])('what stands %s is no passage', (_, name, fields) => {
  expect(new JsonBody(JSON.stringify(fields)).fields[name]).toEqual(fields[name])
})
