/** Integers beyond 2^53 (snowflake ids, seeds) keep their digits, in requests and answers, in every wire format. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chunk, type Socket, sse } from '#test/upstream/fixtures.ts'
import { hello, openScriptedGateway, type ScriptedGateway } from './traps/scripted-gateway.ts'

const ID = '1234567890123456789'
const PARAMETERS = { type: 'object', properties: { id: { enum: ['ID'] } } }
const TOOL = { type: 'function', function: { name: 'find', parameters: PARAMETERS } }
const CALL = {
  id: 'call_123456789',
  type: 'function',
  function: { name: 'find', arguments: '{"id":ID}' },
}

/** JSON in which every `"ID"`, and `ID` inside a string, is the integer. */
const toJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll('"ID"', ID).replaceAll('ID', ID)
const idsIn = (text: string): number => text.split(ID).length - 1

const JSON_TYPE = { 'content-type': 'application/json' }
const STREAM_TYPE = { 'content-type': 'text/event-stream' }
const GEMINI_ANSWER = {
  candidates: [
    {
      content: { role: 'model', parts: [{ functionCall: { name: 'find', args: { id: 'ID' } } }] },
      finishReason: 'STOP',
    },
  ],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
}
const ANTHROPIC_ANSWER = {
  type: 'message',
  role: 'assistant',
  content: [{ type: 'tool_use', id: 'toolu_1', name: 'find', input: { id: 'ID' } }],
  stop_reason: 'tool_use',
  usage: { input_tokens: 1, output_tokens: 1 },
}
const OPENAI_ANSWER = {
  serial: 'ID',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'hi', annotations: [{ id: 'ID' }] },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}

let setup: ScriptedGateway
let key = ''
const providers: Record<string, Socket> = {}

beforeAll(async () => {
  setup = await openScriptedGateway()
  key = (await setup.gateway.verb('keys.create', { name: 'worker' })).key
  providers['openai'] = await setup.provide('openai', (response, { body }) => {
    if (body['stream'] !== true)
      return void response.writeHead(200, JSON_TYPE).end(toJson(OPENAI_ANSWER))
    const delta = { content: 'hi', annotations: [{ id: 'ID' }] }
    const text = sse(chunk(delta, { serial: 'ID' }), chunk({}, {}, 'stop'), '[DONE]')
    response.writeHead(200, STREAM_TYPE).end(text.replaceAll('"ID"', ID))
  })
  providers['anthropic'] = await setup.provide(
    'anthropic',
    (response) => void response.writeHead(200, JSON_TYPE).end(toJson(ANTHROPIC_ANSWER)),
    { type: 'anthropic', credential: 'sk-a' },
  )
  providers['google'] = await setup.provide(
    'google',
    (response, { path }) => {
      const isStream = path.includes('stream')
      const text = toJson(GEMINI_ANSWER)
      response
        .writeHead(200, isStream ? STREAM_TYPE : JSON_TYPE)
        .end(isStream ? `data: ${text}\n\n` : text)
    },
    { type: 'google', credential: 'g' },
  )
  for (const model of ['openai/m', 'anthropic/claude-9', 'google/m']) {
    await setup.addModel(model)
  }
})
afterAll(() => setup?.close())

async function ask(model: string, fields: object = {}): Promise<string> {
  const body = toJson({ ...hello({ model }), ...fields })
  const response = await setup.gateway.chat(key, null, { body })
  expect(response.status).toBe(200)
  return await response.text()
}

const lastOf = (name: string): string => providers[name]?.seen.at(-1)?.text ?? ''

describe('a request', () => {
  test('to an OpenAI-compatible provider', async () => {
    await ask('openai/m', { seed: 'ID', tools: [TOOL], vendor: { deep: ['ID'] }, least: -1e300 })
    expect(idsIn(lastOf('openai'))).toBe(3)
    expect(lastOf('openai')).toContain(`"seed":${ID},`)
    expect(lastOf('openai')).toContain('"least":-1e+300')
  })

  test('that is long', async () => {
    const messages = [{ role: 'user', content: `"a": "b" ${'long '.repeat(2_000)}` }]
    await ask('openai/m', { seed: 'ID', messages })
    expect(lastOf('openai')).toContain(`"seed":${ID}`)
  })

  test.each(['anthropic/claude-9', 'google/m'])('to %s: schemas and arguments', async (model) => {
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: [CALL] },
      { role: 'tool', tool_call_id: CALL.id, content: '{"id":ID}' },
    ]
    await ask(model, { messages, tools: [TOOL], seed: 'ID' })
    const sent = lastOf(model.split('/')[0] ?? '')
    expect(sent).toContain(`{"enum":[${ID}]}`)
    expect(sent).toMatch(new RegExp(`"(?:input|args)":\\{"id":${ID}\\}`))
    expect(idsIn(sent)).toBe(model.startsWith('google') ? 4 : 3)
  })

  test('a tool result that is nothing but such an integer is no object', async () => {
    const messages = [
      { role: 'assistant', content: null, tool_calls: [CALL] },
      { role: 'tool', tool_call_id: CALL.id, content: 'ID\n' },
    ]
    await ask('google/m', { messages: [...hello().messages, ...messages] })
    expect(lastOf('google')).toContain(`"response":{"result":"${ID}\\n"}`)
  })
})

describe('an answer', () => {
  test.each([false, true])('unknown fields (stream: %j)', async (stream) => {
    const text = await ask('openai/m', { stream })
    expect(text).toContain(`"serial":${ID}`)
    // An entry of a list in a stream has its index, by which clients put its pieces together.
    expect(text).toContain(`"annotations":[{"id":${ID}${stream ? ',"index":0' : ''}}]`)
  })

  test.each([
    ['anthropic/claude-9', false],
    ['google/m', false],
    ['google/m', true],
  ])('arguments of a call: %s (stream: %j)', async (model, stream) => {
    expect(await ask(model, { stream })).toContain(`"arguments":"{\\"id\\":${ID}}"`)
  })
})
