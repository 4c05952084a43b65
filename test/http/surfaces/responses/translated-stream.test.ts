// An answer of another wire as the events of the Responses API, and as a whole response.
import { describe, expect, test } from 'vitest'
import type { AnswerHead, ChatEvent, JsonObject, ToolCallDelta } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Charge } from '#domain/ledger.ts'
import { openSeals } from '#http/seals.ts'
import { responsesSurface } from '#http/surfaces/responses/index.ts'
import { openThought } from '#http/surfaces/responses/thought-items.ts'
import { checkOrder, readEvents, type Wire } from '#test/server/responses/read-events.ts'
import { aCharge, aRequest, usd } from '#test/support/nouns.ts'

const seals = openSeals(null)
const surface = responsesSurface(seals)
const HEAD: AnswerHead = {
  id: 'gen-01abc',
  createdUnixSeconds: 7,
  model: 'acme/m',
  provider: 'acme',
  isNative: false,
}
const CHARGE: Charge = aCharge(usd('0.01'))

const work = (body: JsonObject = {}, more: object = {}) =>
  aRequest({ dialect: 'responses', body: { input: 'hi', ...body }, includeUsage: false, ...more })

interface Told {
  readonly events: readonly Wire[]
  readonly last: Wire
  /** The whole answer that the same events make. */
  readonly whole: Wire
}

/** Each event is a batch of its own. */
function tell(events: readonly ChatEvent[], body: JsonObject = {}): Told {
  const request = work(body)
  const stream = surface.startStream(HEAD, request)
  const text = events.map((event) => stream.events([event])).join('') + stream.end(CHARGE)
  const fold = surface.startWhole(request)
  fold.note(events)
  const whole = JSON.parse(fold.render(HEAD, CHARGE).join(''))
  const read = readEvents(text)
  const last = checkOrder(read)
  // Sealed anew, a thought is another text.
  expect(withoutSeals(whole)).toEqual(withoutSeals(last.response))
  return { events: read, last, whole }
}

const withoutSeals = (response: Wire): Wire =>
  JSON.parse(
    JSON.stringify(response, (name, value) => (name === 'encrypted_content' ? 'x' : value)),
  )

const text = (words: string): ChatEvent => ({ type: 'text-delta', choice: 0, text: words })
const thinks = (words: string): ChatEvent => ({ type: 'reasoning-delta', choice: 0, text: words })
const refuses = (words: string): ChatEvent => ({ type: 'refusal-delta', choice: 0, text: words })
const calls = (index: number, words: string, more: Partial<ToolCallDelta> = {}): ChatEvent => ({
  type: 'tool-call-delta',
  choice: 0,
  index,
  kind: 'function',
  arguments: words,
  ...more,
})
const finish = (reason: 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error' = 'stop') =>
  ({ type: 'finish', choice: 0, reason, native: reason }) as const
const typesOf = (events: readonly Wire[]) => events.map(({ type }) => type.replace('response.', ''))

test('text is a message, in the order of the API', () => {
  const { events, last } = tell([text('Hel'), text('lo'), finish()])
  expect(typesOf(events)).toEqual([
    'created',
    'in_progress',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'completed',
  ])
  expect(last.response).toMatchObject({
    id: 'resp_01abc',
    object: 'response',
    created_at: 7,
    model: 'acme/m',
    status: 'completed',
    store: false,
    error: null,
    incomplete_details: null,
    output: [
      {
        id: 'msg_01abc_0',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }],
      },
    ],
    usage: {
      input_tokens: 22,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 25,
    },
  })
})

test('W24: one id of the response, and one of each item, from the beginning to the end', () => {
  const { events } = tell([
    thinks('hm'),
    text('a'),
    calls(0, '{}', { id: 'c', name: 'f' }),
    finish(),
  ])
  expect(new Set(events.flatMap(({ response }) => response?.id ?? []))).toEqual(
    new Set(['resp_01abc']),
  )
})

