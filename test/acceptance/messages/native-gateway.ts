/** A gateway with one model of a provider that speaks Anthropic's API and answers what a test scripts; and recorded exchanges of that API. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { type Asked, openScriptedGateway, type ScriptedGateway } from '../traps/scripted-gateway.ts'

export const MODEL = 'claude/sonnet'
/** Per million: prices that no other has, so that a class counted as another is seen. */
const PRICES = { in_usd: '3', out_usd: '15', cached_in_usd: '0.3', cache_write_usd: '3.75' }

export interface NativeGateway extends ScriptedGateway {
  readonly url: string
  readonly key: string
  /** What the provider was asked, oldest first. */
  readonly seen: readonly Asked[]
  /** The next answers are these. */
  answer(with_: (response: ServerResponse, asked: Asked) => void | Promise<void>): void
  ask(body: unknown, headers?: Record<string, string>, path?: string): Promise<Response>
  issue(fields?: object): Promise<string>
  aborted(n: number): Promise<void>
}

export async function openNativeGateway(): Promise<NativeGateway> {
  const setup = await openScriptedGateway()
  let next: (response: ServerResponse, asked: Asked) => void | Promise<void> = sayHello
  const provider = await setup.provide('claude', (response, asked) => next(response, asked), {
    type: 'anthropic',
    credential: 'sk-ant-operator',
    path: '/v1',
  })
  await setup.addModel(MODEL, {
    ...PRICES,
    upstream: 'claude-sonnet-4-5',
    max_completion_tokens: 64_000,
  })
  const issue = async (fields: object = {}): Promise<string> =>
    (await setup.gateway.verb('keys.create', { name: 'reader', ...fields })).key
  const key = await issue()
  return Object.assign(setup, {
    url: setup.gateway.url,
    key,
    seen: provider.seen,
    answer(with_: typeof next) {
      next = with_
    },
    issue,
    aborted: (n: number) => provider.aborted(n),
    ask: (body: unknown, headers = {}, path = '/v1/messages') =>
      fetch(setup.gateway.url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'anthropic-version': '2023-06-01',
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
  })
}

export const hello = (more: object = {}) => ({
  model: MODEL,
  max_tokens: 100,
  messages: [{ role: 'user', content: 'hi' }],
  ...more,
})

export const frame = (data: { readonly type: string }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

const USAGE = { input_tokens: 7, cache_read_input_tokens: 2, cache_creation_input_tokens: 1 }

/** The events of a short answer, one frame each. */
export const STREAM: readonly string[] = [
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...USAGE, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'ping' },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello ✓' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 5 },
  },
  { type: 'message_stop' },
].map(frame)

export const WHOLE = `{ "id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5",
 "content":[{"type":"text","text":"Hello \\u2713"}],"stop_reason":"end_turn","stop_sequence":null,
 "usage":{"input_tokens":7,"cache_read_input_tokens":2,"cache_creation_input_tokens":1,"output_tokens":5} }`

/** Of the counts above at the prices above, in dollars. */
export const COST = 0.00010035

export function sayHello(response: ServerResponse, { body }: Pick<Asked, 'body'>): void {
  response.setHeader('request-id', 'req_of_the_provider')
  response.setHeader('anthropic-ratelimit-requests-remaining', '3')
  response.setHeader(
    'content-type',
    body['stream'] === true ? 'text/event-stream' : 'application/json',
  )
  response.end(body['stream'] === true ? STREAM.join('') : WHOLE)
}

interface Recorded {
  readonly request: {
    readonly headers: Readonly<Record<string, string>>
    readonly body: Readonly<Record<string, unknown>>
  }
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body?: unknown
    readonly sse?: string
  }
}

const SURFACES = fileURLToPath(new URL('../../../../shared/surfaces/', import.meta.url))

/** Recorded exchanges by name; none where they are not there. */
export function recordedMessages(): readonly (readonly [name: string, recorded: Recorded])[] {
  const folder = `${SURFACES}recordings/anthropic-messages`
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .toSorted()
    .map((file) => [
      file.replace('.json', ''),
      JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')),
    ])
}

export interface Captured {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** What clients have sent, by name; none where they are not there. */
export function capturedRequests(of: RegExp): readonly (readonly [string, Captured])[] {
  const folder = `${SURFACES}captures`
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((file) => of.test(file) && file.endsWith('.json'))
    .toSorted()
    .map((file) => {
      const { request } = JSON.parse(readFileSync(`${folder}/${file}`, 'utf8'))
      const { method, path, headers, body } = request
      return [
        file.replace('.json', ''),
        { method, path, headers: Object.fromEntries(headers), body },
      ]
    })
}
