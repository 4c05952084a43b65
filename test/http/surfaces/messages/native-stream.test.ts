// Frames of a native stream: what waits for the receipt, what is added where the provider's are missing, and what comes after an error.
import { expect, test } from 'vitest'
import type { ChatEvents } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Charge } from '#domain/ledger.ts'
import { NO_USAGE } from '#domain/usage.ts'
import type { Work } from '#domain/work.ts'
import { MESSAGES } from '#http/surfaces/messages/index.ts'
import { NativeStream } from '#http/surfaces/messages/native/render-stream.ts'

const native = (text: string, holds?: 'usage' | 'end'): ChatEvents => [
  { type: 'native', text, ...(holds && { holds }) },
]
const start = (includeUsage = false) => new NativeStream({ includeUsage } as Work)
const CHARGE = { amount: 1_500n, costRub: 20_000n } as unknown as Charge

const DELTA = 'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":5}}\n\n'
const STOP = 'event: message_stop\ndata: {"type":"message_stop"}\n\n'

test('the last frame waits for the receipt, and no other does', () => {
  const stream = start()
  expect(stream.events(native(DELTA, 'usage'))).toBe(DELTA)
  expect(stream.events(native(STOP, 'end'))).toBe('')
  expect(stream.end(CHARGE)).toBe(STOP)
})

test('with the cost, the frame of the last usage waits too, and what follows it', () => {
  const stream = start(true)
  expect(stream.events(native(DELTA, 'usage'))).toBe('')
  expect(stream.events(native('event: ping\ndata: {}\n\n'))).toBe('')
  expect(stream.events(native(STOP, 'end'))).toBe('')
  expect(stream.end(CHARGE)).toBe(
    `${DELTA.replace('5}', '5,"cost":0.0000015,"cost_rub":0.02}')}event: ping\ndata: {}\n\n${STOP}`,
  )
})

test('a provider that forgets the last frame: it is added', () => {
  const stream = start()
  stream.events(native(DELTA, 'usage'))
  expect(stream.end(CHARGE)).toBe(STOP)
})

test('after an error comes nothing', () => {
  const stream = start()
  const said = stream.error(new GatewayError('upstream_overloaded', 'no'), 'req_1')
  expect(said).toMatch(/^event: error\ndata: \{"type":"error",.*"overloaded_error".*\}\n\n$/)
  expect(stream.end(CHARGE)).toBe('')
})

test.each([
  ['after a ping', native('event: ping\ndata: {"type":"ping"}\n\n')],
  ['after a count', native(DELTA, 'usage')],
])(
  'an answer that the gateway ends %s: the open block is closed, it has reached its bound, and what is charged is counted',
  (_, between) => {
    const stream = start()
    const delta = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":2}\n\n'
    stream.events(native(delta))
    stream.events(between)
    const bound = { type: 'finish', choice: 0, reason: 'length', native: 'length' } as const
    expect(stream.events([bound])).toBe('')
    const charge = { ...CHARGE, usage: { ...NO_USAGE, inputTokens: 3, outputTokens: 7 } }
    const end = stream.end(charge)
    expect(end).toMatch(/^event: content_block_stop\ndata: .*"index":2\}\n\nevent: message_delta\n/)
    expect(end).toMatch(/"stop_reason":"max_tokens".*"input_tokens":3,.*"output_tokens":7/)
    expect(end.endsWith(STOP)).toBe(true)
  },
)

test('W20: silence is filled before an agent takes it for a stall', () => {
  expect(MESSAGES.silence?.afterMs).toBeLessThanOrEqual(10_000)
  expect(MESSAGES.silence?.frame).toMatch(/^event: ping\n/)
})
