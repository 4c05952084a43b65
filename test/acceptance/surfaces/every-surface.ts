/** A gateway with every surface, each with a model that its provider serves in the client's own words. */
import type { ServerResponse } from 'node:http'
import type { StartOptions } from '#test/support/appliance.ts'
import { type Asked, openScriptedGateway, type ScriptedGateway } from '../traps/scripted-gateway.ts'
import { tell } from './any-family.ts'

export interface SurfaceCase {
  readonly surface: string
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** The field of the end user. */
  readonly endUser: string
  readonly streams: boolean
}

const CHAT = { messages: [{ role: 'user', content: 'hi' }], max_tokens: 20 }

export const SURFACES: readonly SurfaceCase[] = [
  {
    surface: 'chat',
    path: '/v1/chat/completions',
    body: { model: 'openai/m', ...CHAT },
    endUser: 'user',
    streams: true,
  },
  {
    surface: 'messages',
    path: '/v1/messages',
    body: { model: 'anthropic/m', ...CHAT },
    endUser: 'metadata.user_id',
    streams: true,
  },
  {
    surface: 'responses',
    path: '/v1/responses',
    body: { model: 'openai/m', input: 'hi', max_output_tokens: 20 },
    endUser: 'user',
    streams: true,
  },
  {
    surface: 'embeddings',
    path: '/v1/embeddings',
    body: { model: 'openai/e', input: 'hi' },
    endUser: 'user',
    streams: false,
  },
  {
    surface: 'rerank',
    path: '/v1/rerank',
    body: { model: 'cohere/r', query: 'hi', documents: ['a', 'b'] },
    endUser: 'user',
    streams: false,
  },
]

/** The same surfaces, to models of other wires. */
export const TRANSLATED: readonly SurfaceCase[] = SURFACES.flatMap((one) => {
  const models: Readonly<Record<string, readonly string[]>> = {
    chat: ['wire/responses', 'anthropic/m', 'google/gemini'],
    messages: ['wire/chat', 'wire/responses', 'google/gemini'],
    responses: ['wire/chat', 'anthropic/m', 'google/gemini'],
  }
  return (models[one.surface] ?? []).map((model) => ({ ...one, body: { ...one.body, model } }))
})

/** Costs nothing, and is no request of the log. */
export const COUNTING: SurfaceCase = {
  surface: 'count',
  path: '/v1/messages/count_tokens',
  body: { model: 'anthropic/m', messages: CHAT.messages },
  endUser: 'metadata.user_id',
  streams: false,
}

export interface EverySurface extends ScriptedGateway {
  readonly url: string
  readonly key: string
  /** What all providers were asked, oldest first. */
  readonly seen: readonly Asked[]
  /** The next answers are these; without an argument, the usual ones. */
  answer(with_?: (response: ServerResponse, asked: Asked) => void | Promise<void>): void
  ask(
    one: SurfaceCase,
    more?: Readonly<Record<string, unknown>>,
    headers?: Readonly<Record<string, string>>,
    init?: RequestInit,
  ): Promise<Response>
  issue(fields?: object): Promise<string>
}

export async function openEverySurface(options: StartOptions = {}): Promise<EverySurface> {
  const setup = await openScriptedGateway(options)
  const seen: Asked[] = []
  let next: (response: ServerResponse, asked: Asked) => void | Promise<void> = tell
  const hear = (response: ServerResponse, asked: Asked) => {
    seen.push(asked)
    return next(response, asked)
  }
  for (const type of ['openai', 'anthropic', 'cohere']) {
    await setup.provide(type, hear, { type, credential: `sk-${type}-own` })
  }
  const add = (model: string, card: object) => setup.gateway.verb('models.add', { model, ...card })
  await add('openai/m', { in_usd: '1', out_usd: '2' })
  await add('anthropic/m', { in_usd: '1', out_usd: '2', max_completion_tokens: 8_000 })
  await add('openai/e', { kind: 'embed', in_usd: '1' })
  await add('cohere/r', { kind: 'rerank', per_search_unit_usd: '0.002' })
  await setup.provide('wire', hear)
  await add('wire/chat', { in_usd: '1', out_usd: '2' })
  await add('wire/responses', { in_usd: '1', out_usd: '2', wires: ['responses'] })
  await setup.provide('google', hear, { type: 'google', credential: 'sk-google-own' })
  await add('google/gemini', { in_usd: '1', out_usd: '2' })
  const issue = async (fields: object = {}): Promise<string> =>
    (await setup.gateway.verb('keys.create', { name: 'k', ...fields })).key
  const key = await issue({ rpm_limit: 100_000 })
  return Object.assign(setup, {
    url: setup.gateway.url,
    key,
    seen,
    issue,
    answer(with_: typeof next = tell) {
      next = with_
    },
    ask: ({ path, body }: SurfaceCase, more = {}, headers = {}, init: RequestInit = {}) =>
      fetch(setup.gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ ...body, ...more }),
        ...init,
      }),
  })
}

/** The fields of an error in the shape of its surface. */
export async function refusalOf(answer: Response) {
  const { type, error, request_id } = JSON.parse(await answer.text())
  const isMessages = type === 'error'
  const { code, param, ...metadata } = isMessages
    ? error.details
    : { code: error.code, param: error.param, ...error.metadata }
  return {
    isMessages,
    status: answer.status,
    type: error.type as string,
    message: error.message as string,
    code: code as string,
    param: (param ?? null) as string | null,
    metadata: metadata as Readonly<Record<string, unknown>>,
    request_id: request_id as string,
  }
}
