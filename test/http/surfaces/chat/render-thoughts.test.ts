// Thoughts of models, as clients of chat get them, whole and streamed, and as they come back.
import { expect, test } from 'vitest'
import type { ChatEvent } from '#domain/chat.ts'
import type { Thought } from '#domain/thought.ts'
import { startChunks } from '#http/surfaces/chat/render-stream.ts'
import { AnswerFold } from '#http/surfaces/chat/render-whole.ts'
import { toTurns } from '#http/surfaces/chat/to-turns.ts'
import { aCharge, usd } from '#test/support/nouns.ts'
import { readSse } from '#test/support/read-sse.ts'

// biome-ignore lint/suspicious/noExplicitAny: an answer as a test reads it
type Wire = any

const HEAD = { id: 'gen-1', createdUnixSeconds: 1, model: 'm', provider: 'p', isNative: false }
const ANTHROPIC = { family: 'anthropic' } as const
const OPENAI = { family: 'openai', provider: 'p' } as const
const thought = (one: Thought): ChatEvent => ({ type: 'thought', choice: 0, thought: one })
const reasoned = (id: string): ChatEvent =>
  thought({ type: 'reasoning', id, summary: ['why'], encrypted: `of ${id}`, origin: OPENAI })
const call = (index: number): ChatEvent => ({
  type: 'tool-call-delta',
  choice: 0,
  index,
  id: `c${index}`,
  name: 'f',
  kind: 'function',
  arguments: '{}',
})
const ANSWER: readonly ChatEvent[] = [
  reasoned('rs_1'),
  { type: 'text-delta', choice: 0, text: 'I look' },
  { type: 'text-delta', choice: 0, text: '.' },
  reasoned('rs_2'),
  call(0),
  call(1),
  { type: 'finish', choice: 0, reason: 'tool_calls', native: 'completed' },
]

const whole = (events: readonly ChatEvent[]): Wire => {
  const answer = new AnswerFold()
  answer.note(events)
  return JSON.parse(answer.render(HEAD, aCharge(usd('0'))).join('')).choices[0].message
}

const deltas = (events: readonly ChatEvent[]): Wire[] => {
  const chunks = startChunks({ ...HEAD } as never, false)
  const { chunks: read } = readSse(events.map((event) => chunks.events([event])).join(''))
  return read.map(({ choices }: Wire) => choices[0].delta)
}

const detail = (id: string, index: number) => ({
  type: 'reasoning.encrypted',
  data: `of ${id}`,
  id,
  format: 'openai-responses-v1',
  index,
})

test('they are whole at the end of the message, and in the call that follows them', () => {
  const message = whole(ANSWER)
  const details = [detail('rs_1', 0), detail('rs_2', 2)]
  expect(message.reasoning_details).toEqual(details)
  expect(message.tool_calls.map(({ reasoning_details }: Wire) => reasoning_details)).toEqual([
    details,
    undefined,
  ])
  const streamed = deltas(ANSWER)
  expect(streamed.at(-2)).toEqual({ reasoning_details: details })
  const calls = streamed.flatMap(({ tool_calls = [] }) => tool_calls)
  expect(calls.map(({ reasoning_details }) => reasoning_details)).toEqual([details, undefined])
})

test('an answer without any has no such field', () => {
  const events = ANSWER.filter(({ type }) => type !== 'thought')
  expect(JSON.stringify([whole(events), deltas(events)])).not.toContain('reasoning_details')
})

test('those of Anthropic are signed, or redacted', () => {
  const { reasoning_details } = whole([
    thought({ type: 'thinking', text: 'hm', signature: 's', origin: ANTHROPIC }),
    thought({ type: 'redacted', data: 'd', origin: ANTHROPIC }),
    { type: 'text-delta', choice: 0, text: 'x' },
  ])
  const format = 'anthropic-claude-v1'
  expect(reasoning_details).toEqual([
    { type: 'reasoning.text', text: 'hm', signature: 's', format, index: 0 },
    { type: 'reasoning.encrypted', data: 'd', format, index: 1 },
  ])
})

test('they come back in their places, whichever of the two fields a client keeps', () => {
  const { reasoning_details: _, ...rebuilt } = whole(ANSWER)
  for (const message of [whole(ANSWER), rebuilt]) {
    const [turn] = toTurns([message])
    expect(turn?.parts.map((part) => ('id' in part ? part.id : part.type))).toEqual([
      'rs_1',
      'text',
      'rs_2',
      'c0',
      'c1',
    ])
    expect(turn?.parts[0]).toEqual({
      type: 'reasoning',
      id: 'rs_1',
      summary: [],
      encrypted: 'of rs_1',
      origin: { family: 'openai' },
    })
  }
})

test('a summary of OpenRouter’s format, and what nobody encrypted, is no thought', () => {
  const reasoning_details = [
    { type: 'reasoning.summary', summary: 'why', format: 'openai-responses-v1', index: 0 },
    { type: 'reasoning.encrypted', format: 'openai-responses-v1', index: 1 },
  ]
  const [turn] = toTurns([{ role: 'assistant', content: 'x', reasoning_details }])
  expect(turn?.parts).toHaveLength(1)
})
