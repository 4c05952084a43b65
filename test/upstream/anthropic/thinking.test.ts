// Thinking: its token budget, and how signed thinking survives in a client that uses OpenAI's format.
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import type { Generate } from '#domain/work.ts'
import { AnswerFold } from '#http/surfaces/chat/render-whole.ts'
import { aCard, aCharge, usd } from '#test/support/nouns.ts'
import { fromResponse } from '#upstream/anthropic/from-response.ts'
import { toRequest } from '#upstream/anthropic/to-request.ts'
import { asked, request } from '../fixtures.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into it as deep as they like.
type Wire = any

const HAIKU = 'claude-haiku-4-5-20251001'

const sent = (body: JsonObject, model = HAIKU, more: Partial<Generate> = {}): Wire =>
  toRequest(asked(request(body, more), aCard({ upstreamName: model, maxCompletionTokens: 64_000 })))

describe('effort', () => {
  test.each([
    ['minimal', 1_024],
    ['low', 2_048],
    ['medium', 8_192],
    ['high', 16_384],
    ['xhigh', 32_000],
  ])('%s is a budget of %i tokens', (effort, tokens) => {
    expect(sent({ reasoning_effort: effort })).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: tokens },
    })
  })

  test.each([
    [4_096, 3_072],
    [2_000, 1_024],
    [1_025, 1_024],
  ])('of %i tokens in total, at most %i are for thinking', (max, budget) => {
    const { thinking } = sent({ reasoning_effort: 'high' }, HAIKU, { maxOutputTokens: max })
    expect(thinking).toEqual({ type: 'enabled', budget_tokens: budget })
  })

  test('a stated budget stays below the maximum, and is lowered only where it could not', () => {
    const reasoning = { max_tokens: 5_000 }
    const budget = (maxOutputTokens: number) =>
      sent({ reasoning }, HAIKU, { maxOutputTokens }).thinking.budget_tokens
    expect(budget(5_500)).toBe(5_000)
    expect(budget(5_000)).toBe(3_976)
    const thinking = { type: 'enabled', budget_tokens: 5_000 }
    expect(sent({ thinking }, HAIKU, { maxOutputTokens: 5_500 }).thinking).toEqual(thinking)
  })

  test('a small maximum leaves no room for a budget', () => {
    const body = sent({ reasoning_effort: 'high' }, HAIKU, { maxOutputTokens: 1_024 })
    expect(body).not.toHaveProperty('thinking')
  })

  test.each<[string, string, JsonObject | undefined, string | undefined]>([
    ['claude-opus-4-6', 'minimal', { type: 'adaptive' }, 'low'],
    ['claude-opus-4-6', 'xhigh', { type: 'adaptive' }, 'high'],
    ['claude-opus-4-8', 'high', { type: 'adaptive', display: 'summarized' }, 'high'],
    ['claude-opus-4-8', 'xhigh', { type: 'adaptive', display: 'summarized' }, 'xhigh'],
    ['claude-fable-5-1', 'medium', { type: 'adaptive', display: 'summarized' }, 'medium'],
    ['claude-mythos-preview', 'low', { type: 'adaptive', display: 'summarized' }, 'low'],
    ['claude-fable-5', 'none', undefined, 'low'],
    ['claude-opus-4-8', 'none', undefined, undefined],
    [HAIKU, 'none', undefined, undefined],
    ['kimi-k2', 'low', { type: 'enabled', budget_tokens: 2_048 }, undefined],
  ])('%s, %s', (model, effort, thinking, word) => {
    const body = sent({ reasoning_effort: effort }, model)
    expect(body.thinking).toEqual(thinking)
    expect(body.output_config?.effort).toBe(word)
  })

  test('OpenRouter’s fields and Anthropic’s own are accepted', () => {
    expect(sent({ reasoning: { effort: 'low' } }).thinking.budget_tokens).toBe(2_048)
    expect(sent({ reasoning: { max_tokens: 5_000 } }).thinking.budget_tokens).toBe(5_000)
    expect(sent({ reasoning: { enabled: true } }).thinking.budget_tokens).toBe(8_192)
    expect(sent({ reasoning: { enabled: false } })).not.toHaveProperty('thinking')
    const thinking = { type: 'adaptive' }
    expect(sent({ thinking, reasoning_effort: 'low' }).thinking).toEqual(thinking)
  })

  test('effort shares its field with the output format', () => {
    const schema = { type: 'object', additionalProperties: false }
    const response_format = { type: 'json_schema', json_schema: { name: 'x', schema } }
    expect(
      sent({ response_format, reasoning_effort: 'low' }, 'claude-sonnet-5').output_config,
    ).toEqual({ effort: 'low', format: { type: 'json_schema', schema } })
  })

  test('a forced tool disables thinking', () => {
    const tools = [{ type: 'function', function: { name: 'f' } }]
    const body = { tools, tool_choice: 'required', reasoning_effort: 'high' }
    expect(sent(body)).not.toHaveProperty('thinking')
    expect(sent({ ...body, tool_choice: 'auto' })).toHaveProperty('thinking')
  })
})

