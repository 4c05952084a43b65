/** A running gateway, and HTTP providers in every wire format whose answers each test scripts. */
import type { ServerResponse } from 'node:http'
import {
  type Appliance,
  furnishCli,
  type StartOptions,
  startAppliance,
} from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { type Socket, startProvider } from '#test/upstream/fixtures.ts'

export interface ScriptedGateway {
  readonly cli: CliHarness
  gateway: Appliance
  /** A provider whose models answer with `answer`, which is called with the name of the requested model. */
  provide(name: string, answer: Answer, wishes?: ProviderOptions): Promise<Socket>
  addModel(model: string, more?: object): Promise<void>
  close(): Promise<void>
}

/** One request as it arrived. */
export type Asked = Socket['seen'][number]

export type Answer = (response: ServerResponse, asked: Asked) => void | Promise<void>

export interface ProviderOptions {
  readonly type?: string
  readonly credential?: string | null
  readonly path?: string
}

export async function openScriptedGateway(options: StartOptions = {}): Promise<ScriptedGateway> {
  const cli = furnishCli(openCli())
  const providers: Socket[] = []
  const setup: ScriptedGateway = {
    cli,
    gateway: await startAppliance(cli, options),
    async provide(name, answer, { type = 'openai-compatible', credential = null, path } = {}) {
      const provider: Socket = await startProvider((response, n) => {
        const asked = provider.seen[n]
        if (!asked) throw new Error('a request that nobody saw')
        return answer(response, asked)
      })
      providers.push(provider)
      await setup.gateway.verb('providers.add', {
        name,
        type,
        base_url: provider.url + (path ?? '/v1'),
        credential,
      })
      return provider
    },
    async addModel(model, more = {}) {
      await setup.gateway.verb('models.add', { model, in_usd: '1', out_usd: '2', ...more })
    },
    async close() {
      await setup.gateway.kill()
      await Promise.all(providers.map((provider) => provider.stop()))
      cli.close()
    },
  }
  return setup
}

export const hello = (more: object = {}) => ({
  model: 'demo/echo',
  messages: [{ role: 'user' as const, content: 'hi' }],
  ...more,
})

/** A whole answer, or a stream of one word, with the provider's usage; undefined means no usage. */
export function say(response: ServerResponse, stream: unknown, usage?: unknown): void {
  const counted = usage === undefined ? {} : { usage }
  if (stream !== true) {
    const message = { role: 'assistant', content: 'four words are here' }
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], ...counted }),
    )
    return
  }
  response.setHeader('content-type', 'text/event-stream')
  for (const chunk of [
    { choices: [{ index: 0, delta: { content: 'four words are here' } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...counted },
  ]) {
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  response.end('data: [DONE]\n\n')
}
