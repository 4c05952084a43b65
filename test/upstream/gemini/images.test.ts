// Gemini's images through the gateway: drawn, edited, missing, and what each costs.
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import { newPriceVersionId } from '#domain/id.ts'
import { aCard, anAct, aPriceList, aProvider, perM } from '#test/support/nouns.ts'
import { eventually } from '#test/support/scripted-upstream.ts'
import { openUpstream } from '#upstream/registry.ts'
import { type Served, serve } from '../../server/serve.ts'
import { type Socket, startProvider } from '../fixtures.ts'

const MODEL = 'google/gemini-2.5-flash-image'
const PNG = 'iVBORw0KGgoAAAANSUhEUgAA'
const IMAGE = { inlineData: { mimeType: 'image/png', data: PNG }, thoughtSignature: 'cGlj' }

let gemini: Socket
let s: Served
let client: OpenAI
let answer: JsonObject | 'stall' = {}

beforeAll(async () => {
  gemini = await startProvider((response) => {
    if (answer === 'stall') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const usageMetadata = { promptTokenCount: 40, totalTokenCount: 40 }
      const parts = [{ text: 'Once upon a time' }]
      response.write(
        `data: ${JSON.stringify({ candidates: [{ content: { parts } }], usageMetadata })}\r\n\r\n`,
      )
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer))
  })
  const google = aProvider({
    name: 'google',
    type: 'google',
    baseUrl: gemini.url,
    credentials: [],
    outputBound: null,
    learnedBound: null,
  })
  s = await serve(openUpstream(google, 'AIzaSyTestTestTest123'))
  await s.deps.store.providers.add(google, [], [], anAct())
  const at = s.deps.clock.now()
  const prices = aPriceList({
    prompt: perM('1'),
    completion: perM('10'),
    imageOutputToken: perM('30'),
    imagePrices: [],
  })
  await s.deps.store.models.add(
    aCard({
      id: MODEL,
      provider: 'google',
      upstreamName: 'gemini-2.5-flash-image',
      inputModalities: ['text', 'image'],
      outputModalities: ['text', 'image'],
      maxCompletionTokens: 32_768,
      isCatalogued: true,
      price: { id: newPriceVersionId(at), effectiveFrom: at, prices },
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
  gemini.seen.length = 0
})

const drawn = (parts: readonly JsonObject[]): JsonObject => ({
  candidates: [{ content: { parts, role: 'model' }, finishReason: 'STOP' }],
  usageMetadata: {
    promptTokenCount: 4,
    candidatesTokenCount: 1_300,
    totalTokenCount: 1_304,
    candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1_290 }],
  },
})
const ask = (messages: OpenAI.ChatCompletionMessageParam[]) =>
  client.chat.completions.create({ model: MODEL, messages, modalities: ['image'] as never })
const fox = { role: 'user' as const, content: 'A red fox' }

describe('images', () => {
  test('one is drawn, and then edited in the next turn with its signature', async () => {
    answer = drawn([{ text: 'Here.' }, IMAGE])
    const first = await ask([fox])
    const message = first.choices[0]!.message
    expect(message).toMatchObject({
      content: 'Here.',
      images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` }, index: 0 }],
    })
    // 4 × $1/M + 10 × $10/M + 1,290 × $30/M
    expect(first.usage).toMatchObject({ images: 1, completion_tokens: 1_300, cost: 0.038804 })
    await ask([fox, message, { role: 'user', content: 'Now blue' }])
    expect(gemini.seen[1]?.body).toEqual({
      contents: [
        { role: 'user', parts: [{ text: 'A red fox' }] },
        { role: 'model', parts: [{ text: 'Here.' }, IMAGE] },
        { role: 'user', parts: [{ text: 'Now blue' }] },
      ],
      generationConfig: { responseModalities: ['IMAGE'] },
    })
  })

  test('an answer without one is a failure, and costs nothing', async () => {
    const before = (await s.deps.store.accounts.list())[0]!.balance
    answer = drawn([{ text: 'I would rather not.' }])
    await expect(ask([fox])).rejects.toMatchObject({ status: 502, code: 'no_image_returned' })
    expect((await s.deps.store.accounts.list())[0]!.balance).toBe(before)
  })
})

test('a client that disconnects aborts the request to Gemini, and pays for what arrived', async () => {
  answer = 'stall'
  const stream = await client.chat.completions.create({
    model: MODEL,
    messages: [{ role: 'user', content: 'Tell me a tale' }],
    stream: true,
  })
  for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break
  await gemini.aborted(gemini.seen.length - 1)
  await eventually(async () => (await s.openHolds()) === 0, 'the hold is resolved')
  const [entry] = await s.deps.store.activity.list({ limit: 1 })
  expect(entry).toMatchObject({
    endedBy: 'client',
    usageSource: 'estimated',
    usage: { inputTokens: 40, outputTokens: 4 },
  })
})
