// Parsing an HTTP/1.1 response: the same result wherever the bytes are split, and an error whenever its end is ambiguous.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FULL } from '#test/support/tier.ts'
import { cutPiece, cutText, endsAtClose, Parser, takeBytes } from '#upstream/http1/parser.ts'

interface Taken {
  readonly status: number | undefined
  readonly body: string
  readonly isComplete: boolean
  readonly idleMs: number
}

/** The result for `text`, split at these places. */
function take(text: string, cuts: readonly number[] = []): Taken & { readonly parser: Parser } {
  const bytes = Buffer.from(text, 'latin1')
  const parser = new Parser()
  let body = ''
  let at = 0
  for (const cut of [...cuts, bytes.length]) {
    // Each piece belongs to the parser, as with a socket.
    if (cut > at) {
      takeBytes(parser, Buffer.from(bytes.subarray(at, cut)))
      body += cutPiece(parser).toString('latin1')
    }
    at = Math.max(at, cut)
  }
  const { head, isComplete, idleMs } = parser
  return { status: head?.status, body, isComplete, idleMs, parser }
}

const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`
const REST = 30_000

const ANSWERS: readonly [name: string, text: string, taken: Partial<Taken>][] = [
  ['a stated length', `${OK}content-length: 5\r\n\r\nhello`, { body: 'hello', idleMs: REST }],
  ['a length of nothing', `${OK}content-length: 0\r\n\r\n`, { body: '', idleMs: REST }],
  ['a length said twice', `${OK}content-length: 2\r\nContent-Length: 2\r\n\r\nhi`, { body: 'hi' }],
  ['a length said twice in one', `${OK}content-length: 2, 2\r\n\r\nhi`, { body: 'hi' }],
  ['no reason in words', 'HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nhi', { body: 'hi' }],
  ['no fields', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, body: '', idleMs: REST }],
  ['no body for a 304', 'HTTP/1.1 304 \r\ncontent-length: 9\r\n\r\n', { status: 304, body: '' }],
  ['chunks', `${CHUNKED}3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n`, { body: 'abc0123456789' }],
  ['big letters', `${OK}Transfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`, { body: 'a' }],
  ['one empty body in chunks', `${CHUNKED}0\r\n\r\n`, { body: '', idleMs: REST }],
  ['a padded size', `${CHUNKED}00000003\r\nabc\r\n0000\r\n\r\n`, { body: 'abc' }],
  ['extensions', `${CHUNKED}3;a="b\tc"\r\nabc\r\n2 ; x\r\nde\r\n0;z\r\n\r\n`, { body: 'abcde' }],
  ['trailers', `${CHUNKED}1\r\na\r\n0\r\nx-sum: 1\r\nx: \r\n\r\n`, { body: 'a', idleMs: REST }],
  ['line ends inside chunks', `${CHUNKED}6\r\n\r\n0\r\n\r\r\n0\r\n\r\n`, { body: '\r\n0\r\n\r' }],
  [
    'interim answers',
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 \r\nx: y\r\n\r\n${OK}content-length: 1\r\n\r\na`,
    { status: 200, body: 'a' },
  ],
  ['a farewell', `${OK}Connection: Close\r\ncontent-length: 1\r\n\r\na`, { body: 'a', idleMs: 0 }],
  [
    'a farewell among others',
    `${OK}connection: te, close\r\ncontent-length: 0\r\n\r\n`,
    { idleMs: 0 },
  ],
  ['an old dialect', 'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na', { body: 'a', idleMs: 0 }],
  ['a hint', `${OK}keep-alive: timeout=5, max=9\r\ncontent-length: 0\r\n\r\n`, { idleMs: 4_000 }],
  ['a hint too short', `${OK}keep-alive: timeout=1\r\ncontent-length: 0\r\n\r\n`, { idleMs: 0 }],
  ['a long hint', `${OK}keep-alive: timeout=600\r\ncontent-length: 0\r\n\r\n`, { idleMs: REST }],
  ['more than was said', `${OK}content-length: 1\r\n\r\nab`, { body: 'a', idleMs: 0 }],
  [
    'more behind the last chunk',
    `${CHUNKED}1\r\na\r\n0\r\n\r\nHTTP/1.1 `,
    { body: 'a', idleMs: 0 },
  ],
]

