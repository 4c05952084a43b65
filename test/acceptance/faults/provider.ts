/** A provider for fault tests: counts its requests, and holds a stream open until it is released. */
import type { Appliance } from '#test/support/appliance.ts'

export interface CountedProvider {
  readonly asked: number
  /** The number of streams sent to their end. */
  readonly ended: number
  /** Lets every held stream, now and later, finish. */
  release(): void
  /** Adds it as `acme` with the model `acme/m`, under another host name of this machine if given. */
  addTo(gateway: Appliance, name?: string): Promise<void>
  stop(): Promise<void>
}

/** A request to it that costs `CHARGE_NANOS`. */
export const HELLO = { model: 'acme/m', messages: [{ role: 'user', content: 'hi' }] }
export const CHARGE_NANOS = 100 * 1_000 + 20 * 2_000

const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }
const event = (rest: object): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...rest })}\n\n`
const delta = (content: string, reason: string | null = null): string =>
  event({ choices: [{ index: 0, delta: { content }, finish_reason: reason }] })

/** `says` is its whole answer to a request without streaming. */
export function startProvider(says = 'one two'): CountedProvider {
  let asked = 0
  let ended = 0
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const encoder = new TextEncoder()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      if (request.method === 'GET') return Response.json({ object: 'list', data: [] })
      asked++
      const { stream } = (await request.json()) as { stream?: boolean }
      if (stream !== true) {
        const message = { role: 'assistant', content: says }
        const choices = [{ index: 0, message, finish_reason: 'stop' }]
        return Response.json({ id: 'c', object: 'chat.completion', model: 'm', choices, usage })
      }
      async function* speak() {
        yield encoder.encode(delta('one '))
        await released
        yield encoder.encode(delta('two', 'stop') + event({ choices: [], usage }))
        yield encoder.encode('data: [DONE]\n\n')
        ended++
      }
      return new Response(speak(), { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  return {
    get asked() {
      return asked
    },
    get ended() {
      return ended
    },
    release,
    async addTo(gateway, name = '127.0.0.1') {
      await gateway.verb('providers.add', {
        name: 'acme',
        type: 'openai-compatible',
        base_url: `http://${name}:${server.port}`,
        credential: null,
      })
      await gateway.verb('models.add', { model: 'acme/m', in_usd: '1', out_usd: '2' })
    },
    stop: () => server.stop(true),
  }
}
