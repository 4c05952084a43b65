/** Reads the head of an answer: its status, its fields on demand, and where its body ends (RFC 9112 §4–§6). */
import { malformed } from './malformed.ts'

export interface Head {
  readonly status: number
  get(name: string): string | null
}

/** A number of bytes, chunks, or everything up to the end of the connection. */
export type Framing = number | 'chunked' | 'close'

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [^\r\n\0]*)?\r\n/
/** One field on one line; a folded one begins with a space and so fits nowhere. */
const FIELD = /[!#$%&'*+.^_`|~\da-z-]+:[^\r\n\0]*\r\n/y
const MOST_FIELDS = 256

/** `text` is everything up to the empty line, each line with its end. @throws UpstreamFailure when it is no head */
export function readHead(text: string): Head & { readonly isOld: boolean } {
  const line = STATUS_LINE.exec(text)
  if (line === null) throw malformed('no status line')
  // Every line end is kept in front of a field, so that a name is only ever found at the start of a line.
  const lower = text.toLowerCase()
  checkFields(lower, line[0].length)
  return {
    status: Number(line[2]),
    isOld: line[1] === '0',
    get: (name) => findField(text, lower, name.toLowerCase()),
  }
}

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

function findField(text: string, lower: string, name: string): string | null {
  const sought = `\r\n${name}:`
  let found: string | null = null
  for (let at = lower.indexOf(sought); at >= 0; at = lower.indexOf(sought, at + 1)) {
    const start = at + sought.length
    const value = text.slice(start, text.indexOf('\r\n', start)).trim()
    found = found === null ? value : `${found}, ${value}`
  }
  return found
}

/** @throws UpstreamFailure when the fields leave any doubt */
export function readFraming(head: Head & { readonly isOld: boolean }): Framing {
  if (head.status === 204 || head.status === 304) return 0
  const coding = head.get('transfer-encoding')
  const length = head.get('content-length')
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

/**
 * How long the connection may rest after this answer before it serves another, in milliseconds; 0 for not at all. A
 * provider that says when it will hang up is left a second before that.
 */
export function readRest(head: Head & { readonly isOld: boolean }): number {
  if (head.isOld || /(?:^|,)\s*close\s*(?:,|$)/i.test(head.get('connection') ?? '')) return 0
  const hint = /(?:^|[\s,])timeout=(\d{1,9})/i.exec(head.get('keep-alive') ?? '')
  if (hint === null) return LONGEST_REST_MS
  return Math.min(Math.max(0, (Number(hint[1]) - 1) * 1_000), LONGEST_REST_MS)
}
