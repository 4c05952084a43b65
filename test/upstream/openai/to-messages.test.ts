// A conversation may change providers; fields that one of them added must not make the next refuse it.
import { describe, expect, test } from 'vitest'
import { toMessages } from '#upstream/openai/to-request.ts'

const call = {
  id: 'callAbc12',
  type: 'function',
  function: { name: 'weather', arguments: '{}' },
  extra_content: { google: { thought_signature: 'c2ln' } },
  reasoning_details: [{ type: 'reasoning.encrypted', data: 'c2ln' }],
}
const conversation = [
  { role: 'user', content: 'hi', reasoning_content: "a user's own field" },
  {
    role: 'assistant',
    content: 'sunny',
    refusal: null,
    reasoning_content: 'thinking',
    reasoning: 'thinking',
    reasoning_details: [{ type: 'reasoning.text', signature: 'c2ln' }],
    images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }],
    revised_prompt: 'a sunny day',
    tool_calls: [call],
  },
  { role: 'assistant', content: 'plain', tool_calls: null },
  { role: 'tool', tool_call_id: 'callAbc12', content: '{}' },
]

describe.each(['openai', 'azure', 'groq', 'mistral'] as const)('%s', (type) => {
  test('gets earlier answers as it would have written them itself', () => {
    const { extra_content: _, reasoning_details: __, ...plainCall } = call
    expect(toMessages(conversation, type)).toEqual([
      conversation[0],
      { role: 'assistant', content: 'sunny', refusal: null, tool_calls: [plainCall] },
      conversation[2],
      conversation[3],
    ])
  })

  test('gets a conversation without answers untouched', () => {
    const messages = [{ role: 'user', content: 'hi' }]
    expect(toMessages(messages, type)).toBe(messages)
  })
})

test.each(['openrouter', 'deepseek', 'openai-compatible'] as const)(
  '%s gets every field back, as it may have added it',
  (type) => {
    expect(toMessages(conversation, type)).toBe(conversation)
  },
)

describe('the id of a call that another vendor made', () => {
  const asked = (id: string) => [
    { role: 'assistant', content: null, tool_calls: [{ ...call, id }] },
    { role: 'tool', tool_call_id: id, content: '{}' },
  ]
  const idsOf = (messages: unknown) => {
    const [answer, result] = messages as [
      { tool_calls: [{ id: string }] },
      { tool_call_id: string },
    ]
    return [answer.tool_calls[0].id, result.tool_call_id]
  }
  const LONG = `chatcmpl-tool-${'a'.repeat(32)}`

  test.each([
    ['mistral', 'toolu_01', /^[a-zA-Z0-9]{9}$/],
    ['openai', LONG, /^call_[0-9a-f]{32}$/],
    ['azure', LONG, /^call_[0-9a-f]{32}$/],
  ] as const)('to %s %s goes as one that it takes, the same every time', (type, id, shape) => {
    const [ofCall, ofResult] = idsOf(toMessages(asked(id), type))
    expect(ofCall).toMatch(shape)
    expect(ofResult).toBe(ofCall)
    expect(idsOf(toMessages(asked(id), type))).toEqual([ofCall, ofResult])
    expect(idsOf(toMessages(asked(`${id}x`), type))[0]).not.toBe(ofCall)
  })

  test('goes to others as it came', () => {
    const messages = asked(LONG)
    expect(toMessages(messages, 'deepseek')).toBe(messages)
  })
})

test('a developer message becomes a system message for providers without that role', () => {
  const messages = [{ role: 'developer', content: 'be brief' }]
  expect(toMessages(messages, 'deepseek')).toEqual([{ role: 'system', content: 'be brief' }])
  expect(toMessages(messages, 'openai')).toBe(messages)
})
