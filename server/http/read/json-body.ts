/** A JSON object as it was received. A long one is parsed but for its passages (`outline.ts`), until all of it is asked for. */
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
const SAMPLE_CHARS = 262_144

export class JsonBody implements BodySource {
  /** What was parsed, integers beyond 2^53 rounded as JSON.parse does. */
  readonly fields: JsonObject
  readonly exact: JsonObject
  readonly size: number
  private received: string | null
  private outlined: Outline | null = null
  private isRepeating: boolean | null = null
  private parsed: JsonObject | null = null

  /** @throws invalid_json, invalid_request */
  constructor(text: string) {
    this.received = text
    this.size = Buffer.byteLength(text)
    let parsed = text
    let value: unknown
    try {
      if (this.size >= LONG_BYTES) {
        this.outlined = outline(text)
        parsed = this.outlined.text
      }
      value = JSON.parse(parsed)
    } catch (thrown) {
      throw thrown instanceof GatewayError ? thrown : notJson()
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new GatewayError('invalid_request', 'the body must be a JSON object')
    }
    this.fields = value as JsonObject
    this.exact = hasLarge(value) ? (parseExactly(parsed, value) as JsonObject) : this.fields
  }

  get text(): string {
    if (this.received === null) throw new TypeError('a body that was let go is asked for')
    return this.received
  }

  get isHeld(): boolean {
    return this.received !== null
  }

  /** The runtime keeps a text that is not ASCII in two bytes for each unit. */
  get memoryBytes(): number {
    return this.isAscii ? this.size : this.text.length * 2
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
    this.parsed ??= parseExactly(this.text) as JsonObject
    return this.parsed
  }

  without(name: string, isCut: (index: number) => boolean): JsonBody {
    return new JsonBody(cutElements(this.text, name, isCut))
  }

  letGo(): void {
    this.received = null
    this.parsed = null
  }

  /** The size of the text that it spells, some of it perhaps in escapes; null where it is as long as it is written. */
  spelledSize(): TextSize | null {
    const { text, size } = this
    if (this.isAscii && (size < LONG_BYTES || !text.includes('\\u'))) return null
    const sample = text.slice(0, SAMPLE_CHARS)
    const spelled = spelledSize(sample, Buffer.byteLength(sample), size)
    return spelled.bytes === size && spelled.dense === 0 ? null : spelled
  }

  private get isAscii(): boolean {
    return this.size === this.text.length
  }

  private outlineOf(): Outline {
    this.outlined ??= outline(this.text)
    return this.outlined
  }
}

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
