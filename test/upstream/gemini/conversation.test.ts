// A whole conversation with tools: the stock OpenAI client, the gateway, and a server that speaks Gemini's wire.
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import { newPriceVersionId } from '#domain/id.ts'
import type { Provider } from '#domain/provider.ts'
import { aCard, anAct, aPriceList, aProvider, perM } from '#test/support/nouns.ts'
import { openUpstream } from '#upstream/registry.ts'
import { type Served, serve } from '../../server/serve.ts'
import { type Socket, sse, startProvider } from '../fixtures.ts'

const SECRET = 'AIzaSyTestTestTest123'
const MODEL = 'google/gemini-3-flash-preview'

let gemini: Socket
let s: Served
let client: OpenAI
/** What Gemini says next, one list of chunks per request. */
let script: (readonly JsonObject[])[] = []
let served = 0

beforeAll(async () => {
  gemini = await startProvider((response) => {
    const chunks = script[served++] ?? []
    if (gemini.seen.at(-1)?.path.endsWith(':streamGenerateContent?alt=sse')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(sse(...chunks).replaceAll('\n', '\r\n'))
    } else {
      response.writeHead(200, { 'content-type': 'application/json; charset=UTF-8' })
      response.end(JSON.stringify(chunks[0]))
    }
  })
  const google: Provider = aProvider({
    name: 'google',
    type: 'google',
    baseUrl: `${gemini.url}/v1beta`,
    credentials: [],
    outputBound: null,
    learnedBound: null,
  })
  s = await serve(openUpstream(google, SECRET))
  await s.deps.store.providers.add(google, [], [], anAct())
  const at = s.deps.clock.now()
  await s.deps.store.models.add(
    aCard({
      id: MODEL,
      provider: 'google',
      upstreamName: 'gemini-3-flash-preview',
      price: {
        id: newPriceVersionId(at),
        effectiveFrom: at,
        prices: aPriceList({ prompt: perM('1'), completion: perM('10') }),
      },
    }),
    anAct(),
  )
  client = new OpenAI({
    apiKey: s.key.bearer['Authorization']!.slice('Bearer '.length),
    baseURL: `${s.gateway.url}/v1`,
    maxRetries: 0,
  })
})
afterAll(async () => {
  await s.gateway.stop(0)
  await s.deps.store.close()
  await gemini.stop()
})
beforeEach(() => {
  script = []
  served = 0
  gemini.seen.length = 0
})

const parameters = {
  type: 'object',
  properties: { city: { type: 'string', description: 'the city' } },
  required: ['city'],
  additionalProperties: false,
}
const description = 'Weather in a city'
const tools: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'weather', description, parameters, strict: true } },
]
const QUESTION = 'Weather in Rome and Oslo?'

const usage = (prompt: number, candidates: number, thoughts = 0) => ({
  usageMetadata: {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    thoughtsTokenCount: thoughts,
    totalTokenCount: prompt + candidates + thoughts,
  },
})
const said = (parts: readonly JsonObject[], more: JsonObject = {}, rest: JsonObject = {}) => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }],
  ...rest,
})
const STOP = { finishReason: 'STOP' }
const THOUGHT = { text: 'Two cities.', thought: true }
const ROME = { functionCall: { name: 'weather', args: { city: 'Rome' } }, thoughtSignature: 'c2ln' }
const OSLO = { functionCall: { name: 'weather', args: { city: 'Oslo' } } }
const ANSWER = { text: 'Rome 31, Oslo 9.' }

type Message = OpenAI.ChatCompletionMessageParam
type Call = OpenAI.ChatCompletionMessageToolCall

const argumentsOf = (call: Call): string =>
  call.type === 'function' ? call.function.arguments : ''

const results = (calls: readonly Call[]): Message[] =>
  calls.map(({ id }, place) => ({
    role: 'tool',
    tool_call_id: id,
    content: place === 0 ? '{"celsius":31}' : 'nine degrees',
  }))

/** What Google's own SDK sends for the same second turn. */
async function bySdk(ids: readonly string[]): Promise<JsonObject> {
  script = [[said([ANSWER], STOP)]]
  served = 0
  const sdk = new GoogleGenAI({ apiKey: SECRET, httpOptions: { baseUrl: gemini.url } })
  await sdk.models.generateContent({
    model: 'gemini-3-flash-preview',
    contents: [
      { role: 'user', parts: [{ text: QUESTION }] },
      {
        role: 'model',
        parts: [
          { ...ROME, functionCall: { id: ids[0]!, ...ROME.functionCall } },
          { ...OSLO, functionCall: { id: ids[1]!, ...OSLO.functionCall } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: ids[0]!, name: 'weather', response: { celsius: 31 } } },
          {
            functionResponse: {
              id: ids[1]!,
              name: 'weather',
              response: { result: 'nine degrees' },
            },
          },
        ],
      },
    ],
    config: {
      systemInstruction: 'Be brief.',
      maxOutputTokens: 100,
      temperature: 0.5,
      tools: [
        {
          functionDeclarations: [
            { name: 'weather', description, parametersJsonSchema: parameters },
          ],
        },
      ],
      thinkingConfig: { thinkingLevel: 'LOW' as never, includeThoughts: true },
    },
  })
  const body = structuredClone(gemini.seen.at(-1)!.body) as { systemInstruction: JsonObject }
  // The one difference: the SDK says `role: "user"` beside instructions, which the API does not read.
  expect(body.systemInstruction['role']).toBe('user')
  body.systemInstruction = { parts: body.systemInstruction['parts'] }
  return body as unknown as JsonObject
}