test('text, thoughts and calls may alternate; each beginning is another item', () => {
  const { last } = tell([
    thinks('a'),
    text('b'),
    calls(0, '{"x":1}', { id: 'c1', name: 'f' }),
    thinks('c'),
    text('d'),
    refuses('no'),
    finish('tool_calls'),
  ])
  expect(last.response.output.map(({ type }: Wire) => type)).toEqual([
    'reasoning',
    'message',
    'function_call',
    'reasoning',
    'message',
  ])
  expect(last.response.output.at(-1).content).toMatchObject([
    { type: 'output_text', text: 'd' },
    { type: 'refusal', refusal: 'no' },
  ])
})

test('W29: parallel calls whose pieces come in turns lose nothing', () => {
  const { last, events } = tell([
    calls(0, '', { id: 'c1', name: 'f' }),
    calls(1, '', { id: 'c2', name: 'g' }),
    calls(0, '{"a":'),
    calls(1, '{"b":'),
    calls(0, '1}'),
    text('meanwhile'),
    calls(1, '2}'),
    calls(2, '', { id: 'c3', name: 'h' }),
    finish('tool_calls'),
  ])
  expect(
    last.response.output.map(({ call_id, arguments: words }: Wire) => [call_id, words]),
  ).toEqual([
    ['c1', '{"a":1}'],
    ['c2', '{"b":2}'],
    [undefined, undefined],
    ['c3', '{}'],
  ])
  // The first is closed when the text begins, so that its client need not wait for the others.
  const types = typesOf(events)
  expect(types.indexOf('output_item.done')).toBeLessThan(types.indexOf('output_text.delta'))
})

test('a call whose name comes late, or never, has one', () => {
  const { last } = tell([
    calls(0, '{"a":', { id: 'c1' }),
    calls(0, '1}', { name: 'f' }),
    calls(1, '{}'),
    finish(),
  ])
  expect(last.response.output).toMatchObject([
    { name: 'f', arguments: '{"a":1}', call_id: 'c1' },
    { name: '', arguments: '{}', call_id: expect.stringMatching(/^call_/) },
  ])
})

describe('tools that are no functions', () => {
  const tools = [
    { type: 'custom', name: 'patch' },
    {
      type: 'namespace',
      name: 'ns',
      tools: [
        { type: 'function', name: 'f' },
        { type: 'custom', name: 'c' },
      ],
    },
    { type: 'local_shell' },
    { type: 'shell' },
    { type: 'apply_patch' },
  ]
  const of = (name: string, ...pieces: readonly string[]): Wire => {
    const [first = '', ...others] = pieces
    const { last } = tell(
      [calls(0, first, { id: 'c', name }), ...others.map((piece) => calls(0, piece)), finish()],
      { tools },
    )
    return last.response.output[0]
  }

  test.each([
    ['*** Begin Patch\n+é "x" \\ \u{1f600}\n'],
    [''],
    ['{"input":"nested"}'],
    ['a\tb/c\u0001'],
  ])('W27: a custom tool gets its text as it is: %j, however it is cut', (input) => {
    const json = JSON.stringify({ input })
    const escaped = json.replace(/[\u{80}-\u{10ffff}]/gu, (char) =>
      [...Array(char.length).keys()]
        .map((n) => `\\u${char.charCodeAt(n).toString(16).padStart(4, '0')}`)
        .join(''),
    )
    for (const spelled of [json, escaped, ` {\n "input" : ${JSON.stringify(input)} }`]) {
      for (const pieces of [[spelled], [...spelled]]) {
        expect(of('patch', ...pieces)).toMatchObject({
          type: 'custom_tool_call',
          name: 'patch',
          input,
        })
      }
    }
  })

  test('W27: text that is not the JSON that was asked for is the input itself', () => {
    expect(of('patch', '*** Begin', ' Patch').input).toBe('*** Begin Patch')
    expect(of('patch', '{"why":"x","input":"a"}').input).toBe('a')
    expect(of('patch', '{"patch":"a"}').input).toBe('{"patch":"a"}')
  })

  test('W27: a provider’s own custom tool passes its text', () => {
    const { last } = tell(
      [
        calls(0, '{"a"', { id: 'c', name: 'patch', kind: 'custom' }),
        calls(0, ':1}', { kind: 'custom' }),
        calls(0, ' more', { kind: 'custom' }),
        finish(),
      ],
      { tools },
    )
    expect(last.response.output[0]).toMatchObject({
      type: 'custom_tool_call',
      input: '{"a":1} more',
    })
  })

  test('W27: a call in a namespace comes back as name and namespace', () => {
    expect(of('ns__f', '{}')).toMatchObject({ type: 'function_call', name: 'f', namespace: 'ns' })
    expect(of('ns__c', '{"input":"x"}')).toMatchObject({
      type: 'custom_tool_call',
      name: 'c',
      namespace: 'ns',
      input: 'x',
    })
    expect(of('other__f', '{}')).toMatchObject({ type: 'function_call', name: 'other__f' })
  })

  test('W27: shells and patches are called as they were declared', () => {
    expect(of('local_shell', '{"command":["ls","-l"],', '"timeout_ms":5}')).toMatchObject({
      type: 'local_shell_call',
      call_id: 'c',
      action: { type: 'exec', command: ['ls', '-l'], env: {}, timeout_ms: 5 },
    })
    expect(of('local_shell', '{"command":"ls -l"}').action.command).toEqual([
      'bash',
      '-lc',
      'ls -l',
    ])
    expect(of('shell', '{"commands":["a","b"]}').action).toEqual({
      commands: ['a', 'b'],
      timeout_ms: null,
      max_output_length: null,
    })
    expect(of('apply_patch', '{"type":"update_file","path":"a","diff":"@@"}').operation).toEqual({
      type: 'update_file',
      path: 'a',
      diff: '@@',
    })
    expect(of('shell', 'not JSON').action.commands).toEqual([])
  })
})

