// Damaged bodies on every surface, to a provider of the client's own dialect and to those that need a translation: no fault of the
// gateway, no money left held, every refusal in its own envelope, every stream with an end.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openHolds, until } from '#test/support/appliance.ts'
import { FULL } from '#test/support/tier.ts'
import { COUNTING, type EverySurface, openEverySurface, SURFACES } from './every-surface.ts'

const BODIES = FULL ? 1_000 : 40
const AT_ONCE = 20

let setup: EverySurface
beforeAll(async () => {
  setup = await openEverySurface()
})
afterAll(() => setup?.close())

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
type Bodies = Readonly<Record<string, Json>>

const PNG = 'iVBORw0KGgo='
const MARK = { cache_control: { type: 'ephemeral' } }
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }

/** A body of each surface with most that can be in it. */
const RICH: Bodies = {
  chat: {
    messages: [
      { role: 'system', content: 'be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'é', ...MARK },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
        reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: 's', format: 'x' }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'done' },
      { role: 'user', content: 'go on' },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: SCHEMA, strict: true } }],
    tool_choice: { type: 'function', function: { name: 'f' } },
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA } },
    reasoning_effort: 'low',
    stop: ['x'],
    max_tokens: 50,
    n: 1,
    stream: true,
    stream_options: { include_usage: true },
    user: 'u',
    modalities: ['text'],
    provider: { order: ['openai', 'wire'] },
    models: ['openai/m'],
  },
  messages: {
    system: [{ type: 'text', text: 'be brief', ...MARK }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'é' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } },
        ],
      },
      { role: 'system', content: 'mind this' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 's' },
          { type: 'redacted_thinking', data: 'd' },
          { type: 'text', text: 'I look' },
          { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 'b' } },
          { type: 'tool_use', id: 'toolu_2', name: 'f', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_2', content: 'b', is_error: false },
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            is_error: true,
            content: [{ type: 'text', text: 'a' }],
            ...MARK,
          },
        ],
      },
    ],
    tools: [{ name: 'f', description: 'd', input_schema: SCHEMA, ...MARK }],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    thinking: { type: 'enabled', budget_tokens: 1_024 },
    output_config: { effort: 'low', format: { type: 'json_schema', schema: SCHEMA } },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    metadata: { user_id: '{"account_uuid":"a","device_id":"d"}' },
    stop_sequences: ['x'],
    temperature: 1,
    top_k: 5,
    max_tokens: 2_000,
    stream: true,
  },
  responses: {
    instructions: 'be brief',
    input: [
      { role: 'developer', content: 'mind this' },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'é' },
          { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'low' },
        ],
      },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}', id: 'fc_1' },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'c', input: 'raw' },
      { type: 'function_call_output', call_id: 'call_1', output: 'done' },
      {
        type: 'custom_tool_call_output',
        call_id: 'call_2',
        output: [{ type: 'input_text', text: 'a' }],
      },
      { type: 'item_reference', id: 'rs_2' },
    ],
    tools: [
      { type: 'function', name: 'f', parameters: SCHEMA, strict: false },
      { type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
      { type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'g', parameters: {} }] },
      { type: 'web_search' },
      { type: 'local_shell' },
    ],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: { effort: 'low', summary: 'auto' },
    text: { format: { type: 'json_schema', name: 'n', schema: SCHEMA }, verbosity: 'low' },
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'k',
    store: true,
    truncation: 'disabled',
    max_output_tokens: 50,
    stream: true,
  },
  embeddings: { input: ['a', 'é'], dimensions: 2, encoding_format: 'base64', user: 'u' },
  rerank: { query: 'q', documents: ['a', { text: 'b' }], top_n: 1, return_documents: true },
}

const ODD: readonly Json[] = [
  null,
  true,
  0,
  -1,
  0.5,
  1e308,
  2 ** 53,
  '',
  'x'.repeat(300),
  '\ud800',
  'auto',
  [],
  {},
  [null],
  [[]],
  [{}],
  { type: 'text' },
  { type: null },
  { type: 'text', text: 7 },
  { type: 'image', source: {} },
  { url: 'data:' },
]

/** The same sequence each time. */
class Dice {
  private state: number

  constructor(seed: number) {
    this.state = seed
  }

  below(most: number): number {
    this.state = (this.state * 48_271) % 2_147_483_647
    return this.state % most
  }

  one<Thing>(things: readonly Thing[]): Thing {
    return things[this.below(things.length)] as Thing
  }
}

type Place = readonly [holder: Json[] | { [name: string]: Json }, name: string]

/** Every place of a value within another. */
function placesIn(value: Json): Place[] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as { [name: string]: Json }
  return Object.keys(holder).flatMap((name): Place[] => [
    [holder, name],
    ...placesIn(holder[name] as Json),
  ])
}

