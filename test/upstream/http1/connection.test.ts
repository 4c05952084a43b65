// The part of a request that the network did not accept is preserved when the next request is written.
import { expect, test } from 'vitest'
import { said } from '#test/support/json-body.ts'
import {
  Connection,
  type Exchange,
  sendRequest,
  sendRest,
  toRequestText,
  toTarget,
} from '#upstream/http1/exchange.ts'

const target = toTarget(new URL('http://provider.test/v1'), null)

/** A connection whose socket accepts this many bytes at a time. */
function openLine(takes: number): { readonly line: Connection; readonly heard: () => string } {
  const taken: Buffer[] = []
  const write = (bytes: Buffer, from = 0, length = bytes.length): number => {
    const took = Math.min(takes, length)
    taken.push(Buffer.from(bytes.subarray(from, from + took)))
    return took
  }
  const line = new Connection(target, { control: { sent() {} } } as unknown as Exchange)
  line.socket = { write } as unknown as Connection['socket']
  return { line, heard: () => Buffer.concat(taken).toString() }
}

test.each([
  ['short ones', 1_000],
  ['long ones', 100_000],
])('%s keep their own bytes', (_, times) => {
  // Each is larger than the one before, and would be written over the unsent rest of it.
  const bodies = [
    new Uint8Array(times).fill(0x61),
    ['{"a":"', 'plain'.repeat(times), '', '家"}'],
    'Дом, 家 and é'.repeat(times),
  ]
  const opened = bodies.map((body) => {
    const request = toRequestText(target, { headers: { accept: 'x' }, requestId: 'r', body })
    // Less than is written at once.
    return { ...openLine(Math.ceil(Math.min(request.bytes, 90_000) / 3)), request }
  })
  for (const { line, request } of opened) expect(sendRequest(line, request)).toBe(true)
  for (const { line, heard } of opened) {
    expect(line.unsent.length).toBeGreaterThan(0)
    while (line.unsent.length > 0) sendRest(line)
    const [head = '', body] = heard().split('\r\n\r\n')
    const { length } = Buffer.from(body ?? '')
    expect(head.toLowerCase().split('\r\n')).toContain(`content-length: ${length}`)
  }
  const heard = opened.map((one) => one.heard().split('\r\n\r\n')[1])
  const texts = bodies.map((body) =>
    Array.isArray(body) ? said(body) : Buffer.from(body as string).toString(),
  )
  expect(heard.map((text) => Bun.hash(text ?? ''))).toEqual(texts.map((text) => Bun.hash(text)))
})