const THOUGHT = { type: 'thinking', thinking: 'hm', signature: 'sig-1' }
const SECRET = { type: 'redacted_thinking', data: 'opaque' }
const SAID = { type: 'text', text: 'let me look' }
const CALL = { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } }

const HEAD = { id: 'gen-1', createdUnixSeconds: 1, model: 'm', provider: 'p', isNative: false }

/** What a stock client holds after an answer made of these blocks. */
function received(...content: readonly JsonObject[]): Wire {
  const body = { type: 'message', content, stop_reason: 'tool_use', usage: { input_tokens: 1 } }
  const events = fromResponse(body, (text) => text)
  const answer = new AnswerFold()
  answer.note(events)
  return JSON.parse(answer.render(HEAD, aCharge(usd('0'))).join('')).choices[0].message
}

const QUESTION = { role: 'user', content: 'go' }
const RESULT = { role: 'tool', tool_call_id: 'toolu_1', content: 'ok' }

describe('thinking that a client sends back', () => {
  const next = (
    answer: JsonObject,
    model = HAIKU,
    more: JsonObject = { reasoning_effort: 'low' },
  ) => sent({ messages: [QUESTION, answer, RESULT], ...more }, model)

  test.each([
    [[THOUGHT, CALL]],
    [[THOUGHT, SAID, CALL]],
    [[SECRET, THOUGHT, SAID, CALL]],
    [[THOUGHT, SAID, SECRET, CALL]],
    [[{ ...THOUGHT, thinking: '' }, CALL]],
  ])('has every block in its place: %j', (content) => {
    const body = next(received(...content))
    expect(body.messages[1]).toEqual({ role: 'assistant', content })
    expect(body.thinking).toEqual({ type: 'enabled', budget_tokens: 2_048 })
  })

  test('is restored for a client that keeps only the tool calls', () => {
    const { reasoning_details: _, ...rebuilt } = received(THOUGHT, SAID, CALL)
    expect(next(rebuilt).messages[1].content).toEqual([THOUGHT, SAID, CALL])
  })

  test('is carried by the first tool call only, each block once', () => {
    const second = { ...CALL, id: 'toolu_2' }
    const { tool_calls: calls } = received(THOUGHT, CALL, second)
    expect(calls[0].reasoning_details).toHaveLength(1)
    expect(calls[1]).not.toHaveProperty('reasoning_details')
  })

  const bare = {
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
    ],
  }

  test('may be missing: the request continues without thinking instead of failing', () => {
    const body = next(bare)
    expect(body).not.toHaveProperty('thinking')
    expect(body.messages[1].content).toEqual([CALL])
  })

  test('is enabled or not by the start of an exchange, not by its later steps', () => {
    const begun = received(THOUGHT, CALL)
    const later = { messages: [QUESTION, begun, RESULT, bare, RESULT], reasoning_effort: 'low' }
    expect(sent(later)).toHaveProperty('thinking')
    const over = {
      messages: [QUESTION, bare, RESULT, { role: 'assistant', content: 'done' }, QUESTION],
    }
    expect(sent({ ...over, reasoning_effort: 'low' })).toHaveProperty('thinking')
  })

  test('may be present or absent for a model with adaptive thinking', () => {
    expect(next(bare, 'claude-opus-4-8').thinking).toMatchObject({ type: 'adaptive' })
    const kept = next(received(THOUGHT, CALL), 'claude-fable-5', {})
    expect(kept.messages[1].content).toEqual([THOUGHT, CALL])
  })

  test.each([HAIKU, 'claude-opus-4-8'])('without thinking no thoughts are sent: %s', (model) => {
    const body = next(received(THOUGHT, CALL), model, {})
    expect(body.messages[1].content).toEqual([CALL])
  })

  test('is dropped when it is unsigned or signed for another provider', () => {
    const details = [
      { type: 'reasoning.encrypted', data: 'x', format: 'google-gemini-v1', index: 0 },
      { type: 'reasoning.text', text: 'x', format: 'anthropic-claude-v1', index: 0 },
      { type: 'reasoning.summary', summary: 'x', format: 'openai-responses-v1' },
      'nonsense',
    ]
    const answer = { role: 'assistant', content: 'a', reasoning_details: details }
    const { messages } = sent({ messages: [QUESTION, answer, QUESTION], reasoning_effort: 'low' })
    expect(messages[1].content).toEqual([{ type: 'text', text: 'a' }])
  })

  test('is dropped when it was cut off before it led to anything', () => {
    const { tool_calls: _, ...cut } = received(THOUGHT)
    const { messages } = sent({ messages: [QUESTION, cut, QUESTION], reasoning_effort: 'low' })
    expect(messages).toHaveLength(1)
  })
})
