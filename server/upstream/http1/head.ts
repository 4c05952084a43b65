/** Parses the head of an answer: status, fields (on demand) and message framing (RFC 9112 §4–§6). */
import { malformed } from './malformed.ts'

/** A class because there is one per answer. Fields are searched on demand: only about six are needed. */
export class Head {
  readonly status: number
  /** HTTP/1.0 */
  readonly isHttp10: boolean
  /** Each field follows a CRLF, so that a name is found only at the start of a line. */
  private text: string

  /** `text` is everything up to the empty line, each line with its CRLF. @throws UpstreamFailure when it is invalid */
  constructor(text: string) {
    if (!STATUS_LINE.test(text)) throw malformed('no status line')
    this.text = text
    this.status = Number(text.slice(STATUS_AT, STATUS_AT + 3))
    this.isHttp10 = text[STATUS_AT - 2] === '0'
    checkFields(text, text.indexOf('\r\n') + 2)
  }

  /** Frees the text; `get` finds no field afterwards. */
  forget(): void {
    this.text = ''
  }

  get(name: string): string | null {
    const pattern = toPattern(name)
    let found: string | null = null
    pattern.lastIndex = 0
    while (pattern.test(this.text)) {
      const start = pattern.lastIndex
      const value = this.text.slice(start, this.text.indexOf('\r\n', start)).trim()
      found = found === null ? value : `${found}, ${value}`
    }
    return found
  }
}

/** By field name; the names are few and fixed. */
const patterns = new Map<string, RegExp>()

function toPattern(name: string): RegExp {
  const known = patterns.get(name)
  if (known !== undefined) return known
  const pattern = new RegExp(`\\r\\n${name}:`, 'gi')
  patterns.set(name, pattern)
  return pattern
}

/** A Content-Length, the chunked coding, or everything until the connection closes. */
export type Framing = number | 'chunked' | 'close'

const STATUS_LINE = /^HTTP\/1\.[01] [1-5]\d\d(?: [^\r\n\0]*)?\r\n/
const STATUS_AT = 'HTTP/1.1 '.length
/** One field on one line; obsolete line folding is not accepted. */
const FIELD = /[!#$%&'*+.^_`|~\da-z-]+:[^\r\n\0]*\r\n/iy
const MAX_FIELDS = 256

function checkFields(text: string, start: number): void {
  let fields = 0
  FIELD.lastIndex = start
  let end = start
  while (FIELD.test(text)) {
    end = FIELD.lastIndex
    fields++
    if (fields > MAX_FIELDS) throw malformed('too many fields')
  }
  if (end !== text.length) throw malformed('a broken field')
}

/** @throws UpstreamFailure when the framing is ambiguous */
export function readFraming(head: Head): Framing {
  if (head.status === 204 || head.status === 304) return 0
  const coding = head.get('transfer-encoding')
  const length = head.get('content-length')
  if (coding !== null) {
    if (length !== null) throw malformed('two statements of its length')
    if (head.isHttp10 || coding.toLowerCase() !== 'chunked') {
      throw malformed('a transfer coding that was not asked for')
    }
    return 'chunked'
  }
  return length === null ? 'close' : readLength(length)
}

const LENGTH = /^\d{1,15}$/

/** The same length repeated is one length (RFC 9112 §6.3). */
function readLength(text: string): number {
  if (LENGTH.test(text)) return Number(text)
  const [length = '', ...others] = text.split(/ *, */)
  if (!LENGTH.test(length) || others.some((other) => other !== length)) {
    throw malformed('no readable length')
  }
  return Number(length)
}

const MAX_IDLE_MS = 30_000
const CLOSE = /(?:^|,)\s*close\s*(?:,|$)/i
const HINT = /(?:^|[\s,])timeout=(\d{1,9})/i

/**
 * How long the connection may be idle after this answer, in milliseconds; 0 when it must be closed. One second less than the
 * provider's own `keep-alive` time-out.
 */
export function readIdleTime(head: Head): number {
  const connection = head.get('connection')
  if (head.isHttp10 || (connection !== null && CLOSE.test(connection))) return 0
  const keepAlive = head.get('keep-alive')
  const hint = keepAlive === null ? null : HINT.exec(keepAlive)
  if (hint === null) return MAX_IDLE_MS
  return Math.min(Math.max(0, (Number(hint[1]) - 1) * 1_000), MAX_IDLE_MS)
}
