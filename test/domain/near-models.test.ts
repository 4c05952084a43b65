// What a client may have meant by an id that is none, and only what its key may call.
import { expect, test } from 'vitest'
import { instant } from '#domain/clock.ts'
import { nearModels } from '#domain/named-model.ts'
import { aCard, aKey } from '#test/support/nouns.ts'

const IDS = [
  'local/llama',
  'local/llama-3.1-8b',
  'router/meta/llama-3.1-8b:free',
  'openai/gpt-4o',
  'openai/gpt-4o-mini',
  'demo/echo',
]
const models = new Map(IDS.map((id) => [id, aCard({ id })]))
const near = (wanted: string, allowedModels: readonly string[] | null = null) =>
  nearModels({ models }, aKey(instant(0), { allowedModels }), wanted)

test.each([
  ['llama', ['local/llama', 'local/llama-3.1-8b', 'router/meta/llama-3.1-8b:free']],
  ['Llama_3.1 8B', ['local/llama-3.1-8b', 'local/llama', 'router/meta/llama-3.1-8b:free']],
  ['gpt4o', ['openai/gpt-4o', 'openai/gpt-4o-mini']],
  ['opanai/gpt-4o', ['openai/gpt-4o', 'openai/gpt-4o-mini']],
  ['openai/gpt-4o-mni', ['openai/gpt-4o', 'openai/gpt-4o-mini']],
  ['claude', []],
  ['o', []],
  ['', []],
])('%j may mean %j', (wanted, expected) => {
  expect(near(wanted)).toEqual(expected)
})

test('a model that the key may not call is never named', () => {
  expect(near('llama', ['openai/*'])).toEqual([])
  expect(near('llama', ['local/llama-3.1-8b'])).toEqual(['local/llama-3.1-8b'])
  expect(near('llama', [])).toEqual([])
})