describe.each(ANSWERS)('%s', (_, text, taken) => {
  test('is parsed at once, in two pieces split at every byte, and byte by byte', () => {
    const whole = take(text)
    expect(whole).toMatchObject({ status: 200, isComplete: true, ...taken })
    for (let cut = 1; cut < text.length; cut++) {
      const { parser: _, ...rest } = take(text, [cut])
      // Bytes after the end are seen only when they arrive before the connection is released.
      const idleMs = text.endsWith('ab') || text.endsWith(' ') ? rest.idleMs : whole.idleMs
      expect(rest).toEqual({ status: whole.status, body: whole.body, isComplete: true, idleMs })
    }
    const everywhere = Array.from({ length: text.length }, (_, i) => i)
    expect(take(text, everywhere).body).toBe(whole.body)
  })
})

test('any body in any chunks, split anywhere, is parsed', () => {
  const piece = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(fc.array(piece), fc.array(fc.nat(2_000)), (pieces, cuts) => {
      const chunks = pieces.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join('')
      const { body, isComplete } = take(
        `${CHUNKED}${chunks}0\r\n\r\n`,
        cuts.toSorted((a, b) => a - b),
      )
      expect(body).toBe(pieces.join(''))
      expect(isComplete).toBe(true)
    }),
  )
})

test('a body without a length ends with its connection, and with nothing else', () => {
  const { parser, body, isComplete, idleMs } = take(`${OK}\r\nsome`)
  expect({ body, isComplete, idleMs }).toEqual({ body: 'some', isComplete: false, idleMs: 0 })
  expect(endsAtClose(parser)).toBe(true)
  expect(endsAtClose(take(`${OK}content-length: 9\r\n\r\nsome`).parser)).toBe(false)
  expect(endsAtClose(take(`${CHUNKED}9\r\nsome`).parser)).toBe(false)
  expect(endsAtClose(take(OK).parser)).toBe(false)
})

test('header names are case-insensitive, and repeated headers are joined', () => {
  const head = take(
    `${OK}Content-Type:text/event-stream; Charset=UTF-8  \r\nX-A: 1\r\nx-a: zwei: 2\r\ncontent-length: 0\r\n\r\n`,
  ).parser.head
  expect(head?.get('content-type')).toBe('text/event-stream; Charset=UTF-8')
  expect(head?.get('Content-Type')).toBe('text/event-stream; Charset=UTF-8')
  expect(head?.get('x-a')).toBe('1, zwei: 2')
  expect(head?.get('a')).toBeNull()
  expect(head?.get('type')).toBeNull()
})

test('any headers are found as if they were split line by line', () => {
  const name = fc.constantFrom('a', 'A', 'b', 'a-b', 'B-A', 'x-a', 'X-a')
  const letter = fc.constantFrom('a', 'B', ':', ' ', '\t', ',', '\xe9', '\xa0')
  const value = fc.string({ unit: letter, maxLength: 12 })
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value)), (fields) => {
      const lines = fields.map(([name, value]) => `${name}:${value}\r\n`).join('')
      const head = take(`${OK}${lines}content-length: 0\r\n\r\n`).parser.head
      for (const sought of ['a', 'b', 'a-b', 'b-a', 'x-a', 'x', 'x-b']) {
        const values = fields.filter(([name]) => name.toLowerCase() === sought)
        const joined = values.map(([, value]) => value.trim()).join(', ')
        expect(head?.get(sought)).toBe(values.length === 0 ? null : joined)
      }
    }),
  )
})

test('any bytes are decoded as a text decoder would', () => {
  const byte = fc.oneof(
    fc.constantFrom(0xef, 0xbb, 0xbf, 0xc3, 0xa9, 0xf0, 0x9f, 0xed, 0xa0),
    fc.nat(255),
  )
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 24 }), fc.boolean(), (bytes, isMarked) => {
      const body = Buffer.from(isMarked ? [0xef, 0xbb, 0xbf, ...bytes] : bytes)
      const parser = new Parser()
      const head = `${OK}content-length: ${body.length}\r\n\r\n`
      takeBytes(parser, Buffer.concat([Buffer.from(head), body]))
      expect(cutText(parser)).toBe(new TextDecoder().decode(body))
    }),
    { numRuns: FULL ? 2_000 : 200 },
  )
})

