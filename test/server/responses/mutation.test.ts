// Malformed Responses requests to providers of other APIs: none causes an internal error, each error has OpenAI's shape, and none leaves a hold open.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type AnyProvider,
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
  s.reply('gemini', sayInGemini({ text: 'Hello' }))
  s.reply('claude', sayInMessages('Hello'))
})
afterAll(() => s?.close())

const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(-1, 0, 1e308, 2 ** 53, '', 'x'.repeat(300), [], {}, [null], true, null),
)

const field = fc.constantFrom(
  ...['instructions', 'input', 'tools', 'tool_choice', 'reasoning', 'text', 'include', 'stream'],
  ...['max_output_tokens', 'truncation', 'metadata', 'user', 'prompt_cache_key', 'temperature'],
  ...['top_logprobs', 'parallel_tool_calls', 'store', 'models', '__proto__', 'constructor'],
)

const part = fc.oneof(
  fc.record(
    {
      type: fc.constantFrom(
        ...['input_text', 'output_text', 'refusal', 'input_image', 'input_file', 'input_audio'],
        ...['summary_text', '__proto__', 'x'],
      ),
      ...{ text: fc.oneof(fc.string(), anything), refusal: anything, input_audio: anything },
      ...{ image_url: fc.oneof(fc.constant('data:image/png;base64,AAAA'), anything) },
      ...{ file_data: anything, filename: anything, cache_control: anything },
    },
    { requiredKeys: ['type'] },
  ),
  anything,
)
const item = fc.oneof(
  fc.record(
    {
      type: fc.constantFrom(
        ...['message', 'reasoning', 'function_call', 'function_call_output', 'custom_tool_call'],
        ...['custom_tool_call_output', 'local_shell_call', 'local_shell_call_output', 'shell_call'],
        ...['shell_call_output', 'apply_patch_call', 'apply_patch_call_output', 'web_search_call'],
        ...['item_reference', 'compaction', '__proto__', 'x'],
      ),
      role: fc.oneof(fc.constantFrom('user', 'assistant', 'system', 'developer'), anything),
      content: fc.oneof(fc.string(), fc.array(part, { maxLength: 5 }), anything),
      id: fc.constantFrom('rs_gw00000000_1', 'rs_1', 'msg_1', ''),
      call_id: fc.oneof(fc.constantFrom('call_1', 'call_2', 'a.b:c'), anything),
      name: fc.oneof(fc.constantFrom('f', 'x'.repeat(99)), anything),
      arguments: fc.oneof(fc.constantFrom('{}', '{', ''), anything),
      output: fc.oneof(fc.string(), fc.array(part, { maxLength: 3 }), anything),
      ...{ namespace: anything, input: anything, action: anything, operation: anything },
      ...{ summary: anything, encrypted_content: anything, status: anything },
    },
    { requiredKeys: ['type'] },
  ),
  fc.record({ role: fc.constantFrom('user', 'assistant'), content: fc.string() }),
  anything,
)
const plainTool = fc.record(
  {
    type: fc.constantFrom('function', 'custom', 'local_shell', 'shell', 'apply_patch', 'x'),
    name: fc.oneof(fc.constantFrom('f', 'x'.repeat(99)), anything),
    ...{ parameters: anything, description: anything, strict: anything, format: anything },
  },
  { requiredKeys: ['type'] },
)
const tool = fc.oneof(
  plainTool,
  fc.record({
    type: fc.constant('namespace'),
    name: anything,
    tools: fc.oneof(fc.array(plainTool, { maxLength: 2 }), anything),
  }),
  anything,
)

const model = fc.constantFrom('chat/m', 'gemini/m', 'claude/m', 'demo/echo', 'mixed/m')
const asText = (more: object) => JSON.stringify(more)
const body = fc.oneof(
  fc
    .tuple(model, fc.dictionary(field, anything, { maxKeys: 4 }))
    .map(([name, more]) => asText({ model: name, input: 'hi', ...more })),
  fc
    .tuple(model, fc.array(item, { maxLength: 6 }), fc.array(tool, { maxLength: 3 }), fc.boolean())
    .map(([name, input, tools, stream]) => asText({ model: name, input, tools, stream })),
  fc.tuple(model, fc.nat(300), anyText({ maxLength: 5 })).map(([name, at, junk]) => {
    const good = asText({ model: name, input: [{ role: 'user', content: 'é' }], stream: true })
    return good.slice(0, at) + junk + good.slice(at + junk.length)
  }),
)

test('mutated bodies', async () => {
  await s.route('mixed/m', ['claude', 'chat', 'gemini'])
  const seen = new Map<number, number>()
  const headers = { ...s.key.bearer, 'content-type': 'application/json' }
  await fc.assert(
    fc.asyncProperty(body, async (text) => {
      const url = `${s.gateway.url}/v1/responses`
      const answer = await fetch(url, { method: 'POST', headers, body: text })
      const said = await answer.text()
      seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
      expect([answer.status < 500, text, said]).toEqual([true, text, said])
      if (answer.status === 200) {
        expect(said).toMatch(/"object":"response"/)
        expect(said).not.toContain('event: error')
        return
      }
      const { error, request_id } = JSON.parse(said) as Wire
      expect(request_id).toBe(answer.headers.get('x-request-id'))
      expect(error).toMatchObject({ code: expect.stringMatching(/^[a-z_]+$/) })
      expect(error).toMatchObject({ type: expect.any(String), message: expect.any(String) })
    }),
    { numRuns: REQUESTS, seed: SEED },
  )
  for (const status of [200, 400]) expect(seen.get(status)).toBeGreaterThan(REQUESTS / 20)
  expect([await s.openHolds(), await s.inProgress()]).toEqual([0, 0])
  expect((await s.deps.store.audit()).findings).toEqual([])
})
