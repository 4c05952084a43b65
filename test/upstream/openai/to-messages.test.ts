// A conversation may wander from one vendor to another; what one of them added must not make the next refuse it.
import { describe, expect, test } from 'vitest'
import { toMessages } from '#upstream/openai/to-messages.ts'

const call = {
  id: 'call_1',
  type: 'function',
  function: { name: 'weather', arguments: '{}' },
  extra_content: { google: { thought_signature: 'c2ln' } },
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
    tool_calls: [call],
  },
  { role: 'assistant', content: 'plain', tool_calls: null },
  { role: 'tool', tool_call_id: 'call_1', content: '{}' },
]

describe.each(['openai', 'azure', 'groq', 'mistral'] as const)('%s', (type) => {
  test('gets earlier answers as it would have written them', () => {
    const { extra_content: _, ...plainCall } = call
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
  '%s gets it all back: it may be its own',
  (type) => {
    expect(toMessages(conversation, type)).toBe(conversation)
  },
)
