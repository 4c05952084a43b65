/** A JSON object as it was received, in bytes. A long one is parsed but for its passages (`outline.ts`), until all of it is asked for. */
import { isAscii, isUtf8 } from 'node:buffer'
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import { parseExactly } from '#domain/exact-json.ts'
import { cutElements, type Member } from '#domain/json-text.ts'
import { spelledSize, type TextSize } from '#domain/text-size.ts'
import type { BodySource } from '#domain/work.ts'
import { MAX_DEPTH, type Outline, outline, tooDeep } from './outline.ts'

/** Of a shorter one, all is parsed. */
const LONG_BYTES = 2_048
/** The size of what a longer one spells is judged by its beginning. */
const SAMPLE_BYTES = 262_144

export class JsonBody implements BodySource {
  /** What was parsed, integers beyond 2^53 rounded as JSON.parse does. */
  readonly fields: JsonObject
  readonly exact: JsonObject
  readonly size: number
  readonly isAscii: boolean
  private received: Uint8Array | null
  private outlined: Outline | null = null
  private isRepeating: boolean | null = null
  private parsed: JsonObject | null = null

  /** Bytes that are no UTF-8 are replaced, as are decoded ones. @throws invalid_json, invalid_request */
  constructor(received: Uint8Array) {
    const bytes = toUtf8(received)
    this.received = bytes
    this.size = bytes.length
    this.isAscii = isAscii(bytes)
    let text: string
    let value: unknown
    try {
      if (bytes.length < LONG_BYTES) {
        text = this.decode(bytes)
      } else {
        this.outlined = outline(toLatin1(bytes))
        text = this.isAscii
          ? this.outlined.text
          : this.decode(Buffer.from(this.outlined.text, 'latin1'))
      }
      value = JSON.parse(text)
    } catch (thrown) {
      throw thrown instanceof GatewayError ? thrown : notJson()
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new GatewayError('invalid_request', 'the body must be a JSON object')
    }
    this.fields = value as JsonObject
    this.exact = hasLarge(value) ? (parseExactly(text, value) as JsonObject) : this.fields
  }

  get bytes(): Uint8Array {
    if (this.received === null) throw new TypeError('a body that was let go is asked for')
    return this.received
  }

  get isHeld(): boolean {
    return this.received !== null
  }

  get members(): readonly Member[] {
    return this.outlineOf().members
  }

  get repeatsNames(): boolean {
    this.isRepeating ??= this.outlineOf().names !== countNames(this.fields)
    return this.isRepeating
  }

  whole(): JsonObject {
    if (this.outlined?.isShorter !== true) return this.exact
    this.parsed ??= parseExactly(this.decode(this.bytes)) as JsonObject
    return this.parsed
  }

  without(name: string, isCut: (index: number) => boolean): JsonBody {
    return new JsonBody(Buffer.from(cutElements(toLatin1(this.bytes), name, isCut), 'latin1'))
  }

  letGo(): void {
    this.received = null
    this.parsed = null
  }

  /** The size of the text that it spells, some of it perhaps in escapes; null where it is as long as it is written. */
  spelledSize(): TextSize | null {
    const { bytes, size } = this
    if (this.isAscii && (size < LONG_BYTES || !toBuffer(bytes).includes('\\u'))) return null
    const sample = bytes.subarray(0, SAMPLE_BYTES)
    const spelled = spelledSize(this.decode(sample), sample.length, size)
    return spelled.bytes === size && spelled.dense === 0 ? null : spelled
  }

  private outlineOf(): Outline {
    this.outlined ??= outline(toLatin1(this.bytes))
    return this.outlined
  }

  private decode(bytes: Uint8Array): string {
    return this.isAscii ? toLatin1(bytes) : DECODER.decode(bytes)
  }
}

const DECODER = new TextDecoder()
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

function toUtf8(received: Uint8Array): Uint8Array {
  if (!isUtf8(received)) return Buffer.from(DECODER.decode(received))
  return BYTE_ORDER_MARK.every((byte, at) => received[at] === byte)
    ? received.subarray(BYTE_ORDER_MARK.length)
    : received
}

const toBuffer = ({ buffer, byteOffset, length }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, length)

/** A character for each byte: what JSON is made of looks the same. */
const toLatin1 = (bytes: Uint8Array): string => Buffer.prototype.toString.call(bytes, 'latin1')

const notJson = (): GatewayError => new GatewayError('invalid_json', 'the body is not valid JSON')

/**
 * Checks the depth, and rejects numbers too large for a double. Returns whether a number is beyond 2^53, so that the parser may
 * have rounded it. @throws invalid_request
 */
function hasLarge(value: unknown, depth = 1): boolean {
  if (typeof value === 'number') {
    if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return false
    if (Number.isFinite(value)) return true
    throw new GatewayError('invalid_request', 'a number in the body is too large')
  }
  if (typeof value !== 'object' || value === null) return false
  if (depth > MAX_DEPTH) throw tooDeep()
  let isLarge = false
  if (Array.isArray(value)) {
    for (const item of value) if (hasLarge(item, depth + 1)) isLarge = true
  } else {
    for (const name in value) {
      if (hasLarge((value as Record<string, unknown>)[name], depth + 1)) isLarge = true
    }
  }
  return isLarge
}

/** How many names its objects have kept. */
function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let names = 0
  if (Array.isArray(value)) {
    for (const item of value) names += countNames(item)
  } else {
    for (const name in value) names += 1 + countNames((value as JsonObject)[name])
  }
  return names
}
