/** Reads the head of an answer: its status, its fields on demand, and where its body ends (RFC 9112 §4–§6). */
import { malformed } from './malformed.ts'

/** A class, because each answer has one, and is asked for half a dozen fields. */
export class Head {
  readonly status: number
  /** HTTP/1.0 */
  readonly isOld: boolean
  private text: string
  private lower: string

  /** `text` is everything up to the empty line, each line with its end. @throws UpstreamFailure when it is no head */
  constructor(text: string) {
    if (!STATUS_LINE.test(text)) throw malformed('no status line')
    this.text = text
    // Every line end is kept in front of a field, so that a name is only ever found at the start of a line.
    this.lower = text.toLowerCase()
    this.status = Number(text.slice(STATUS_AT, STATUS_AT + 3))
    this.isOld = text[STATUS_AT - 2] === '0'
    checkFields(this.lower, text.indexOf('\r\n') + 2)
  }

  /** From now on no field is found. */
  forget(): void {
    this.text = ''
    this.lower = ''
  }

  get(name: string): string | null {
    return this.find(`\r\n${name.toLowerCase()}:`)
  }

  /** The same for a name in small letters, between a line end and a colon. */
  find(sought: string): string | null {
    let found: string | null = null
    for (let at = this.lower.indexOf(sought); at >= 0; at = this.lower.indexOf(sought, at + 1)) {
      const start = at + sought.length
      const value = this.text.slice(start, this.text.indexOf('\r\n', start)).trim()
      found = found === null ? value : `${found}, ${value}`
    }
    return found
  }
}

/** A number of bytes, chunks, or everything up to the end of the connection. */
export type Framing = number | 'chunked' | 'close'

const STATUS_LINE = /^HTTP\/1\.[01] [1-5]\d\d(?: [^\r\n\0]*)?\r\n/
const STATUS_AT = 'HTTP/1.1 '.length
/** One field on one line; a folded one begins with a space and so fits nowhere. */
const FIELD = /[!#$%&'*+.^_`|~\da-z-]+:[^\r\n\0]*\r\n/y
const MOST_FIELDS = 256

function checkFields(lower: string, start: number): void {
  let fields = 0
  FIELD.lastIndex = start
  let end = start
  while (FIELD.test(lower)) {
    end = FIELD.lastIndex
    fields++
    if (fields > MOST_FIELDS) throw malformed('too many fields')
  }
  if (end !== lower.length) throw malformed('a broken field')
}

/** @throws UpstreamFailure when the fields leave any doubt */
export function readFraming(head: Head): Framing {
  if (head.status === 204 || head.status === 304) return 0
  const coding = head.find('\r\ntransfer-encoding:')
  const length = head.find('\r\ncontent-length:')
  if (coding !== null) {
    if (length !== null) throw malformed('two statements of its length')
    if (head.isOld || coding.toLowerCase() !== 'chunked') {
      throw malformed('a transfer coding that was not asked for')
    }
    return 'chunked'
  }
  return length === null ? 'close' : readLength(length)
}

const LENGTH = /^\d{1,15}$/

/** The same length said twice is one length (RFC 9112 §6.3). */
function readLength(text: string): number {
  if (LENGTH.test(text)) return Number(text)
  const [length = '', ...others] = text.split(/ *, */)
  if (!LENGTH.test(length) || others.some((other) => other !== length)) {
    throw malformed('no readable length')
  }
  return Number(length)
}

const LONGEST_REST_MS = 30_000
const FAREWELL = /(?:^|,)\s*close\s*(?:,|$)/i
const HINT = /(?:^|[\s,])timeout=(\d{1,9})/i

/**
 * How long the connection may rest after this answer before it serves another, in milliseconds; 0 for not at all. A
 * provider that says when it will hang up is left a second before that.
 */
export function readRest(head: Head): number {
  const connection = head.find('\r\nconnection:')
  if (head.isOld || (connection !== null && FAREWELL.test(connection))) return 0
  const manner = head.find('\r\nkeep-alive:')
  const hint = manner === null ? null : HINT.exec(manner)
  if (hint === null) return LONGEST_REST_MS
  return Math.min(Math.max(0, (Number(hint[1]) - 1) * 1_000), LONGEST_REST_MS)
}
