/** A gateway in this process before providers of every family on real sockets, whose answers a test scripts, and the stock client that asks it. */
import type { ServerResponse } from 'node:http'
import Anthropic from '@anthropic-ai/sdk'
import type { JsonObject } from '#domain/chat.ts'
import { newPriceVersionId } from '#domain/id.ts'
import type { ModelCard, Prices } from '#domain/model-card.ts'
import type { ProviderType } from '#domain/provider.ts'
import { type Served, serve } from '#test/server/serve.ts'
import { aCard, aHop, anAct, aPriceList, aProvider, perM } from '#test/support/nouns.ts'
import { type Socket, startProvider } from '#test/upstream/fixtures.ts'

// biome-ignore lint/suspicious/noExplicitAny: what a provider saw, or a client, as deep as a test looks.
export type Wire = any

export type Reply = (response: ServerResponse, body: Wire) => void

/** By name; each has a model `<name>/m`. */
export const FAMILIES = {
  chat: 'openai-compatible',
  router: 'openrouter',
  gemini: 'google',
  claude: 'anthropic',
} as const satisfies Readonly<Record<string, ProviderType>>
export type Family = keyof typeof FAMILIES

const PRICES: Partial<Prices> = {
  prompt: perM('1'),
  completion: perM('2'),
  cacheWrite: perM('10'),
  cacheWrite1h: perM('100'),
}

export interface AnyProvider extends Served {
  readonly client: Anthropic
  /** The next answers of a provider are these. */
  reply(family: Family, with_: Reply): void
  /** What a provider was sent, oldest first. */
  seen(family: Family): Socket['seen']
  socket(family: Family): Socket
  /** Adds a model of several hops, in order. */
  route(id: string, families: readonly Family[], more?: Partial<ModelCard>): Promise<void>
  ask(body: unknown, headers?: Record<string, string>, path?: string): Promise<Response>
  close(): Promise<void>
}

export async function openAnyProvider(): Promise<AnyProvider> {
  const served = await serve(null)
  const { store, clock } = served.deps
  const replies = new Map<Family, Reply>()
  const sockets = new Map<Family, Socket>()
  const price = (prices: Partial<Prices>) => ({
    id: newPriceVersionId(clock.now()),
    effectiveFrom: clock.now(),
    prices: aPriceList(prices),
  })
  const add = (card: Partial<ModelCard>) =>
    store.models.add(
      aCard({
        inputModalities: ['text', 'image'],
        supportedParameters: ['reasoning_effort'],
        price: price(PRICES),
        ...card,
      }),
      anAct(),
    )
  for (const [family, type] of Object.entries(FAMILIES) as [Family, ProviderType][]) {
    const socket: Socket = await startProvider((response, n) =>
      replies.get(family)?.(response, socket.seen[n]?.body),
    )
    sockets.set(family, socket)
    const provider = aProvider({ name: family, type, baseUrl: `${socket.url}/v1` })
    await store.providers.add(provider, [], [], anAct())
    await add({ id: `${family}/m`, provider: family, upstreamName: `${family}-model` })
  }
  const socketOf = (family: Family): Socket => sockets.get(family) as Socket
  const headers = { ...served.key.bearer, 'content-type': 'application/json' }
  const { Authorization: bearer = '' } = served.key.bearer
  return Object.assign(served, {
    client: new Anthropic({
      authToken: bearer.slice('Bearer '.length),
      apiKey: null,
      baseURL: served.gateway.url,
      maxRetries: 0,
    }),
    reply: (family: Family, with_: Reply) => void replies.set(family, with_),
    seen: (family: Family) => socketOf(family).seen,
    socket: socketOf,
    route: (id: string, families: readonly Family[], more: Partial<ModelCard> = {}) =>
      add({
        ...{ id, provider: families[0] ?? '', upstreamName: 'm', ...more },
        route: families.map((provider, n) =>
          aHop({ provider, upstreamName: `${provider}-model`, position: n + 1 }),
        ),
      }),
    ask: (body: unknown, more = {}, path = '/v1/messages') =>
      fetch(served.gateway.url + path, {
        method: 'POST',
        headers: { ...headers, 'anthropic-version': '2023-06-01', ...more },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    async close() {
      await served.gateway.stop(0)
      await store.close()
      await Promise.all([...sockets.values()].map((socket) => socket.stop()))
    },
  })
}

export const hello = (model: string, more: object = {}) => ({
  model,
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: 'hi' }],
  ...more,
})

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

/** Frames of a stream, or one body. */
export const frames = (
  response: ServerResponse,
  chunks: readonly (JsonObject | string)[],
): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const chunk of chunks) {
    response.write(`data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`)
  }
}

export const body = (response: ServerResponse, value: unknown, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

/** Chat: a message, as it was asked for. */
export const sayInChat =
  (message: JsonObject, finish = 'stop', usage: JsonObject = USAGE): Reply =>
  (response, { stream }) => {
    const choice = { index: 0, finish_reason: finish }
    if (stream !== true) {
      return body(response, {
        choices: [{ ...choice, message: { role: 'assistant', ...message } }],
        usage,
      })
    }
    frames(response, [
      { choices: [{ ...choice, finish_reason: null, delta: message }] },
      { choices: [{ ...choice, delta: {} }], usage },
      '[DONE]',
    ])
    response.end()
  }

/** Gemini: the parts of its answer. The path says whether it is a stream; both are taken. */
export const sayInGemini =
  (...parts: readonly JsonObject[]): Reply =>
  (response) =>
    body(response, {
      candidates: [{ content: { parts }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    })

/** Anthropic: its whole message. */
export const sayInMessages =
  (text: string): Reply =>
  (response) =>
    body(response, {
      ...{ id: 'msg_theirs', type: 'message', role: 'assistant', model: 'claude-model' },
      ...{ content: [{ type: 'text', text }], stop_reason: 'end_turn', stop_sequence: null },
      usage: { input_tokens: 10, output_tokens: 5 },
    })