describe('a thought', () => {
  const origin = { family: 'anthropic' } as const
  const thought = (more: object): ChatEvent =>
    ({ type: 'thought', choice: 0, thought: { type: 'thinking', origin, ...more } }) as ChatEvent

  test('is a reasoning item with its summary, sealed with whose it is', () => {
    const { last } = tell([
      thinks('a'),
      thinks('b'),
      thought({ text: 'ab', signature: 's1' }),
      thinks('c'),
      thought({ text: 'c', signature: 's2' }),
      text('x'),
      finish(),
    ])
    const items = last.response.output.slice(0, 2)
    expect(items).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'ab' }] },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'c' }] },
    ])
    for (const { id } of items) expect(id).toMatch(/^rs_gw[0-9a-f]{8}_01abc_\d$/)
    expect(items.map((item: Wire) => openThought(item, seals))).toMatchObject([
      {
        text: 'ab',
        signature: 's1',
        origin: { family: 'anthropic', provider: 'acme', model: 'acme/m' },
      },
      { text: 'c', signature: 's2' },
    ])
    expect(JSON.stringify(last)).not.toMatch(/"s1"|"s2"/)
  })

  test('that is not shown, or belongs to a call, is an item without a summary', () => {
    const { last } = tell([
      { type: 'thought', choice: 0, thought: { type: 'redacted', data: 'd', origin } },
      thought({ text: '', signature: 's' }),
      {
        type: 'call-signature',
        choice: 0,
        signature: {
          type: 'call-signature',
          callId: 'c',
          data: 'sig',
          origin: { family: 'gemini' },
        },
      },
      calls(0, '{}', { id: 'c', name: 'f' }),
      finish(),
    ])
    const items = last.response.output
    expect(items.map(({ type, summary }: Wire) => [type, summary])).toEqual([
      ['reasoning', []],
      ['reasoning', []],
      ['reasoning', []],
      ['function_call', undefined],
    ])
    expect(openThought(items[2], seals)).toMatchObject({ callId: 'c', data: 'sig' })
  })

  test('of a model that wants nothing back has no encrypted content', () => {
    const { last } = tell([thinks('hm'), text('a'), finish()])
    expect(last.response.output[0]).not.toHaveProperty('encrypted_content')
  })
})

