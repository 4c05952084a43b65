// The turns of a conversation in the order of other wires; a long one holds up no other request.
import { expect, test } from 'vitest'
import type { CallPart, Part, ResultPart, Turn } from '#domain/conversation.ts'
import { inOrder } from '#upstream/in-order.ts'

const MANY = 80_000
const PATH = 'messages[0].content'

const text = (words: string): Part => ({ type: 'text', path: PATH, text: words })
const turn = (role: Turn['role'], ...parts: readonly Part[]): Turn => ({ role, path: PATH, parts })
const call = (id: string): CallPart => ({
  type: 'call',
  path: PATH,
  kind: 'function',
  id,
  name: 'f',
  arguments: '{}',
  argumentsPath: PATH,
})
const result = (callId: string): ResultPart => ({
  type: 'result',
  path: PATH,
  callIdPath: PATH,
  callId,
  parts: [],
  isError: false,
})
const many = <One>(make: (i: number) => One): readonly One[] =>
  Array.from({ length: MANY }, (_, i) => make(i))

test('as many results as a body can hold are in the order of their calls', () => {
  const [, said] = inOrder([
    turn('assistant', ...many((i) => call(`c${i}`))),
    turn('user', ...many((i) => result(`c${MANY - 1 - i}`))),
  ])
  const ids = said?.role === 'user' ? said.results.map(({ result: { callId } }) => callId) : []
  expect(ids).toEqual(many((i) => `c${i}`))
})

test('as many instructions, words and answers as a body can hold are all said', () => {
  const instructions = inOrder(many((i) => turn('system', text(`${i}`))))
  expect(instructions.filter((one) => one.role === 'system' && one.isFirst)).toHaveLength(MANY)
  const [words] = inOrder(many((i) => turn('user', text(`${i}`))))
  expect(words?.parts).toHaveLength(MANY)
  const [answer] = inOrder([
    turn('assistant', call('c')),
    ...many((i) => turn('assistant', text(`${i}`))),
  ])
  expect(answer?.parts).toHaveLength(MANY + 1)
})

test('instructions are the first until somebody has said something', () => {
  const said = inOrder([
    turn('system', text('a')),
    turn('user', text('b')),
    turn('system', text('c')),
  ])
  expect(said.map((one) => one.role === 'system' && one.isFirst)).toEqual([true, false, false])
})
