/** A gateway in this process whose providers replay recorded answers of other wires, for clients of the Responses API. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI from 'openai'
import type { ProviderType } from '#domain/provider.ts'
import { bytesOf } from '#test/acceptance/recordings/truth.ts'
import { serve } from '#test/server/serve.ts'
import { aCard, anAct, aProvider, aVersion, perM } from '#test/support/nouns.ts'
import { type RecordedResponse, readRecording, recordings } from '#test/support/replay.ts'
import { surfaceRecordings } from '#test/support/surface-recordings.ts'

export interface Replayed {
  readonly name: string
  readonly family: string
  readonly type: ProviderType
  readonly response: RecordedResponse
  readonly stream: boolean
}

const TYPES: Readonly<Record<string, ProviderType>> = {
  'anthropic-messages': 'anthropic',
  gemini: 'google',
  'openai-chat': 'openai',
  'other-openai-compatible': 'openai-compatible',
}

const typeOf = (family: string): ProviderType => TYPES[family] ?? (family as ProviderType)

/** Every recorded answer that a client of this API can get; without those of the images API, which it has no word for. */
export function answers(): readonly Replayed[] {
  const chats = recordings()
    .filter(({ family }) => family !== 'openai-images')
    .map(({ name, family }) => ({ name, family, response: readRecording(name) }))
  const messages = surfaceRecordings('anthropic-messages').map(({ name, response }) => ({
    name: `surface/${name}`,
    family: 'anthropic-messages',
    response,
  }))
  return [...chats, ...messages].map((one) => ({
    ...one,
    type: typeOf(one.family),
    stream: one.response.sse !== undefined,
  }))
}

/** How an answer is served: in pieces of so many bytes, and cut after some of them. */
export interface Dress {
  readonly size?: number
  readonly cutAt?: number
}

/** What was asked of a provider. */
export interface Asked {
  readonly path: string
  // biome-ignore lint/suspicious/noExplicitAny: a body as deep as a test looks.
  readonly body: any
}

/** Providers are named by their recording's place in the list. */
export async function openReplayed(list: readonly Replayed[]) {
  const asked: Asked[] = []
  let dress: Dress = {}
  const server = createServer(async (incoming, response) => {
    const pieces: Buffer[] = []
    for await (const piece of incoming) pieces.push(piece as Buffer)
    asked.push({ path: incoming.url ?? '', body: JSON.parse(Buffer.concat(pieces).toString()) })
    const recorded = list[Number(/^\/r(\d+)\//.exec(incoming.url ?? '')?.[1])]?.response
    if (recorded === undefined) return void response.writeHead(404).end()
    const bytes = bytesOf(recorded)
    const { size = bytes.length, cutAt = bytes.length } = dress
    response.writeHead(recorded.status, {
      'content-type': recorded.headers['content-type'] ?? (recorded.sse ? SSE : JSON_TEXT),
      ...(recorded.headers['retry-after'] && { 'retry-after': recorded.headers['retry-after'] }),
    })
    response.socket?.setNoDelay(true)
    for (let at = 0; at < cutAt; at += size) {
      response.write(bytes.subarray(at, Math.min(at + size, cutAt)))
      if (size < bytes.length) await new Promise((resolve) => setImmediate(resolve))
    }
    if (dress.cutAt === undefined) response.end()
    else response.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const served = await serve(null)
  const { store, clock } = served.deps
  const price = () => aVersion({ prompt: perM('1'), completion: perM('5') }, clock.now())
  for (const [place, { type }] of list.entries()) {
    const name = `r${place}`
    const baseUrl = `http://127.0.0.1:${port}/${name}`
    await store.providers.add(aProvider({ name, type, baseUrl }), [], [], anAct())
    const wires = type === 'anthropic' || type === 'google' ? null : (['chat'] as const)
    await store.models.add(
      aCard({
        id: `${name}/m`,
        provider: name,
        upstreamName: 'm',
        inputModalities: ['text', 'image'],
        wires,
        price: price(),
      }),
      anAct(),
    )
  }
  const key = served.key.bearer['Authorization'] ?? ''
  const apiKey = key.slice('Bearer '.length)
  return {
    ...served,
    asked,
    client: new OpenAI({ apiKey, baseURL: `${served.gateway.url}/v1`, maxRetries: 0 }),
    dressAs(next: Dress): void {
      dress = next
    },
    ask: (body: unknown, headers: Record<string, string> = {}) =>
      fetch(`${served.gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: key, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    async close(): Promise<void> {
      await served.gateway.stop(0)
      await store.close()
      server.closeAllConnections()
      server.close()
    },
  }
}

export type ReplayedGateway = Awaited<ReturnType<typeof openReplayed>>

const SSE = 'text/event-stream'
const JSON_TEXT = 'application/json'