describe('the end', () => {
  test.each([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ] as const)('%s is incomplete: %s', (reason, why) => {
    const { last } = tell([text('a'), calls(0, '{"a":', { id: 'c', name: 'f' }), finish(reason)])
    expect(last.type).toBe('response.incomplete')
    expect(last.response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: why },
      output: [{ status: 'completed' }, { status: 'incomplete', arguments: '{"a":' }],
    })
  })

  test('W28: an answer that its provider breaks off in order has failed', () => {
    const { last, events } = tell([text('a'), finish('error')])
    expect(last.response).toMatchObject({ status: 'failed', error: { code: 'server_error' } })
    expect(events.at(-2)).toMatchObject({ type: 'error', error: { code: 'upstream_error' } })
  })

  test('W28: nothing said, or no reason given, is complete', () => {
    expect(tell([finish()]).last.response).toMatchObject({ status: 'completed', output: [] })
    expect(tell([text('a')]).last.response.status).toBe('completed')
  })

  test('W28: a failure is an error event and response.failed, with what came and its usage', () => {
    const stream = surface.startStream(HEAD, work())
    const error = new GatewayError('upstream_overloaded', 'busy', { retryAfterSeconds: 3 })
    const said = stream.events([text('Hel'), calls(0, '{"a"', { id: 'c', name: 'f' })])
    const events = readEvents(said + stream.error(error, 'req_1') + stream.end(CHARGE))
    const last = checkOrder(events)
    expect(events.at(-2)).toMatchObject({ error: { code: 'upstream_overloaded', message: 'busy' } })
    expect(last.response).toMatchObject({
      status: 'failed',
      error: {
        code: 'rate_limit_exceeded',
        message: expect.stringContaining('Please try again in 3s'),
      },
      output: [{ content: [{ text: 'Hel' }] }, { arguments: '{"a"' }],
      usage: { total_tokens: 25 },
    })
  })

  test('W28: before the first word, and without a charge, too', () => {
    const { provider: _, ...head } = HEAD
    const stream = surface.startStream(head, work())
    const events = readEvents(
      stream.error(new GatewayError('internal_error', 'x'), 'r') + stream.end(null),
    )
    expect(events.map(({ type }) => type)).toEqual(['error', 'response.failed'])
    expect(events[1].response).toMatchObject({ usage: null, output: [] })
  })

  test('W30: the last event waits for the receipt, so that who leaves on it leaves nothing open', () => {
    const stream = surface.startStream(HEAD, work())
    const before = stream.events([text('a'), finish()])
    expect(before).toContain('response.output_item.done')
    expect(before).not.toContain('response.completed')
    expect(stream.end(CHARGE)).toMatch(/^event: response\.completed\n/)
  })

  test('the cost is shown to who asks for it', () => {
    const stream = surface.startStream(HEAD, work({}, { includeUsage: true }))
    const [last] = readEvents(stream.events([text('a'), finish()]) + stream.end(CHARGE)).slice(-1)
    expect(last.response.usage).toMatchObject({ cost: 0.01, cost_rub: 0.9 })
  })
})

test('log probabilities stand with their text', () => {
  const entry = { token: 'a', logprob: -0.1, bytes: [97], top_logprobs: [] }
  const { last, events } = tell([
    { type: 'text-delta', choice: 0, text: 'a', logprobs: { content: [entry], refusal: null } },
    finish(),
  ])
  expect(last.response.output[0].content[0].logprobs).toEqual([entry])
  expect(events.find(({ type }) => type === 'response.output_text.delta').logprobs).toEqual([entry])
})

test('what was asked is repeated, the counts wait for the receipt', () => {
  const tools = [{ type: 'function', name: 'f' }]
  const { events, last } = tell([text('a'), finish()], {
    instructions: 'Brief.',
    tools,
    text: { verbosity: 'low' },
    reasoning: { effort: 'low' },
    metadata: { a: 'b' },
    store: true,
  })
  expect(events[0].response.usage).toBeNull()
  expect(last.response).toMatchObject({
    instructions: 'Brief.',
    tools,
    text: { format: { type: 'text' }, verbosity: 'low' },
    reasoning: { effort: 'low', summary: null },
    metadata: { a: 'b' },
    previous_response_id: null,
  })
})
