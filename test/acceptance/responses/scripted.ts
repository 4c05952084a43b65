// A provider of the Responses API that answers as it is told, byte by byte if need be, and remembers the text of what it was asked.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { furnishCli, startAppliance } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import type { RecordedResponse } from '#test/support/replay.ts'

export interface Asked {
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** Whether the connection was closed before the answer was complete. */
  isLeft: boolean
}

export type Script = (response: ServerResponse, asked: Asked, n: number) => void | Promise<void>

export const IN_USD = '1.25'
export const OUT_USD = '10'
export const CACHED_USD = '0.125'

/** A gateway with one provider that plays a script: of type openai, and as any server; `openai/chatless` has no other wire. */
export async function openResponses() {
  const asked: Asked[] = []
  let script: Script = (response) => void response.writeHead(500).end()
  const server = createServer((request, response) => {
    const bytes: Buffer[] = []
    request.on('data', (piece: Buffer) => bytes.push(piece))
    request.on('end', () => {
      const one: Asked = {
        path: request.url ?? '',
        headers: request.headers,
        text: Buffer.concat(bytes).toString(),
        isLeft: false,
      }
      response.on('close', () => {
        one.isLeft = !response.writableFinished
      })
      void script(response, one, asked.push(one) - 1)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const cli = furnishCli(openCli())
  const gateway = await startAppliance(cli)
  const add = (name: string, type: string) =>
    gateway.verb('providers.add', {
      name,
      type,
      base_url: baseUrl,
      credential: `sk-${name}-canary`,
    } as never)
  await add('openai', 'openai')
  await add('local', 'openai-compatible')
  const prices = { in_usd: IN_USD, out_usd: OUT_USD, cached_in_usd: CACHED_USD }
  for (const model of ['openai/m', 'local/m'])
    await gateway.verb('models.add', { ...prices, model })
  await gateway.verb('models.price', { ...prices, model: 'openai/gpt-5' })
  await gateway.verb('models.add', { ...prices, model: 'openai/chatless', wires: ['responses'] })
  const { key } = await gateway.verb('keys.create', { name: 'reader' })
  return {
    gateway,
    cli,
    key,
    asked,
    play(next: Script): void {
      asked.length = 0
      script = next
    },
    ask: (body: unknown, headers: Record<string, string> = {}, init: RequestInit = {}) =>
      fetch(`${gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...init,
      }),
    async close(): Promise<void> {
      await gateway.kill()
      server.closeAllConnections()
      server.close()
      cli.close()
    },
  }
}

export type ResponsesGateway = Awaited<ReturnType<typeof openResponses>>

/** Plays a recorded answer, in pieces of so many bytes; cut after some of them where that is asked for. */
export const replayed =
  (
    { status, headers, sse, body }: RecordedResponse,
    size = Number.POSITIVE_INFINITY,
    cutAt?: number,
  ): Script =>
  async (response) => {
    const bytes = Buffer.from(sse ?? JSON.stringify(body))
    response.writeHead(status, {
      'content-type': headers['content-type'] ?? (sse ? 'text/event-stream' : 'application/json'),
    })
    const end = cutAt ?? bytes.length
    for (let at = 0; at < end; at += size) {
      response.write(bytes.subarray(at, Math.min(at + size, end)))
      if (size < 100) await new Promise((resolve) => setImmediate(resolve))
    }
    if (cutAt === undefined) response.end()
    else response.socket?.end()
  }
