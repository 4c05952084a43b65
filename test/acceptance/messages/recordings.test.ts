// Recorded exchanges of Anthropic's API pass through unchanged, however their bytes come; what clients have sent is answered; what is malformed does no harm.

import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nanos, until } from '#test/support/appliance.ts'
import { FULL } from '#test/support/tier.ts'
import {
  capturedRequests,
  hello,
  MODEL,
  type NativeGateway,
  openNativeGateway,
  recordedMessages,
  sayHello,
} from './native-gateway.ts'

let setup: NativeGateway

beforeAll(async () => {
  setup = await openNativeGateway()
})
afterAll(() => setup?.close())

/** What no card has a price for, what belongs to the operator's account, and what the gateway would have to keep. */
const UNSERVED =
  /"ttl":"1h"|"type":"(?:web_search|web_fetch|code_execution|tool_search\w*|advisor)_20\d+"|"file_id":|"(?:container|mcp_servers|thread|fallbacks)":|"speed":"fast"/

const isServed = (body: unknown): boolean => !UNSERVED.test(JSON.stringify(body) ?? '')

const all = recordedMessages()
const good = all.filter(
  ([, { request, response }]) => response.status === 200 && isServed(request.body),
)

const textOf = (response: (typeof all)[number][1]['response']): string =>
  response.sse ?? JSON.stringify(response.body)

/** The pieces in the order in which they leave, each on its own. */
async function send(response: ServerResponse, pieces: readonly Uint8Array[]): Promise<void> {
  for (const piece of pieces) {
    response.write(piece)
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  response.end()
}

const bodyOf = (recorded: (typeof all)[number][1]): Record<string, unknown> => ({
  ...(recorded.request.body ?? {
    ...hello({ max_tokens: 60_000 }),
    stream: recorded.response.sse !== undefined,
  }),
  model: MODEL,
})

/** As the last counts of an answer say, at the prices of the card, in nano-dollars. */
function priceOf(text: string): bigint {
  const usages = [...text.matchAll(/"usage":\s*(\{(?:[^{}]|\{[^{}]*\})*\})/g)].map(
    ([, usage = '{}']) => JSON.parse(usage) as Record<string, number>,
  )
  const last = (name: string): bigint =>
    BigInt(usages.findLast((usage) => usage[name])?.[name] ?? 0)
  return (
    last('input_tokens') * 3_000n +
    last('cache_read_input_tokens') * 300n +
    last('cache_creation_input_tokens') * 3_750n +
    last('output_tokens') * 15_000n
  )
}

describe.skipIf(all.length === 0)('recordings', () => {
  test('are all there', () => {
    expect([all.length, good.length]).toEqual([37, 23])
  })

  test.each(good)(
    '%s passes unchanged, and costs its units at the price of the card',
    async (_, recorded) => {
      const { response } = recorded
      const text = textOf(response)
      const bytes = new TextEncoder().encode(text)
      const size = response.sse === undefined ? bytes.length : FULL ? 1 : 7
      setup.answer(async (answer) => {
        answer.setHeader('content-type', response.headers['content-type'] ?? 'application/json')
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
          bytes.subarray(i * size, (i + 1) * size),
        )
        await send(answer, pieces)
      })
      const body = bodyOf(recorded)
      const sent = JSON.stringify(body, null, 1)
      const answer = await setup.ask(sent, recorded.request.headers)
      expect(await answer.text()).toBe(text)
      expect(answer.status).toBe(200)
      const upstream = setup.seen.at(-1)?.text
      expect(upstream).toBe(sent.replace(`"model": "${MODEL}"`, '"model": "claude-sonnet-4-5"'))
      const charge = async () =>
        (await setup.gateway.verb('ledger.list', { kind: 'charge', limit: 1 }))[0]
      const id = answer.headers.get('x-generation-id')
      await until(async () => (await charge())?.generation_id === id, 'the charge')
      if (!/"iterations"/.test(text)) {
        expect(-nanos((await charge())?.amount_usd ?? '0')).toBe(priceOf(text))
      }
    },
  )

  test.each(all.filter(([, { request }]) => !isServed(request.body)))(
    '%s is refused',
    async (_, recorded) => {
      const asked = setup.seen.length
      const answer = await setup.ask(bodyOf(recorded), recorded.request.headers)
      expect(answer.status).toBe(400)
      expect(await answer.json()).toMatchObject({
        error: { details: { code: 'unsupported_parameter' } },
      })
      expect(setup.seen.length).toBe(asked)
    },
  )

  test.each(good.filter(([, { response }]) => response.sse !== undefined))(
    '%s, cut anywhere: what came, then an error, and never the end',
    async (_, recorded) => {
      const { sse = '' } = recorded.response
      const bytes = new TextEncoder().encode(sse)
      const end = sse.indexOf('event: message_delta')
      for (let cut = 1; cut <= (FULL ? 10 : 3); cut++) {
        const at = Math.floor((end * cut) / 11)
        setup.answer((answer) => {
          answer.setHeader('content-type', 'text/event-stream')
          answer.write(bytes.subarray(0, at), () => answer.destroy())
        })
        const answer = await setup.ask(bodyOf(recorded), recorded.request.headers)
        const text = await answer.text()
        if (answer.status !== 200) continue
        const error = text.indexOf('event: error')
        expect(sse.startsWith(text.slice(0, error))).toBe(true)
        expect(text.slice(error)).toMatch(/^event: error\ndata: .*\n\n$/)
      }
      setup.answer(sayHello)
    },
  )
})

const OWN_HEADERS = /^(?:authorization|x-api-key|host|connection|content-length|accept-encoding)$/i

describe.skipIf(capturedRequests(/^claude/).length === 0)('captured requests', () => {
  const captures = capturedRequests(
    /^(?:claude-code|anthropic-js|anthropic-py|opencode|aider|ai-sdk|langchain|litellm)\./,
  ).filter(([, { path, method }]) => method === 'POST' && /^\/v1\/messages(?:\?|$)/.test(path))

  test('are many', () => {
    expect(captures.length).toBeGreaterThan(50)
  })

  test.each(captures)(
    '%s is answered, or refused as it must be',
    async (_, { path, headers, body }) => {
      setup.answer(sayHello)
      const sent: Record<string, string> = {}
      for (const [header, value] of Object.entries(headers)) {
        if (!OWN_HEADERS.test(header)) sent[header.toLowerCase()] = value
      }
      const answer = await setup.ask({ ...(body as object), model: MODEL }, sent, path)
      const text = await answer.text()
      const isRefused = !isServed(body)
      expect([answer.status, text]).toEqual([isRefused ? 400 : 200, expect.any(String)])
      if (isRefused) expect(JSON.parse(text).error.type).toBe('invalid_request_error')
    },
  )
})