const REFUSED: readonly [name: string, text: string][] = [
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['a page without a head', '<html>'],
  ['a newer version', 'HTTP/2 200\r\n\r\n'],
  ['half a version', 'HTTP/1.2 200 OK\r\n\r\n'],
  ['a status of no kind', 'HTTP/1.1 999 What\r\n\r\n'],
  ['a status in words', 'HTTP/1.1 OK\r\n\r\n'],
  ['a switch of protocols', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n'],
  ['a folded field', `${OK}x: a\r\n b\r\ncontent-length: 0\r\n\r\n`],
  ['a field without a colon', `${OK}nonsense\r\n\r\n`],
  ['a field without a name', `${OK}: a\r\n\r\n`],
  ['a space before the colon', `${OK}content-length : 1\r\n\r\na`],
  ['a bare line feed', `${OK}x: a\nb: c\r\n\r\n`],
  ['a bare carriage return', `${OK}x: a\rb: c\r\n\r\n`],
  ['a NUL', `${OK}x: a\0b\r\n\r\n`],
  ['two lengths', `${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nab`],
  ['two lengths in one', `${OK}content-length: 1, 2\r\n\r\nab`],
  ['a negative length', `${OK}content-length: -1\r\n\r\n`],
  ['a length with a sign', `${OK}content-length: +1\r\n\r\n`],
  ['a length in hex', `${OK}content-length: 0x1\r\n\r\n`],
  ['an empty length', `${OK}content-length:\r\n\r\n`],
  ['an absurd length', `${OK}content-length: 99999999999999999999\r\n\r\n`],
  ['a length and chunks', `${OK}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a coding beside chunks', `${OK}transfer-encoding: gzip, chunked\r\n\r\n`],
  ['chunks said twice', `${OK}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n`],
  ['chunks in an old dialect', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'],
  ['a chunk without size', `${CHUNKED}\r\nabc`],
  ['a chunk with a nonsense size', `${CHUNKED}xyz\r\nabc`],
  ['a chunk with a negative size', `${CHUNKED}-1\r\n`],
  ['a chunk of endless size', `${CHUNKED}fffffffffffff\r\n`],
  ['endless zeros', `${CHUNKED}${'0'.repeat(5_000)}`],
  ['an endless extension', `${CHUNKED}1;${'x'.repeat(5_000)}`],
  ['a bare line feed behind a size', `${CHUNKED}1\na`],
  ['a bare line feed in an extension', `${CHUNKED}1;a\nb`],
  ['a chunk longer than it said', `${CHUNKED}1\r\nabc`],
  ['a chunk that ends half', `${CHUNKED}1\r\na\rb`],
  ['endless trailers', `${CHUNKED}0\r\n${'x: y\r\n'.repeat(5_000)}`],
  ['one endless trailer', `${CHUNKED}0\r\nx: ${'y'.repeat(20_000)}`],
  ['a bare line feed in a trailer', `${CHUNKED}0\r\nx: y\nz: y\r\n\r\n`],
  ['257 fields', `${OK}${'x: y\r\n'.repeat(257)}\r\n`],
  ['a head of 64 KiB', `${OK}x: ${'y'.repeat(65_536)}\r\n\r\n`],
  ['a head without end', `${OK}x: ${'y'.repeat(65_536)}`],
  ['endless interim answers', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(3_000)],
]

test.each(REFUSED)('%s is refused, at once and byte by byte', (_, text) => {
  const refused = expect.objectContaining({ kind: 'failed' })
  expect(() => take(text)).toThrow(refused)
  expect(() => take(text, [1, 2, 3, 9, 20, 40, 41, 42, 43, 44, 45, 46, 47, 48])).toThrow(refused)
  if (text.length < 10_000) {
    expect(() =>
      take(
        text,
        Array.from(text, (_, i) => i),
      ),
    ).toThrow(refused)
  }
})

test('256 headers and a head of just under 64 KiB are accepted', () => {
  expect(take(`${OK}${'x: y\r\n'.repeat(255)}content-length: 0\r\n\r\n`).isComplete).toBe(true)
  const long = `${OK}content-length: 0\r\nx: ${'y'.repeat(65_400)}\r\n\r\n`
  expect(take(long).isComplete).toBe(true)
})
