// Malformed Messages requests to providers of other APIs: none causes an internal error, each error has Anthropic's shape, and none leaves a hold open.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type AnyProvider,
  hello,
  openAnyProvider,
  sayInChat,
  sayInGemini,
  sayInMessages,
  type Wire,
} from '#test/server/any-provider.ts'
import { anyText } from '#test/support/any-text.ts'
import { FULL } from '#test/support/tier.ts'

const REQUESTS = FULL ? 1_000 : 200
const SEED = 20_261_124

let s: AnyProvider
beforeAll(async () => {
  s = await openAnyProvider()
  s.reply('chat', sayInChat({ content: 'Hello' }))
  s.reply('router', sayInChat({ content: 'Hello' }))
  s.reply('gemini', sayInGemini({ text: 'Hello' }))
  s.reply('claude', sayInMessages('Hello'))
})
afterAll(() => s?.close())

const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(-1, 0, 1e308, 2 ** 53, '', 'x'.repeat(300), [], {}, [null], true, null),
)

const field = fc.constantFrom(
  ...['system', 'messages', 'tools', 'tool_choice', 'thinking', 'output_config', 'output_format'],
  ...['stop_sequences', 'metadata', 'max_tokens', 'stream', 'temperature', 'top_k', 'models'],
  ...['cache_control', 'context_management', 'service_tier', '__proto__', 'constructor'],
)

const blockType = fc.constantFrom(
  ...['text', 'image', 'document', 'tool_use', 'tool_result', 'thinking', 'redacted_thinking'],
  ...['search_result', 'server_tool_use', 'web_search_tool_result', 'tool_reference', '__proto__'],
)
const source = fc.oneof(
  fc.record({
    type: fc.constantFrom('base64', 'url', 'text', 'content', 'x'),
    media_type: fc.constantFrom('image/png', 'application/pdf', 'x'),
    data: fc.oneof(fc.constant('AAAA'), anything),
    url: fc.oneof(fc.constant('https://example.test/a.png'), anything),
    content: anything,
  }),
  anything,
)
const id = fc.constantFrom('toolu_1', 'toolu_2', 'a.b:c', '')
const block = fc.oneof(
  fc.record(
    {
      ...{ type: blockType, text: fc.oneof(fc.string(), anything), source, id, tool_use_id: id },
      ...{ name: fc.oneof(fc.constant('f'), anything), input: anything, content: anything },
      ...{ thinking: anything, signature: anything, data: anything, is_error: anything },
      cache_control: anything,
    },
    { requiredKeys: ['type'] },
  ),
  anything,
)
const message = fc.record({
  role: fc.oneof(fc.constantFrom('user', 'assistant', 'system'), anything),
  content: fc.oneof(fc.string(), fc.array(block, { maxLength: 6 }), anything),
})
const tool = fc.oneof(
  fc.record(
    {
      type: fc.constantFrom('custom', 'bash_20250124', 'web_search_20250305', '__proto__'),
      name: fc.oneof(fc.constantFrom('f', 'x'.repeat(99)), anything),
      input_schema: anything,
      description: anything,
      strict: anything,
    },
    { requiredKeys: ['name'] },
  ),
  anything,
)

const model = fc.constantFrom('chat/m', 'router/m', 'gemini/m', 'demo/echo', 'mixed/m')
const asText = (more: object) => JSON.stringify(more)
const body = fc.oneof(
  fc
    .tuple(model, fc.dictionary(field, anything, { maxKeys: 4 }))
    .map(([name, more]) => asText({ ...hello(name), ...more })),
  fc
    .tuple(model, fc.array(message, { maxLength: 5 }), fc.array(tool, { maxLength: 3 }))
    .map(([name, messages, tools]) => asText({ ...hello(name), messages, tools })),
  fc.tuple(model, fc.nat(300), anyText({ maxLength: 5 })).map(([name, at, junk]) => {
    const good = asText(hello(name, { stream: true, system: 'x', tools: [{ name: 'f' }] }))
    return good.slice(0, at) + junk + good.slice(at + junk.length)
  }),
)

test('mutated bodies', async () => {
  await s.route('mixed/m', ['claude', 'chat', 'gemini'])
  const seen = new Map<number, number>()
  await fc.assert(
    fc.asyncProperty(body, fc.constantFrom('', '/count_tokens'), async (text, end) => {
      const answer = await s.ask(text, {}, `/v1/messages${end}`)
      const said = await answer.text()
      seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
      expect([answer.status < 500, text, said]).toEqual([true, text, said])
      if (answer.status === 200) return
      const { type, error, request_id } = JSON.parse(said) as Wire
      expect([type, request_id]).toEqual(['error', answer.headers.get('request-id')])
      expect(error).toMatchObject({ type: expect.any(String), message: expect.any(String) })
      expect(error.details.code).toMatch(/^[a-z_]+$/)
    }),
    { numRuns: REQUESTS, seed: SEED },
  )
  for (const status of [200, 400]) expect(seen.get(status)).toBeGreaterThan(REQUESTS / 20)
  expect([await s.openHolds(), await s.inProgress()]).toEqual([0, 0])
  expect((await s.deps.store.audit()).findings).toEqual([])
})
