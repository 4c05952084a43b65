// Entries of streamed lists get an index where the provider sent none, so that clients can put them together again.
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import { numberEntries } from '#http/surfaces/chat/number-entries.ts'

const details = (...entries: readonly JsonObject[]): JsonObject => ({ reasoning_details: entries })
const text = (words: string, more: JsonObject = {}) => ({
  type: 'reasoning.text',
  text: words,
  ...more,
})
const sealed = { type: 'reasoning.encrypted', data: 'x' }

/** The indices of each delta, in order. */
function indices(name: string, ...deltas: readonly JsonObject[]): readonly unknown[] {
  const numbering = new Map()
  return deltas.map((delta) =>
    (numberEntries(delta, numbering)[name] as JsonObject[]).map(({ index }) => index),
  )
}

describe('an entry without an index', () => {
  test.each<
    [what: string, deltas: readonly JsonObject[], expected: readonly (readonly number[])[]]
  >([
    ['pieces of a text are one entry', [details(text('a')), details(text('b'))], [[0], [0]]],
    [
      'a signature ends one',
      [details(text('a')), details(text('', { signature: 's' })), details(text('b'))],
      [[0], [0], [1]],
    ],
    ['encrypted parts are whole', [details(sealed), details(sealed, sealed)], [[0], [1, 2]]],
    [
      'another type is another entry',
      [details(text('a')), details(sealed), details(text('b'))],
      [[0], [1], [2]],
    ],
    [
      'another id too',
      [details(text('a', { id: 'r1' })), details(text('b', { id: 'r2' }))],
      [[0], [1]],
    ],
    [
      'one that follows a stated index',
      [details(text('a', { index: 3 })), details(text('b')), details(sealed)],
      [[3], [3], [4]],
    ],
  ])('%s', (_, deltas, expected) => {
    expect(indices('reasoning_details', ...deltas)).toEqual(expected)
  })

  test('of another list is counted by itself', () => {
    const numbering = new Map()
    numberEntries(details(sealed), numbering)
    const { annotations } = numberEntries({ annotations: [{ type: 'url_citation' }] }, numbering)
    expect(annotations).toEqual([{ type: 'url_citation', index: 0 }])
  })
})

test('what has its indices, and what is no list of objects, stays as it is', () => {
  for (const fields of [details(text('a', { index: 0 })), { a: [1, {}], b: 'x', c: {}, d: [] }]) {
    expect(numberEntries(fields, new Map())).toBe(fields)
  }
})
