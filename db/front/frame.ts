/**
 * What crosses between two processes: frames of calls and answers. Each is its length in four bytes, then a structured clone, so that
 * whatever a port takes and answers passes as it is. What can be packed (`packed.ts`) is in a text before the clone, and behind it, after
 * a line feed, which no JSON has, what is text anyway.
 */
import { deserialize, serialize } from 'bun:jsc'
import type { GatewayError } from '#domain/errors.ts'
import { PACKINGS, type Packed, type Packing } from './packed.ts'

/** `keys.find`, and what it is called with; 0 is the id of a call that nobody waits for. */
export type Call = readonly [id: number, method: string, args: readonly unknown[]]
export type Answer = readonly [
  id: number,
  value: unknown,
  failure: Failure | undefined,
  method: string,
]
export type Frame = readonly [calls: readonly Call[], answers: readonly Answer[], news: unknown]

/** A `GatewayError` without what caused it. */
export type Failure = Pick<GatewayError, 'code' | 'message'> & { readonly details: object }

/** As the text has it: what is not packed is in the clone, at this place of the calls or of the answers. */
type Place = number
type Text = readonly [
  calls: readonly (readonly [id: number, method: string, args: readonly Packed[] | Place])[],
  answers: readonly (readonly [id: number, value: Packed, method: string] | Place)[],
]

/** A call whose argument is text, and which nobody answers: those of a frame arrive as one. */
const LINES = 'lines'

const LENGTH_BYTES = 4
/** Of a length: a text comes first, with a length of its own. */
const HAS_TEXT = 2 ** 31

const packingOf = (method: string): Packing | undefined => PACKINGS.get(method)

/** @throws where something cannot be cloned */
export function toBytes([calls, answers, news]: Frame): Buffer {
  const otherCalls: Call[] = []
  const otherAnswers: Answer[] = []
  let lines = ''
  const text: Text = [
    calls.flatMap((call) => {
      const [id, method, args] = call
      if (method === LINES) {
        lines += args[0]
        return []
      }
      const packed = packingOf(method)?.args.pack(args) as readonly Packed[] | undefined
      return [[id, method, packed ?? otherCalls.push(call) - 1]]
    }),
    answers.map((answer) => {
      const [id, value, failure, method] = answer
      const packed = failure === undefined ? packingOf(method)?.answer.pack(value) : undefined
      return packed === undefined ? otherAnswers.push(answer) - 1 : [id, packed, method]
    }),
  ]
  const isPacked = otherCalls.length < calls.length || otherAnswers.length < answers.length
  const isWhole = otherCalls.length === 0 && otherAnswers.length === 0 && news === undefined
  const rest: Frame = [otherCalls, otherAnswers, news]
  return join(
    isPacked ? `${JSON.stringify(text)}\n${lines}` : '',
    isPacked && isWhole ? null : serialize(rest, { binaryType: 'nodebuffer' }),
  )
}

function join(text: string, clone: Buffer | null): Buffer {
  const head = text === '' ? LENGTH_BYTES : 2 * LENGTH_BYTES
  const textBytes = Buffer.byteLength(text)
  const length = head - LENGTH_BYTES + textBytes + (clone?.length ?? 0)
  const bytes = Buffer.allocUnsafe(LENGTH_BYTES + length)
  bytes.writeUInt32LE(text === '' ? length : length + HAS_TEXT)
  if (text !== '') {
    bytes.writeUInt32LE(textBytes, LENGTH_BYTES)
    bytes.write(text, head)
  }
  if (clone !== null) bytes.set(clone, head + textBytes)
  return bytes
}

/** Of a frame, without its length. */
function fromBytes(bytes: Buffer, hasText: boolean): Frame {
  if (!hasText) return deserialize(bytes) as Frame
  const end = LENGTH_BYTES + bytes.readUInt32LE()
  const text = bytes.toString('utf8', LENGTH_BYTES, end)
  const lineFeed = text.indexOf('\n')
  const [packedCalls, answers] = JSON.parse(text.slice(0, lineFeed)) as Text
  const [otherCalls, otherAnswers, news] =
    end === bytes.length ? NOTHING : (deserialize(bytes.subarray(end)) as Frame)
  const calls = packedCalls.map(
    ([id, method, args]): Call =>
      typeof args === 'number'
        ? (otherCalls[args] as Call)
        : [id, method, packingOf(method)?.args.unpack(args) as readonly unknown[]],
  )
  if (lineFeed + 1 < text.length) calls.push([0, LINES, [text.slice(lineFeed + 1)]])
  return [
    calls,
    answers.map((answer) => {
      if (typeof answer === 'number') return otherAnswers[answer] as Answer
      const [id, value, method] = answer
      return [id, packingOf(method)?.answer.unpack(value), undefined, method]
    }),
    news,
  ]
}

const NOTHING: Frame = [[], [], undefined]

/** What arrives, of a frame or of several. */
export class Arriving {
  private pieces: Buffer[] = []
  private bytes = 0
  /** With that many the next frame can be read, or its length. */
  private needed = LENGTH_BYTES

  take(bytes: Buffer): void {
    this.pieces.push(bytes)
    this.bytes += bytes.length
  }

  /** The next frame that is here whole; null where there is none. */
  next(): Frame | null {
    if (this.bytes < this.needed) return null
    const [first] = this.pieces
    const all = this.pieces.length === 1 && first ? first : Buffer.concat(this.pieces)
    const length = all.readUInt32LE()
    const hasText = length >= HAS_TEXT
    const end = LENGTH_BYTES + length - (hasText ? HAS_TEXT : 0)
    if (all.length < end) {
      this.needed = end
      this.pieces = [all]
      return null
    }
    this.needed = LENGTH_BYTES
    this.pieces = all.length === end ? [] : [all.subarray(end)]
    this.bytes = all.length - end
    return fromBytes(all.subarray(LENGTH_BYTES, end), hasText)
  }
}
