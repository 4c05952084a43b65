// Every field by which a vendor's price changes: without a price or a factor on the card it is refused, on every surface; with one it is held and charged.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nanos } from '#test/support/appliance.ts'
import { type EverySurface, openEverySurface, refusalOf, SURFACES } from './every-surface.ts'

let setup: EverySurface
beforeAll(async () => {
  setup = await openEverySurface()
  await setup.gateway.verb('models.add', {
    model: 'anthropic/long',
    in_usd: '1',
    out_usd: '2',
    cache_write_1h_usd: '100',
    max_completion_tokens: 8_000,
  })
})
afterAll(() => setup?.close())

const LONG = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const FUNCTION = { type: 'function', parameters: {} }
const tool = (type: string) => ({ tools: [{ type, name: 'x' }] })

type Fields = Readonly<Record<string, unknown>>

/** What is sent, and what is named: the name of the field is its beginning. */
const PRICED: readonly (readonly [Fields, string])[] = [
  ...['priority', 'flex', 'scale', 'fast', 'ultrafast', 'batch', 'performance'].map(
    (service_tier) => [{ service_tier }, 'service_tier'] as const,
  ),
  [{ speed: 'fast' }, 'speed'],
  [{ inference_geo: 'us' }, 'inference_geo'],
  [LONG, 'cache_control.ttl'],
  [
    { tools: [{ type: 'function', name: 'f', input_schema: {}, ...LONG }] },
    'tools[0].cache_control.ttl',
  ],
  [{ prompt_cache_options: { ttl: '12h' } }, 'prompt_cache_options.ttl'],
  ...[
    'web_search_20250305',
    'web_fetch_20250910',
    'code_execution_20250825',
    'tool_search_tool_regex_20251119',
    'advisor_20260301',
    'mcp_toolset',
    'file_search',
    'code_interpreter',
    'image_generation',
    'mcp',
    'computer_use_preview',
    'programmatic_tool_calling',
    'openrouter:web_search',
    'live_search',
  ].map((type) => [tool(type), 'tools[0].type'] as const),
  [{ web_search_options: {} }, 'web_search_options'],
  [
    { web_search_options: { search_context_size: 'high' } },
    'web_search_options.search_context_size',
  ],
  [{ web_search_options: { search_type: 'pro' } }, 'web_search_options.search_type'],
  [{ web_search: { enable: true } }, 'web_search'],
  [{ enable_search: true }, 'enable_search'],
  [{ search_parameters: { mode: 'auto' } }, 'search_parameters'],
  [{ venice_parameters: { enable_web_search: 'on' } }, 'venice_parameters.enable_web_search'],
  [{ venice_parameters: { enable_web_scraping: true } }, 'venice_parameters.enable_web_scraping'],
  [{ venice_parameters: { enable_x_search: true } }, 'venice_parameters.enable_x_search'],
  [{ plugins: [{ id: 'web' }] }, 'plugins[0]'],
  [{ data_sources: [{}] }, 'data_sources'],
  [{ container: 'c' }, 'container'],
  [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
  [{ conversation: 'conv_1' }, 'conversation'],
  [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
  [{ cached_content: 'cachedContents/1' }, 'cached_content'],
  [{ file_ids: ['file-1'] }, 'file_ids'],
  [{ vector_store_ids: ['vs_1'] }, 'vector_store_ids'],
  [{ prediction: { type: 'content', content: 'x' } }, 'prediction'],
  [{ audio: { voice: 'alloy', format: 'wav' } }, 'audio'],
  [{ modalities: ['text', 'audio'] }, 'modalities'],
  [{ background: true }, 'background'],
  [{ deferred: true }, 'deferred'],
  [{ batch: true }, 'batch'],
  [{ priority: 'high' }, 'priority'],
  [{ fallbacks: [{ model: 'x' }] }, 'fallbacks'],
  [{ preset: 'dear' }, 'preset'],
  [{ compound_custom: { models: {} } }, 'compound_custom'],
  [{ safety_model: 'x' }, 'safety_model'],
  [{ fallback_credit_token: 't' }, 'fallback_credit_token'],
  [{ billing_policy: { bill_to: 'user_profile' } }, 'billing_policy.bill_to'],
  [{ image_config: { font_inputs: [{}] } }, 'image_config.font_inputs'],
  [
    { image_config: { super_resolution_references: [{}] } },
    'image_config.super_resolution_references',
  ],
  [{ extra_body: { service_tier: 'priority' } }, 'extra_body.service_tier'],
]

/** Where each surface has its parts. */
const MARKED: Readonly<Record<string, readonly (readonly [Fields, string])[]>> = {
  chat: [
    [{ messages: [{ role: 'user', content: 'hi', ...LONG }] }, 'messages[0].cache_control.ttl'],
    [
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', ...LONG }] }] },
      'messages[0].content[0].cache_control.ttl',
    ],
  ],
  messages: [
    [{ system: [{ type: 'text', text: 'hi', ...LONG }] }, 'system[0].cache_control.ttl'],
    [{ messages: [{ role: 'user', content: 'hi', ...LONG }] }, 'messages[0].cache_control.ttl'],
    [
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'hi' },
              {
                type: 'tool_addition',
                tool: {
                  type: 'tool_definition',
                  definition: { type: 'web_search_20250305', name: 'web_search' },
                },
              },
            ],
          },
        ],
      },
      'messages[0].content[1].tool.definition.type',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', ...LONG }] }] },
      'messages[0].content[0].cache_control.ttl',
    ],
  ],
  responses: [
    [{ input: [{ role: 'user', content: 'hi', ...LONG }] }, 'input[0].cache_control.ttl'],
    ...['web_search', 'code_interpreter'].map(
      (type) =>
        [
          { input: [{ type: 'additional_tools', role: 'developer', tools: [{ type }] }] },
          'input[0].tools[0].type',
        ] as const,
    ),
    [
      { input: [{ type: 'tool_search_output', tools: [{ type: 'function' }, { type: 'mcp' }] }] },
      'input[0].tools[1].type',
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_text', text: 'hi', ...LONG }] }] },
      'input[0].content[0].cache_control.ttl',
    ],
    [
      {
        input: [
          { role: 'user', content: 'hi' },
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
          {
            type: 'function_call_output',
            call_id: 'c',
            output: [{ type: 'input_text', text: 'hi', ...LONG }],
          },
        ],
      },
      'input[2].output[0].cache_control.ttl',
    ],
    [
      {
        tools: [
          { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f', ...LONG }] },
        ],
      },
      'tools[0].tools[0].cache_control.ttl',
    ],
  ],
}

