import { expect, test } from 'vitest'
import { ends, newMessage } from '#scripts/bench/message.ts'

const WHOLE = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n'
const EMPTY = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'
const NO_BODY = 'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n'

test.each([WHOLE, CHUNKED, EMPTY, NO_BODY])(
  'a message ends with its last byte, cut wherever: %j',
  (text) => {
    const bytes = Buffer.from(text)
    for (let first = 1; first < bytes.length; first++) {
      for (let second = first; second < bytes.length; second++) {
        const message = newMessage()
        const pieces = [
          bytes.subarray(0, first),
          bytes.subarray(first, second),
          bytes.subarray(second),
        ]
        const verdicts = pieces
          .filter(({ length }) => length > 0)
          .map((piece) => ends(message, piece))
        expect(verdicts.pop()).toBe(true)
        expect(verdicts).not.toContain(true)
        expect(message.bodyBytes).toBe(bytes.length - text.indexOf('\r\n\r\n') - 4)
      }
    }
  },
)

test('of a long body its end is kept', () => {
  const message = newMessage()
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n'
  expect(ends(message, Buffer.from(`${head}3e8\r\n${'x'.repeat(1_000)}`))).toBe(false)
  expect(ends(message, Buffer.from('\r\ne\r\ndata: [DO'))).toBe(false)
  expect(ends(message, Buffer.from('NE]\n\n\r\n0\r\n\r\n'))).toBe(true)
  expect(message.tail).toContain('data: [DONE]')
})
