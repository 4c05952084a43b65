/** Server-sent events out of bytes, however the network cut them (HTML Standard, §9.2). */
import { UpstreamFailure } from '#domain/upstream.ts'

export interface SseEvent {
  /** Undefined where the provider did not name it. */
  readonly event?: string | undefined
  readonly data: string
}

/** A picture of several megabytes travels in one line. */
const LONGEST_EVENT_BYTES = 16 * 1_048_576

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const LINE_ENDS = /\r\n?/g
const BYTE_ORDER_MARK = '\ufeff'
const COMMENT: Uint8Array = Buffer.from(':')
const CLOSING = Buffer.from('\n\n')
const NOTHING: readonly SseEvent[] = []

/** Never in the middle of a character: only whole lines are decoded. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Starts at the first byte of a stream. */
export const createSseReader = (): SseReader => new SseReader()

/** A class, because each stream has one for as long as it lasts; between two pieces that end in a line's end it holds nothing. */
export class SseReader {
  /** Of a line whose end has not come. */
  private pieces: Uint8Array[] | null = null
  private pendingBytes = 0
  private isAtStart = true
  /** A line feed that comes next belongs to the line end that was read. */
  private endedInCr = false
  /** Of an event whose blank line has not come; null without a line of data. */
  private data: string | null = null
  private event: string | undefined = undefined

  /** The events that these bytes complete. @throws UpstreamFailure when one of them grows beyond 16 MiB */
  feed(bytes: Uint8Array): readonly SseEvent[] {
    if (bytes.length === 0) return NOTHING
    const start = this.endedInCr && bytes[0] === LF ? 1 : 0
    const end = Math.max(start, endOfLines(bytes))
    this.endedInCr = end > start && end === bytes.length && bytes[end - 1] === CR
    const events =
      end > start
        ? this.takeLines(
            this.decode(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end)),
          )
        : NOTHING
    if (end < bytes.length) this.hold(bytes.subarray(end))
    return events
  }

  /** What the end of the stream leaves: an event without its blank line counts when it is whole. */
  end(): readonly SseEvent[] {
    return this.feed(CLOSING).filter(({ data }) => isWhole(data))
  }

  /** Keeps a piece of a line; of a comment only what tells that it is one. */
  private hold(piece: Uint8Array): void {
    const first = this.pieces?.[0]
    if (first === undefined) {
      // A copy: a view would keep all of what came with it.
      const kept = piece[0] === COLON ? COMMENT : Buffer.from(piece)
      this.pieces = [kept]
      this.pendingBytes = kept.length
    } else if (first !== COMMENT) {
      this.pieces?.push(piece)
      this.pendingBytes += piece.length
    }
    this.checkSize()
  }

  private checkSize(): void {
    if (this.pendingBytes + (this.data?.length ?? 0) > LONGEST_EVENT_BYTES) {
      throw new UpstreamFailure('failed', 'one event of its stream is too large')
    }
  }

  /** Whole lines as text, with what was held before them. */
  private decode(bytes: Uint8Array): string {
    const { pieces } = this
    this.pieces = null
    this.pendingBytes = 0
    pieces?.push(bytes)
    const text = decoder.decode(pieces === null ? bytes : Buffer.concat(pieces))
    const isMarked = this.isAtStart && text.startsWith(BYTE_ORDER_MARK)
    this.isAtStart = false
    return isMarked ? text.slice(BYTE_ORDER_MARK.length) : text
  }

  private takeLines(text: string): readonly SseEvent[] {
    const lines = text.includes('\r') ? text.replace(LINE_ENDS, '\n') : text
    let events: SseEvent[] | null = null
    for (let at = 0; at < lines.length; ) {
      const end = lines.indexOf('\n', at)
      if (end === at) {
        if (this.data !== null) {
          events ??= []
          events.push({ event: this.event, data: this.data })
        }
        this.data = null
        this.event = undefined
      } else {
        this.takeField(lines, at, end)
      }
      at = end + 1
    }
    return events ?? NOTHING
  }

  private takeField(lines: string, at: number, end: number): void {
    if (isField(lines, 'data', at, end)) {
      const value = readValue(lines, at + 'data'.length, end)
      this.data = this.data === null ? value : `${this.data}\n${value}`
      this.checkSize()
    } else if (isField(lines, 'event', at, end)) {
      this.event = readValue(lines, at + 'event'.length, end) || undefined
    }
  }
}

/** Where the last line of these ends; most pieces end with one. */
function endOfLines(bytes: Uint8Array): number {
  if (bytes[bytes.length - 1] === LF) return bytes.length
  return Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR)) + 1
}

const isField = (lines: string, name: string, at: number, end: number): boolean =>
  lines.startsWith(name, at) &&
  (at + name.length === end || lines.charCodeAt(at + name.length) === COLON)

/** What stands behind a colon, and a space; a name alone has an empty value. */
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