/** The same fields where they change nothing. */
const FREE: Fields = {
  service_tier: 'auto',
  speed: 'standard',
  inference_geo: 'global',
  cache_control: { type: 'ephemeral', ttl: '5m' },
  prompt_cache_options: { ttl: '30m' },
  prompt_cache_retention: '24h',
  enable_search: false,
  search_parameters: { mode: 'off' },
  background: false,
  deferred: false,
  batch: false,
  priority: 5,
  billing_policy: { bill_to: 'self' },
  modalities: ['text'],
  plugins: [{ id: 'response-healing' }],
}

describe.each(SURFACES)('$surface', (one) => {
  test.each([...PRICED, ...(MARKED[one.surface] ?? [])])(
    '%j is refused: no card here has a price for it',
    async (more, param) => {
      const asked = setup.seen.length
      const { status, code, param: named, message } = await refusalOf(await setup.ask(one, more))
      // The contract's own word for it, on chat.
      const isModality = one.surface === 'chat' && param === 'modalities'
      expect([status, code, named]).toEqual([
        400,
        isModality ? 'unsupported_modality' : 'unsupported_parameter',
        param,
      ])
      expect(message).toContain(param)
      expect(setup.seen.length).toBe(asked)
    },
  )

  test('what changes nothing passes, for nothing more', async () => {
    const answer = await setup.ask(one, FREE)
    expect([answer.status, answer.status === 200 ? '' : await answer.text()]).toEqual([200, ''])
  })

  test('null is absent', async () => {
    const nulls = Object.fromEntries(
      PRICED.flatMap(([more]) => Object.keys(more).map((name) => [name, null])),
    )
    // A null list of tools is not one of the shapes of every vendor.
    const { tools: _, ...others } = nulls
    expect((await setup.ask(one, others)).status).toBe(200)
  })
})

/** Every lane to Anthropic's wire passes the mark on: in the client's own words, and translated. */
describe.each(
  SURFACES.slice(0, 3).map((one) => ({ ...one, body: { ...one.body, model: 'anthropic/m' } })),
)("caching for an hour from $surface to Anthropic's wire", (one) => {
  const tool: Fields = {
    tools: [
      one.surface === 'chat'
        ? { type: 'function', function: { name: 'f' }, ...LONG }
        : { name: 'f', input_schema: {}, ...(one.surface === 'responses' && FUNCTION), ...LONG },
    ],
  }
  const places: readonly (readonly [Fields, string])[] = [
    [LONG, 'cache_control.ttl'],
    [tool, 'tools[0].cache_control.ttl'],
    ...(MARKED[one.surface] ?? []).filter(([, param]) => param.endsWith('.ttl')),
  ]

  test.each(places)('%j is refused without a price', async (more, param) => {
    const asked = setup.seen.length
    const { status, code, param: named } = await refusalOf(await setup.ask(one, more))
    expect([status, code, named]).toEqual([400, 'unsupported_parameter', param])
    expect(setup.seen.length).toBe(asked)
  })

  test.each(places)('%j is held by its price, and sent', async (more, param) => {
    const dear = { ...one, body: { ...one.body, model: 'anthropic/long' } }
    const most = async (asked: Fields): Promise<bigint> => {
      const quoted = await setup.ask(dear, asked, { 'x-gateway-dry-run': 'true' })
      return nanos(((await quoted.json()) as { max_cost_usd: string }).max_cost_usd)
    }
    const short = JSON.parse(JSON.stringify(more).replaceAll('"1h"', '"5m"')) as Fields
    expect(await most(more)).toBeGreaterThan((await most(short)) * 2n)
    expect((await setup.ask(dear, more)).status).toBe(200)
    // Translated, parts have marks and a whole message has none.
    const isItem = one.surface !== 'messages' && /^(?:input|messages)\[0\]\.cache/.test(param)
    expect(setup.seen.at(-1)?.text.includes('"1h"')).toBe(!isItem)
  })
})