/** One to three places are replaced, taken out, or doubled; then perhaps the text is cut into. */
function damage(body: Json, dice: Dice): string {
  const damaged = structuredClone(body)
  for (let times = dice.below(3); times >= 0; times--) {
    const places = placesIn(damaged)
    if (places.length === 0) break
    const [holder, name] = dice.one(places)
    const fields = holder as { [name: string]: Json }
    const how = dice.below(5)
    if (how === 0 && Array.isArray(holder)) holder.splice(Number(name), 1)
    else if (how === 0) delete fields[name]
    else if (how === 1 && Array.isArray(holder)) holder.push(structuredClone(fields[name] as Json))
    else if (how === 1) fields[dice.one(['x', '__proto__', 'type', 'toString'])] = dice.one(ODD)
    else fields[name] = structuredClone(dice.one(ODD))
  }
  const text = JSON.stringify(damaged)
  if (dice.below(8) > 0) return text
  const at = dice.below(text.length)
  const junk = dice.one(['', ',', '}', '[[[[', '1e999', '"', '\\', '\u0000', '"a":1,'])
  return text.slice(0, at) + junk + text.slice(at + dice.below(9))
}

const KINDS: Readonly<Record<string, readonly string[]>> = {
  chat: ['openai/m', 'wire/chat', 'wire/responses', 'anthropic/m', 'google/gemini'],
  messages: ['anthropic/m', 'wire/chat', 'wire/responses', 'google/gemini'],
  count: ['anthropic/m', 'google/gemini'],
  responses: ['openai/m', 'wire/chat', 'anthropic/m', 'google/gemini'],
  embeddings: ['openai/e'],
  rerank: ['cohere/r'],
}

/** How a stream may end. */
const ENDS: Readonly<Record<string, RegExp>> = {
  chat: /^data: \[DONE\]\n\n$/,
  messages: /^event: (?:message_stop|error)\ndata: .*\n\n$/,
  responses: /^event: response\.(?:completed|incomplete|failed)\ndata: .*\n\n$/,
}

describe.each([...SURFACES, COUNTING])('$surface', (one) => {
  const rich = RICH[one.surface === 'count' ? 'messages' : one.surface] as { [name: string]: Json }

  test.each(KINDS[one.surface] ?? [])('to %s', async (model) => {
    const dice = new Dice(20_261_124)
    // Models that answer in the Responses API alone stop at no sequence.
    const { stop: _stop, stop_sequences: _sequences, ...plain } = rich
    const bodies = [
      JSON.stringify({ ...plain, model }),
      ...Array.from({ length: BODIES }, () =>
        damage({ model, ...(dice.below(2) === 0 ? plain : rich) }, dice),
      ),
    ]
    // Only so many prompts of a key are counted in a minute.
    const keys = [await setup.issue(), await setup.issue()]
    const pristine = await setup.ask(one, {}, {}, { body: bodies[0] ?? '' })
    const said = await pristine.text()
    expect([pristine.status, pristine.status === 200 ? '' : said]).toEqual([200, ''])
    const seen = new Map<number, number>()
    const check = async (body: string): Promise<void> => {
      const authorization = `Bearer ${keys[dice.below(keys.length)]}`
      const answer = await setup.ask(one, {}, { authorization }, { body })
      const text = await answer.text()
      const { status } = answer
      seen.set(status, (seen.get(status) ?? 0) + 1)
      expect([status < 500, body, status < 500 ? '' : text]).toEqual([true, body, ''])
      if (status !== 200) {
        const { type, error } = JSON.parse(text)
        const isMessages = one.path.startsWith('/v1/messages')
        expect([body, type, error.details?.code ?? error.code]).toEqual([
          body,
          isMessages ? 'error' : undefined,
          expect.any(String),
        ])
      } else if (/event-stream/.test(answer.headers.get('content-type') ?? '')) {
        const last = text.slice(Math.max(0, text.lastIndexOf('\n\n', text.length - 3) + 2))
        expect([body, last]).toEqual([body, expect.stringMatching(ENDS[one.surface] ?? /^$/)])
      } else expect(typeof JSON.parse(text)).toBe('object')
    }
    for (let from = 0; from < bodies.length; from += AT_ONCE) {
      await Promise.all(bodies.slice(from, from + AT_ONCE).map(check))
    }
    // They differ enough to be answered and refused.
    expect(seen.get(200)).toBeGreaterThan(0)
    expect(seen.get(400)).toBeGreaterThan(0)
  })
})

test('nothing stays held, and the books add up', async () => {
  await until(() => openHolds(setup.cli) === 0, 'nothing is held')
  const found = await fetch(`${setup.url}/v1/key`, {
    headers: { authorization: `Bearer ${setup.key}` },
  })
  expect(await found.json()).toMatchObject({ usage: { requests_in_progress: 0 } })
  expect(setup.cli.run(['audit']).code).toBe(0)
}, 60_000)
