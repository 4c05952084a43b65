// Server-sent events are parsed correctly however the network splits them, and whatever line endings they use.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FULL } from '#test/support/tier.ts'
import { createSseReader, type SseEvent } from '#upstream/sse.ts'

const read = (bytes: Uint8Array, splits: readonly number[]): readonly SseEvent[] => {
  const reader = createSseReader()
  const events: SseEvent[] = []
  let from = 0
  for (const to of [...splits, bytes.length]) {
    events.push(...reader.feed(bytes.slice(from, to)))
    from = to
  }
  events.push(...reader.end())
  return events.map(({ event, data }) => ({ event, data }))
}

const STREAM = [
  ': a comment, and another',
  ':',
  'data: {"text":"naïve 世界 🙂"}',
  '',
  'event: error',
  'data: {"a":1,',
  'data: "b":2}',
  'id: 7',
  'retry: 10',
  '',
  '',
  'data:{"no":"space"}',
  'unknown: field',
  '',
  'data: [DONE]',
  '',
  '',
].join('\n')

const EXPECTED = [
  { event: undefined, data: '{"text":"naïve 世界 🙂"}' },
  { event: 'error', data: '{"a":1,\n"b":2}' },
  { event: undefined, data: '{"no":"space"}' },
  { event: undefined, data: '[DONE]' },
]

const ENDINGS = { LF: '\n', CRLF: '\r\n', CR: '\r' }

describe.each(Object.entries(ENDINGS))('lines that end in %s', (_, ending) => {
  const bytes = new TextEncoder().encode(STREAM.replaceAll('\n', ending))

  test('are parsed whole', () => {
    expect(read(bytes, [])).toEqual(EXPECTED)
  })

  test('are parsed when split in two at every byte', () => {
    for (let at = 0; at <= bytes.length; at++)
      expect(read(bytes, [at]), `at ${at}`).toEqual(EXPECTED)
  })

  test('are parsed one byte at a time', () => {
    expect(read(bytes, [...bytes.keys()].slice(1))).toEqual(EXPECTED)
  })
})

test('any lines are parsed, whatever line endings they use and wherever they are split', () => {
  const line = fc.constantFrom(
    'data: {}',
    'data:1',
    'data',
    'event: a',
    'event',
    ': c',
    '',
    '',
    'x世',
  )
  const ending = fc.constantFrom('\n', '\r\n', '\r')
  fc.assert(
    fc.property(fc.array(fc.tuple(line, ending)), fc.array(fc.nat(200)), (lines, cuts) => {
      const bytes = new TextEncoder().encode(lines.flat().join(''))
      const within = cuts.filter((cut) => cut <= bytes.length).toSorted((a, b) => a - b)
      // A carriage return and a line feed after it are one line ending, even from different lines.
      const plain = lines.flat().join('').replaceAll(/\r\n?/g, '\n')
      expect(read(bytes, within)).toEqual(read(new TextEncoder().encode(plain), []))
    }),
    { numRuns: FULL ? 1_000 : 100 },
  )
})

test('a byte order mark before the first line is ignored, wherever it is split', () => {
  const bytes = new TextEncoder().encode('\uFEFFdata: {}\n\n')
  for (let at = 0; at <= bytes.length; at++) {
    expect(read(bytes, [at])).toEqual([{ event: undefined, data: '{}' }])
  }
})

test('an event without its blank line counts when it is complete, not when it was cut', () => {
  const encode = (text: string) => new TextEncoder().encode(text)
  expect(read(encode('data: {"a":1}'), [])).toHaveLength(1)
  expect(read(encode('data: {"a":1}\n'), [])).toHaveLength(1)
  expect(read(encode('data: [DONE]'), [])).toHaveLength(1)
  expect(read(encode('data: {"a":'), [])).toEqual([])
  expect(read(encode('data: [DON'), [])).toEqual([])
})

test('an endless event is refused, and a long comment is not buffered', () => {
  const reader = createSseReader()
  const piece = new TextEncoder().encode('x'.repeat(1_048_576))
  reader.feed(new TextEncoder().encode(': '))
  for (let i = 0; i < 40; i++) reader.feed(piece)
  reader.feed(new TextEncoder().encode('\ndata: '))
  expect(() => {
    for (let i = 0; i < 40; i++) reader.feed(piece)
  }).toThrow('one event of its stream is too large')
})

describe('a reader that keeps the text', () => {
  const STREAM =
    ': a comment\r\n\r\nid: 1\revent: a\ndata: {"é":"😀"}\r\n\r\n\n: ping\n\ndata: 1\ndata: 2\n\r\n: between\n\ndata: [DONE]\n\n'
  const bytes = new TextEncoder().encode(STREAM)
  const readKept = (cuts: readonly number[]) => {
    const reader = createSseReader(true)
    const ends = [...cuts, bytes.length]
    return ends.flatMap((end, i) => reader.feed(bytes.subarray(ends[i - 1] ?? 0, end)))
  }

  test('reports all of it, comments and empty lines too, wherever it is split', () => {
    for (let at = 0; at <= bytes.length; at++) {
      const events = readKept([at])
      expect(events.map(({ text }) => text).join('')).toBe(STREAM)
      expect(events.filter(({ data }) => data !== '').map(({ data }) => data)).toEqual(
        read(bytes, []).map(({ data }) => data),
      )
    }
    const single = readKept(Array.from(bytes, (_, at) => at))
    expect(single.map(({ text }) => text).join('')).toBe(STREAM)
  })

  test('refuses an endless comment', () => {
    const reader = createSseReader(true)
    const piece = new TextEncoder().encode(`: ${'x'.repeat(1_048_576)}\n`)
    expect(() => {
      for (let i = 0; i < 20; i++) reader.feed(piece)
    }).toThrow('one event of its stream is too large')
  })
})
