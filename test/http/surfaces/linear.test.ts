// A conversation is built on the event loop: ten thousand items take no longer than four times a quarter of them.
import { expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import type { Conversation } from '#domain/conversation.ts'
import { openSeals } from '#http/seals.ts'
import { toConversation as fromChat } from '#http/surfaces/chat/to-conversation.ts'
import { toConversation as fromMessages } from '#http/surfaces/messages/to-conversation.ts'
import { toConversation as fromResponses } from '#http/surfaces/responses/to-conversation.ts'
import { FULL } from '#test/support/tier.ts'
import { request } from '../../upstream/fixtures.ts'

const FEW = 2_500
const TIMES = 4
/** Between what takes as long in four parts as in one, and what takes four times as long in one. */
const MOST = 2.2
const BUILDS = FULL ? 5 : 2

const seals = openSeals(null)
const call = (i: number): JsonObject => ({
  type: 'function_call',
  call_id: `c${i}`,
  name: 'f',
  arguments: '{}',
})
const said = { type: 'message', role: 'assistant', content: 'a' }
const chatCall = (i: number): JsonObject => ({
  id: `c${i}`,
  type: 'function',
  function: { name: 'f', arguments: '{}' },
})

const listOf = <One>(count: number, make: (i: number) => One): readonly One[] =>
  Array.from({ length: count }, (_, i) => make(i))

type Build = (count: number) => () => Conversation

const responses =
  (make: (i: number) => JsonObject): Build =>
  (count) => {
    const input = listOf(count, make)
    return () => fromResponses({ input }, seals)
  }
const chat =
  (toMessages: (count: number) => readonly JsonObject[]): Build =>
  (count) => {
    const asked = request({ messages: toMessages(count) })
    return () => fromChat.call(asked)
  }
const messages =
  (toMessages: (count: number) => readonly JsonObject[]): Build =>
  (count) => {
    const asked = { ...request(), body: { messages: toMessages(count) } }
    return () => fromMessages.call(asked)
  }

/** The least that so many took of several times: other work only adds to it. */
function costOf(build: () => Conversation, times: number): number {
  const costs = Array.from({ length: 7 }, () => {
    const before = process.cpuUsage()
    for (let n = 0; n < times * BUILDS; n++) build()
    const { user, system } = process.cpuUsage(before)
    return user + system
  })
  return Math.min(...costs)
}

test.each<[string, Build]>([
  ['responses: calls of one turn', responses(call)],
  ['responses: a call and a text, in turn', responses((i) => (i % 2 === 0 ? call(i) : said))],
  ['responses: answers', responses(() => said)],
  ['responses: words', responses((i) => ({ role: i % 2 ? 'user' : 'developer', content: 'a' }))],
  [
    'chat: calls of one message',
    chat((count) => [{ role: 'assistant', tool_calls: listOf(count, chatCall) }]),
  ],
  [
    'chat: messages',
    chat((count) => listOf(count, (i) => ({ role: i % 2 ? 'user' : 'system', content: 'a' }))),
  ],
  [
    'messages: blocks of one message',
    messages((count) => [
      { role: 'assistant', content: listOf(count, () => ({ type: 'text', text: 'a' })) },
    ]),
  ],
  [
    'messages: messages',
    messages((count) => listOf(count, () => ({ role: 'assistant', content: 'a' }))),
  ],
])(
  '%s',
  // Other work may cost one try, never all of them what a quadratic step costs each.
  { retry: 6, timeout: 300_000 },
  (_, build) => {
    const [many, few] = [build(FEW * TIMES), build(FEW)]
    // Compiled first.
    costOf(many, 1)
    expect(costOf(many, 1) / costOf(few, TIMES)).toBeLessThan(MOST)
  },
)
