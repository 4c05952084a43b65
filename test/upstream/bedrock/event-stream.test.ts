// AWS's event stream: messages are found however the network splits them, and damage is noticed.
import { crc32 } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { toMessage } from '#scripts/clouds/event-stream.ts'
import { createEventStreamReader } from '#upstream/bedrock/event-stream.ts'
import type { SseEvent } from '#upstream/sse.ts'

const EVENT = {
  ':event-type': 'chunk',
  ':content-type': 'application/json',
  ':message-type': 'event',
}

const chunk = (data: string): Buffer =>
  toMessage(EVENT, JSON.stringify({ bytes: Buffer.from(data).toString('base64'), p: 'abc' }))

const START = '{"type":"message_start","message":{"id":"msg_bdrk_1"}}'
const DELTA =
  '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"héllo 🦊"}}'
const STREAM = Buffer.concat([
  chunk(START),
  toMessage({ ...EVENT, ':event-type': 'initial-response' }, '{}'),
  chunk(DELTA),
])
const EVENTS = [
  { event: 'message_start', data: START, text: `event: message_start\ndata: ${START}\n\n` },
  {
    event: 'content_block_delta',
    data: DELTA,
    text: `event: content_block_delta\ndata: ${DELTA}\n\n`,
  },
]

function read(...pieces: readonly Uint8Array[]): readonly SseEvent[] {
  const reader = createEventStreamReader()
  return [...pieces.flatMap((piece) => [...reader.feed(piece)]), ...reader.end()]
}

describe('an event stream', () => {
  test('has an event for each chunk, in the words of the API beneath it', () => {
    expect(read(STREAM)).toEqual(EVENTS)
  })

  test('is the same wherever it is cut in two', () => {
    for (let at = 0; at <= STREAM.length; at++) {
      expect(read(STREAM.subarray(0, at), STREAM.subarray(at))).toEqual(EVENTS)
    }
  })

  test('is the same byte by byte', () => {
    expect(read(...Array.from(STREAM, (byte) => Uint8Array.of(byte)))).toEqual(EVENTS)
  })

  test.each([
    ['throttlingException', 'rate_limit_error'],
    ['serviceUnavailableException', 'overloaded_error'],
    ['modelTimeoutException', 'timeout_error'],
    ['validationException', 'invalid_request_error'],
    ['internalServerException', 'api_error'],
    ['modelStreamErrorException', 'api_error'],
  ])('%s in it is an error event of type %s', (exception, type) => {
    const message = toMessage(
      { ':message-type': 'exception', ':exception-type': exception },
      '{"message":"Too many tokens"}',
    )
    const [event] = read(message)
    expect(event?.event).toBe('error')
    expect(JSON.parse(event?.data ?? '')).toEqual({
      type: 'error',
      error: { type, message: 'Too many tokens' },
    })
  })

  test('an error of the protocol is an error event too', () => {
    const [event] = read(
      toMessage(
        { ':message-type': 'error', ':error-code': 'Broken', ':error-message': 'Went away' },
        '',
      ),
    )
    expect(JSON.parse(event?.data ?? '').error).toEqual({ type: 'api_error', message: 'Went away' })
  })

  test('what is no event of the API says nothing', () => {
    expect(read(chunk('{}'), toMessage(EVENT, '{"p":"x"}'), toMessage(EVENT, 'no json'))).toEqual(
      [],
    )
  })

  test.each(Array.from({ length: 40 }, (_, n) => Math.floor((n * (chunk(START).length - 1)) / 39)))(
    'a byte that was changed on the way is noticed: byte %i',
    (at) => {
      const damaged = Buffer.concat([chunk(START), chunk(DELTA)])
      damaged[at] = (damaged[at] ?? 0) ^ 0x41
      expect(() => read(damaged)).toThrow(/damaged|too large/)
    },
  )

  test('one that is too large is refused before it has arrived', () => {
    const lengths = Buffer.alloc(12)
    lengths.writeUInt32BE(17 * 1_048_576, 0)
    lengths.writeUInt32BE(crc32(lengths.subarray(0, 8)), 8)
    expect(() => read(lengths)).toThrow('too large')
  })
})
