// Fixtures of the upstream tests: calls with defaults, collected answers, and a provider on a real socket.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ChatEvent, ChatEvents, JsonObject } from '#domain/chat.ts'
import { instant } from '#domain/clock.ts'
import { type ModelCard, UNROUTED } from '#domain/model-card.ts'
import type { UsdNanos } from '#domain/money.ts'
import type { Provider, ProviderType } from '#domain/provider.ts'
import type { Thought } from '#domain/thought.ts'
import type { UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import type { Usage } from '#domain/usage.ts'
import type { Generate, Work } from '#domain/work.ts'
import { readReasoning } from '#http/surfaces/chat/read-request.ts'
import { toConversation } from '#http/surfaces/chat/to-conversation.ts'

export const provider = (baseUrl: string, type: ProviderType = 'openai-compatible'): Provider => ({
  name: 'acme',
  type,
  baseUrl,
  credentials: [{ name: 'default', weight: 1 }],
  outputBound: null,
  learnedBound: null,
  createdAt: instant(0),
  revision: 1,
})

const card = (upstreamName = 'model-9'): ModelCard => ({
  id: `acme/${upstreamName}`,
  provider: 'acme',
  upstreamName,
  ...UNROUTED,
  name: upstreamName,
  description: '',
  createdAt: instant(0),
  contextLength: null,
  maxCompletionTokens: null,
  isCatalogued: false,
  imagesPerAnswer: 1,
  kind: 'generate',
  embeddingSpace: null,
  wires: null,
  inputModalities: ['text'],
  outputModalities: ['text', 'image'],
  supportedParameters: [],
  prices: [],
})

export const request = (body: JsonObject = {}, more: Partial<Generate> = {}): Generate => ({
  kind: 'generate',
  dialect: 'chat',
  model: 'acme/model-9',
  body: { model: 'acme/model-9', messages: [{ role: 'user', content: 'hi' }], ...body },
  conversation: toConversation,
  reasoning: readReasoning(body),
  stream: false,
  includeUsage: true,
  wantsImages: false,
  image: { resolution: undefined, quality: undefined },
  endUser: null,
  choices: 1,
  maxOutputTokens: null,
  textBytes: 2,
  inputImages: 0,
  allowFallbacks: true,
  ...more,
})

/** The parts of a call that its body is made of; the bound that is sent is the client's own. */
export const asked = (
  ofClient: Work,
  model: ModelCard,
  type?: ProviderType,
): Pick<UpstreamCall, 'request' | 'hop' | 'maxOutputTokens'> => ({
  request: ofClient,
  hop: { card: model, provider: provider('', type), credential: null },
  maxOutputTokens: ofClient.maxOutputTokens,
})

export interface CallOptions {
  readonly request?: Work
  readonly signal?: AbortSignal
  readonly type?: ProviderType
  readonly upstreamName?: string
  /** By default the client's own. */
  readonly maxOutputTokens?: number | null
  readonly timeouts?: Partial<UpstreamCall['timeouts']>
}

export const call = (options: CallOptions = {}): UpstreamCall => ({
  request: options.request ?? request(),
  maxOutputTokens: options.maxOutputTokens ?? options.request?.maxOutputTokens ?? null,
  hop: { card: card(options.upstreamName), provider: provider('', options.type), credential: null },
  requestId: 'req_test',
  timeouts: {
    connectTimeoutMs: 20_000,
    firstByteTimeoutMs: 20_000,
    silenceTimeoutMs: 20_000,
    totalTimeoutMs: 20_000,
    ...options.timeouts,
  },
  sending: { isSent: false },
  signal: options.signal ?? new AbortController().signal,
})

/** An answer assembled from its events, as a client would do it. */
export interface Folded {
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly toolCalls: readonly { id?: string; name?: string; arguments: string }[]
  readonly images: readonly string[]
  readonly finish: readonly { choice: number; reason: string; native: string }[]
  readonly thoughts: readonly Thought[]
  readonly messageFields: JsonObject
  readonly answerFields: JsonObject
  readonly usage: Usage | null
  readonly statedCost: UsdNanos | null
  readonly failure: UpstreamFailure | null
}

const textOf = (events: readonly ChatEvent[], type: string): string =>
  events.map((event) => (event.type === type && 'text' in event ? event.text : '')).join('')

export function fold(events: readonly ChatEvent[], failure: unknown = null): Folded {
  const toolCalls: { id?: string; name?: string; arguments: string }[] = []
  let messageFields = {}
  let answerFields = {}
  let usage: Usage | null = null
  let statedCost: UsdNanos | null = null
  for (const event of events) {
    if (event.type === 'tool-call-delta') {
      toolCalls[event.index] ??= { arguments: '' }
      const found = toolCalls[event.index]!
      if (event.id) found.id = event.id
      if (event.name) found.name = event.name
      found.arguments += event.arguments
    }
    if (event.type === 'message-fields') messageFields = { ...messageFields, ...event.fields }
    if (event.type === 'answer-fields') answerFields = { ...answerFields, ...event.fields }
    if (event.type === 'usage') {
      usage = event.usage
      statedCost = event.statedCost ?? statedCost
    }
  }
  return {
    text: textOf(events, 'text-delta'),
    reasoning: textOf(events, 'reasoning-delta'),
    refusal: textOf(events, 'refusal-delta'),
    toolCalls,
    images: events.flatMap((event) => (event.type === 'image' ? [event.url] : [])),
    finish: events.flatMap((event) =>
      event.type === 'finish'
        ? [{ choice: event.choice, reason: event.reason, native: event.native }]
        : [],
    ),
    thoughts: events.flatMap((event) => (event.type === 'thought' ? [event.thought] : [])),
    messageFields,
    answerFields,
    usage,
    statedCost,
    failure: failure as UpstreamFailure | null,
  }
}

/** All events, and the error that ended them. */
export async function collect(
  answer: AsyncIterable<ChatEvents> | Promise<AsyncIterable<ChatEvents>>,
): Promise<{ readonly events: readonly ChatEvent[]; readonly failure: unknown }> {
  const events: ChatEvent[] = []
  try {
    for await (const batch of await answer) {
      if (batch.length === 0) throw new Error('an empty batch')
      events.push(...batch)
    }
  } catch (thrown) {
    return { events, failure: thrown }
  }
  return { events, failure: null }
}

export async function collectFolded(
  answer: AsyncIterable<ChatEvents> | Promise<AsyncIterable<ChatEvents>>,
): Promise<Folded> {
  const { events, failure } = await collect(answer)
  return fold(events, failure)
}

export interface Socket {
  readonly url: string
  /** The requests so far: path, headers, and the body as text and parsed. */
  readonly seen: {
    path: string
    headers: Record<string, string | undefined>
    text: string
    body: JsonObject
  }[]
  /** Resolves when the other side has closed the n-th exchange's connection before its end. */
  aborted(n?: number): Promise<void>
  stop(): Promise<void>
}

/** A provider on a real socket; `answer` is called for each request with its number, from 0. */
export async function startProvider(
  answer: (response: ServerResponse, n: number) => void | Promise<void>,
): Promise<Socket> {
  const seen: Socket['seen'] = []
  const aborts: PromiseWithResolvers<void>[] = []
  const server = createServer(async (incoming, response) => {
    const n = seen.length
    const pieces: Buffer[] = []
    for await (const piece of incoming) pieces.push(piece as Buffer)
    const text = Buffer.concat(pieces).toString()
    seen.push({
      path: incoming.url ?? '',
      headers: incoming.headers as Record<string, string | undefined>,
      text,
      body: text === '' ? {} : JSON.parse(text),
    })
    aborts[n] ??= Promise.withResolvers()
    response.on('close', () => {
      if (!response.writableFinished) aborts[n]?.resolve()
    })
    await answer(response, n)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    aborted: (n = 0) => {
      aborts[n] ??= Promise.withResolvers()
      return aborts[n].promise
    },
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** `data:` lines as an OpenAI-shaped provider writes them. */
export const sse = (...chunks: readonly (JsonObject | string)[]): string =>
  chunks
    .map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`)
    .join('')

/** A chunk of one choice. */
export const chunk = (delta: JsonObject, more: JsonObject = {}, finish: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
})
