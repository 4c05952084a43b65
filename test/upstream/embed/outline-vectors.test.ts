// A list of vectors is read without its numbers, wherever the network cut it.
import { describe, expect, test } from 'vitest'
import { outlineVectors } from '#upstream/embed/outline-vectors.ts'

const listOf = (vectors: readonly unknown[]) => ({
  object: 'list',
  data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
  model: 'é "embedding": "x',
  usage: { prompt_tokens: 5 },
})

const LISTS: readonly [string, readonly unknown[], readonly unknown[]][] = [
  ['base64', ['AAAA', '/+8=', ''], ['.', '.', '']],
  ['numbers', [[0.5, -1e-7], [3], []], [[0], [0], []]],
  ['neither', [null, { x: 1 }, 7], [null, { x: 1 }, 7]],
]

describe.each(LISTS)('%s', (_, vectors, left) => {
  test.each(['', ' ', '\t'])('with %j between', (space) => {
    const bytes = Buffer.from(JSON.stringify(listOf(vectors), null, space))
    for (let at = 0; at <= bytes.length; at++) {
      expect(outlineVectors([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(listOf(left))
    }
    const crumbs = Array.from(bytes, (byte) => Uint8Array.of(byte))
    expect(outlineVectors(crumbs)).toEqual(listOf(left))
  })
})

test.each([
  ['cut off', '{"data":[{"embedding":"AAAA'],
  ['a quote within', '{"data":[{"embedding":"AA\\"AA"}]}'],
  ['a list within', '{"data":[{"embedding":[[1],2]}]}'],
])('%s is no JSON, and left to the parser', (_, text) => {
  expect(outlineVectors([Buffer.from(text)])).toBeUndefined()
})
