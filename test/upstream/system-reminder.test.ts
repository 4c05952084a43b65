// Instructions in the middle of a conversation keep their place on wires that know them at its start alone.
import { describe, expect, test } from 'vitest'
import type { Part, Turn } from '#domain/conversation.ts'
import { toMessages } from '#upstream/anthropic/to-messages.ts'
import { toContents } from '#upstream/gemini/to-contents.ts'
import { ToolNames } from '#upstream/tool-names.ts'

const text = (words: string): Part => ({ type: 'text', path: 'p', text: words })
const says = (role: Turn['role'], words: string): Turn => ({
  role,
  path: 'p',
  parts: [text(words)],
})
const TURNS = [says('system', 'first'), says('user', 'a'), says('system', 'now'), says('user', 'b')]
const REMINDER = '<system-reminder>\nnow\n</system-reminder>'

describe('W7: a reminder stands where the instructions stood', () => {
  test('to Anthropic', () => {
    const { system, messages } = toMessages(TURNS)
    expect(system.map((block) => block.text)).toEqual(['first'])
    expect(messages).toEqual([
      {
        role: 'user',
        content: ['a', REMINDER, 'b'].map((words) => ({ type: 'text', text: words })),
      },
    ])
  })

  test('to Gemini', () => {
    expect(toContents(TURNS, 'gemini-3-flash', new ToolNames())).toEqual({
      systemInstruction: { parts: [{ text: 'first' }] },
      contents: [{ role: 'user', parts: [{ text: 'a' }, { text: REMINDER }, { text: 'b' }] }],
    })
  })

  test('with its mark, and nowhere where nothing is said', () => {
    const marked: Turn = {
      role: 'system',
      path: 'p',
      parts: [{ type: 'text', path: 'p', text: 'now', cacheMark: { ttl: '5m' } }],
    }
    const { messages } = toMessages([says('user', 'a'), marked, says('system', ' ')])
    expect(messages[0]?.content).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: REMINDER, cache_control: { type: 'ephemeral' } },
    ])
  })
})