test('the page of providers names each', () => {
  const page = readFileSync('docs/providers.md', 'utf8')
  const [, part = ''] = /## What costs extra\n([\s\S]*?)\n## Anthropic/.exec(page) ?? []
  const names = new Set(PRICED.map(([, param]) => /^\w+/.exec(param)?.[0] ?? ''))
  expect([...names].filter((name) => !part.includes(name))).toEqual([])
})

const FACTORS: Readonly<Record<string, string>> = {
  'service_tier=priority': '2',
  'service_tier=flex': '0.5',
  'speed=fast': '6',
  'inference_geo=us': '1.1',
}

describe('with a factor on the card', () => {
  /** Those whose providers are sent such fields. */
  const able = SURFACES.filter(({ surface }) => surface !== 'rerank')

  beforeAll(async () => {
    for (const { body } of able) {
      const model = String(body['model'])
      if (model === 'openai/e') {
        await setup.gateway.verb('models.price', { model, in_usd: '1', modifiers: FACTORS })
      } else {
        await setup.gateway.verb('models.price', {
          model,
          in_usd: '1',
          out_usd: '2',
          modifiers: FACTORS,
        })
      }
    }
  })

  const chargeOf = async (answer: Response): Promise<bigint> => {
    await answer.text()
    const [entry] = await setup.gateway.verb('ledger.list', { kind: 'charge', limit: 1 })
    expect(entry?.generation_id).toBe(answer.headers.get('x-generation-id'))
    return -nanos(entry?.amount_usd ?? '0')
  }

  test.each(able)('$surface holds and charges it exactly', async (one) => {
    const most = async (more: Fields): Promise<bigint> => {
      const quoted = await setup.ask(one, more, { 'x-gateway-dry-run': 'true' })
      return nanos(((await quoted.json()) as { max_cost_usd: string }).max_cost_usd)
    }
    const plain = await chargeOf(await setup.ask(one))
    for (const [name, factor] of Object.entries(FACTORS)) {
      const [field = '', value] = name.split('=')
      const asked = { [field]: value }
      const charge = await chargeOf(await setup.ask(one, asked))
      expect([name, charge]).toEqual([name, (plain * nanos(factor)) / nanos('1')])
      const held = await most(asked)
      // A lower factor is held too: by the same rule, what is sent is held at its own price.
      const bytes = JSON.stringify(asked).length
      const least = ((await most({})) * nanos(factor)) / nanos('1')
      expect(held).toBeGreaterThanOrEqual(least)
      expect(held).toBeLessThan(least + (BigInt(bytes) * 1_000n * nanos(factor)) / nanos('1') + 10n)
    }
  })
})

describe('a name that is stated twice, of which another parser takes the first', () => {
  const twice: readonly string[] = [
    '"service_tier":"priority","service_tier":"auto"',
    '"max_tokens":90000,"max_tokens":1,"max_output_tokens":90000,"max_output_tokens":1',
    '"odd":[{"type":"a","type":"b"}]',
    '"odd":{"t\\u0079pe":"a","type":"b"}',
  ]
  const native = SURFACES.filter(({ surface }) => /messages|responses/.test(surface))

  test.each(native)('is refused on $surface, whose body leaves as it came', async (one) => {
    for (const text of twice) {
      const asked = setup.seen.length
      const body = `{${text},${JSON.stringify(one.body).slice(1)}`
      const { status, code } = await refusalOf(await setup.ask(one, {}, {}, { body }))
      expect([text, status, code]).toEqual([text, 400, 'invalid_request'])
      expect(setup.seen.length).toBe(asked)
    }
    const fine = `{"odd":{"a":"\\": \\"b\\": ","b":["a: ",{"a":{}},{"a":1e3}],"__proto__":{"x":1}},${JSON.stringify(one.body).slice(1)}`
    expect((await setup.ask(one, {}, {}, { body: fine })).status).toBe(200)
  })

  test.each(SURFACES.filter((one) => !native.includes(one)))(
    'leaves once from $surface, whose body is written anew',
    async (one) => {
      const long = `"odd":"${'x'.repeat(4_000)}"`
      const body = `{${long},"seed":1,"seed":2,${JSON.stringify(one.body).slice(1)}`
      expect((await setup.ask(one, {}, {}, { body })).status).toBe(200)
      expect(setup.seen.at(-1)?.text.split('"seed"').length).toBe(2)
    },
  )
})