const asked = {
  model: MODEL,
  tools,
  max_completion_tokens: 100,
  temperature: 0.5,
  reasoning_effort: 'low' as const,
}
const opening: Message[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: QUESTION },
]

describe('a conversation of two turns', () => {
  test('works with whole answers', async () => {
    script = [
      [said([THOUGHT, ROME, OSLO], STOP, usage(100, 20, 30))],
      [said([ANSWER], STOP, usage(180, 8))],
    ]
    const first = await client.chat.completions.create({ ...asked, messages: opening })
    const message = first.choices[0]!.message
    expect(first.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      native_finish_reason: 'STOP',
      message: { content: null, reasoning_content: 'Two cities.' },
    })
    expect(first.usage).toMatchObject({
      prompt_tokens: 100,
      completion_tokens: 50,
      completion_tokens_details: { reasoning_tokens: 30 },
      cost: 0.0006,
    })
    const calls = message.tool_calls!
    const ids = calls.map(({ id }) => id)
    expect(new Set(ids).size).toBe(2)

    const second = await client.chat.completions.create({
      ...asked,
      messages: [...opening, message, ...results(calls)],
    })
    expect(second.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'Rome 31, Oslo 9.' },
    })

    const [, sent] = gemini.seen
    expect(sent?.path).toBe('/v1beta/models/gemini-3-flash-preview:generateContent')
    expect(sent?.headers['x-goog-api-key']).toBe(SECRET)
    expect(JSON.stringify(sent?.headers)).not.toContain(s.key.bearer['Authorization']!)
    expect(sent?.body).toEqual(await bySdk(ids))
  })

  test('works with streams, assembled by the client as usual', async () => {
    script = [
      [
        said([THOUGHT], {}, usage(100, 0, 10)),
        said([ROME]),
        said([OSLO], STOP, usage(100, 20, 30)),
      ],
      [said([{ text: 'Rome 31, ' }]), said([{ text: 'Oslo 9.' }], STOP, usage(180, 8))],
    ]
    const turn = async (messages: Message[]) =>
      await client.chat.completions.stream({ ...asked, messages }).finalChatCompletion()
    const first = await turn(opening)
    const message = first.choices[0]!.message
    expect(first.choices[0]?.finish_reason).toBe('tool_calls')
    expect(first.usage).toMatchObject({ prompt_tokens: 100, completion_tokens: 50 })
    const calls = message.tool_calls!
    expect(calls.map(argumentsOf)).toEqual(['{"city":"Rome"}', '{"city":"Oslo"}'])

    expect(message).toMatchObject({
      reasoning_content: 'Two cities.',
      reasoning_details: [{ data: 'c2ln', id: calls[0]?.id, format: 'google-gemini-v1' }],
    })

    const second = await turn([...opening, message, ...results(calls)])
    expect(second.choices[0]?.message.content).toBe('Rome 31, Oslo 9.')
    const [, sent] = gemini.seen
    expect(sent?.path).toBe('/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse')
    expect(sent?.body).toEqual(await bySdk(calls.map(({ id }) => id)))
  })

  test('a client that rebuilds its messages loses the signature, and the model is told so', async () => {
    script = [[said([ROME], STOP, usage(100, 20))], [said([ANSWER], STOP, usage(150, 8))]]
    const first = await client.chat.completions.create({ ...asked, messages: opening })
    const [call] = first.choices[0]!.message.tool_calls!
    if (call?.type !== 'function') throw new Error('no call')
    const { name, arguments: args } = call.function
    const rebuilt: Message = {
      role: 'assistant',
      tool_calls: [{ id: call.id, type: 'function', function: { name, arguments: args } }],
    }
    await client.chat.completions.create({
      ...asked,
      messages: [...opening, rebuilt, ...results([call])],
    })
    expect(gemini.seen[1]?.body).toMatchObject({
      contents: [{}, { parts: [{ thoughtSignature: 'skip_thought_signature_validator' }] }, {}],
    })
  })
})

describe('money', () => {
  test('a stream that breaks off is charged for what arrived, by the larger of both counts', async () => {
    const words = 'word '.repeat(80)
    script = [[said([{ text: words }], {}, usage(100, 2))]]
    const stream = await client.chat.completions.create({
      model: MODEL,
      messages: opening,
      stream: true,
    })
    const chunks: OpenAI.ChatCompletionChunk[] = []
    const reading = (async () => {
      for await (const chunk of stream) chunks.push(chunk)
    })()
    await expect(reading).rejects.toMatchObject({ code: 'upstream_error' })
    const line = s.lines.at(-1)
    const [entry] = await s.deps.store.activity.list({ limit: 1 })
    expect(line?.status).toBe(200)
    expect(entry).toMatchObject({
      usageSource: 'estimated',
      usage: { inputTokens: 100, outputTokens: 100 },
    })
  })

  test('a request that the wire format cannot express is refused before it is sent, and costs nothing', async () => {
    await expect(
      client.chat.completions.create({ model: MODEL, messages: opening, logit_bias: { 5: 1 } }),
    ).rejects.toMatchObject({ status: 400, code: 'invalid_request', param: 'logit_bias' })
    expect(gemini.seen).toHaveLength(0)
    expect(await s.openHolds()).toBe(0)
  })
})
