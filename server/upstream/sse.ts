/** An incremental parser of server-sent events (HTML Standard, §9.2). */
import { UpstreamFailure } from '#domain/upstream.ts'

export interface SseEvent {
  /** Undefined where the provider did not name it. */
  readonly event?: string | undefined
  readonly data: string
  /** As it came, with the comments before it and its blank line; only of a reader that keeps it. */
  readonly text?: string
}

/** An image of several megabytes is one line. */
const MAX_EVENT_BYTES = 16 * 1_048_576

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const LINE_END = /[\r\n]/g
const BYTE_ORDER_MARK = '\ufeff'
const COMMENT = Buffer.from(':')
/** JSON, or a page, under the type of a stream. */
const ANOTHER_TYPE = /^\s*[{[<]/
const CLOSING = Buffer.from('\n\n')
const NOTHING: readonly SseEvent[] = []

/** Only whole lines are decoded, so that no character is split. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** One that `keepsText` reports comments and other blocks without data too, as events of no data: all that came, in order. */
export const createSseReader = (keepsText = false): SseReader => new SseReader(keepsText)

/** A class because each stream has one for its whole life. It buffers nothing between pieces that end with a line. */
export class SseReader {
  /** An incomplete line: the first `heldBytes` of a buffer that may be larger. */
  private held: Buffer | null = null
  private heldBytes = 0
  private isAtStart = true
  /** A line feed that comes next belongs to the same CRLF. */
  private endedInCr = false
  /** The data of an incomplete event; null when it has no data line yet. */
  private data: string | null = null
  private event: string | undefined = undefined
  /** The text of an incomplete event; null where it is not kept. */
  private kept: string | null

  constructor(keepsText: boolean) {
    this.kept = keepsText ? '' : null
  }

  /** The events completed by these bytes. @throws UpstreamFailure when an event exceeds 16 MiB */
  feed(bytes: Uint8Array): readonly SseEvent[] {
    if (bytes.length === 0) return NOTHING
    const start = this.endedInCr && bytes[0] === LF ? 1 : 0
    if (start > 0 && this.kept !== null) this.kept += '\n'
    const end = Math.max(start, endOfLines(bytes))
    this.endedInCr = end > start && end === bytes.length && bytes[end - 1] === CR
    const events = end > start ? this.takeLines(this.decode(bytes, start, end)) : NOTHING
    if (end < bytes.length) this.hold(bytes.subarray(end))
    return events
  }

  /** At the end of the stream: an event without its blank line counts when its data is complete. */
  end(): readonly SseEvent[] {
    return this.feed(CLOSING).filter(({ data }) => isWhole(data))
  }

  /** Buffers part of a line (a copy: a view would retain the whole piece); of a comment only its colon. */
  private hold(piece: Uint8Array): void {
    if (this.held === null && piece[0] === COLON && this.kept === null) this.held = COMMENT
    if (this.held === COMMENT) return
    const bytes = this.heldBytes + piece.length
    this.checkSize(bytes)
    if (this.held === null || bytes > this.held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * this.heldBytes))
      this.held?.copy(larger, 0, 0, this.heldBytes)
      this.held = larger
    }
    this.held.set(piece, this.heldBytes)
    this.heldBytes = bytes
  }

  private checkSize(heldBytes: number): void {
    if (heldBytes + (this.kept ?? this.data ?? '').length > MAX_EVENT_BYTES) {
      throw new UpstreamFailure('failed', 'one event of its stream is too large')
    }
  }

  /** Decodes whole lines, together with the buffered start of the first. */
  private decode(bytes: Uint8Array, start: number, end: number): string {
    const text = decoder.decode(
      this.join(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end)),
    )
    const isMarked = this.isAtStart && text.startsWith(BYTE_ORDER_MARK)
    this.isAtStart = false
    return isMarked ? text.slice(BYTE_ORDER_MARK.length) : text
  }

  private join(bytes: Uint8Array): Uint8Array {
    if (this.held === null) return bytes
    if (this.held !== COMMENT) this.hold(bytes)
    const all =
      this.held === COMMENT
        ? Buffer.concat([COMMENT, bytes])
        : this.held.subarray(0, this.heldBytes)
    this.held = null
    this.heldBytes = 0
    return all
  }

  private takeLines(text: string): readonly SseEvent[] {
    const hasCr = text.includes('\r')
    let events: SseEvent[] | null = null
    let keptTo = 0
    for (let at = 0; at < text.length; ) {
      const end = hasCr ? endOfLine(text, at) : text.indexOf('\n', at)
      const next = hasCr && text.startsWith('\r\n', end) ? end + 2 : end + 1
      if (end === at) {
        if (this.data !== null || this.kept !== null) {
          events ??= []
          events.push(this.takeEvent(text.slice(keptTo, next)))
          keptTo = next
        }
        this.data = null
        this.event = undefined
      } else {
        this.takeField(text, at, end)
      }
      at = next
    }
    if (this.kept !== null) {
      this.kept += text.slice(keptTo)
      this.checkSize(0)
    }
    return events ?? NOTHING
  }

  /** The event that ends with this text. @throws UpstreamFailure where the text is kept and is none */
  private takeEvent(rest: string): SseEvent {
    const { event, data, kept } = this
    if (kept === null) return { event, data: data ?? '' }
    this.kept = ''
    const text = kept + rest
    if (data === null && ANOTHER_TYPE.test(text)) {
      throw new UpstreamFailure('failed', 'it sent a body as a stream')
    }
    return { event, data: data ?? '', text }
  }

  private takeField(lines: string, at: number, end: number): void {
    if (isField(lines, 'data', at, end)) {
      const value = readValue(lines, at + 'data'.length, end)
      this.data = this.data === null ? value : `${this.data}\n${value}`
      this.checkSize(0)
    } else if (isField(lines, 'event', at, end)) {
      this.event = readValue(lines, at + 'event'.length, end) || undefined
    }
  }
}

/** Where the last complete line ends; most pieces end with one. */
function endOfLines(bytes: Uint8Array): number {
  if (bytes[bytes.length - 1] === LF) return bytes.length
  return Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR)) + 1
}

function endOfLine(text: string, at: number): number {
  LINE_END.lastIndex = at
  return LINE_END.exec(text)?.index ?? text.length
}

const isField = (lines: string, name: string, at: number, end: number): boolean =>
  lines.startsWith(name, at) &&
  (at + name.length === end || lines.charCodeAt(at + name.length) === COLON)

/** The value after the colon and an optional space; a name without colon has an empty value. */
function readValue(lines: string, colon: number, end: number): string {
  if (colon >= end) return ''
  return lines.slice(lines[colon + 1] === ' ' ? colon + 2 : colon + 1, end)
}

function isWhole(data: string): boolean {
  if (data.trim() === '[DONE]') return true
  try {
    JSON.parse(data)
    return true
  } catch {
    return false
  }
}
