/** A long list of vectors in OpenAI's shape, read without its numbers: each has one, or one character of base64, in their place. */
import { parseText } from '../read-json.ts'

/** Undefined where what is left is no JSON. `pieces` are those of one body, in order; none of them is copied. */
export function outlineVectors(pieces: readonly Uint8Array[]): unknown {
  const outline = new VectorOutline()
  for (const piece of pieces) outline.take(toBuffer(piece))
  return parseText(Buffer.from(outline.text, 'latin1').toString())
}

/** As nearly all write it; who writes it otherwise has all parsed. */
const NAME = '"embedding":'
/** A name before a vector whose beginning has come, maybe in two pieces. */
const OPENING = /"embedding":[ \n\r\t]*["[]/
/** So much of a piece may belong to a name that began in the one before. */
const SEAM_CHARS = 32

const QUOTE = 0x22
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

class VectorOutline {
  /** A character for each byte. */
  text = ''
  /** What ends the vector that is being skipped, or null outside of one. */
  private closing: number | null = null
  private hasSkipped = false

  take(piece: Buffer): void {
    let at = this.closing === null ? this.cross(piece) : 0
    while (at < piece.length)
      at = this.closing === null ? this.keep(piece, at) : this.skip(piece, at)
  }

  /** Looks for a vector that begins with the piece. Answers how much of it is taken. */
  private cross(piece: Buffer): number {
    const before = this.text.slice(-SEAM_CHARS)
    const seam = OPENING.exec(before + piece.toString('latin1', 0, SEAM_CHARS))
    const end = seam === null ? 0 : seam.index + seam[0].length - before.length
    if (end <= 0) return 0
    this.text += piece.toString('latin1', 0, end)
    this.open(piece[end - 1])
    return end
  }

  /** Keeps what stands before the next vector. */
  private keep(piece: Buffer, from: number): number {
    const name = piece.indexOf(NAME, from)
    const afterName = name < 0 ? piece.length : name + NAME.length
    const opening = findOpening(piece, afterName)
    const end = opening < 0 ? afterName : opening + 1
    this.text += piece.toString('latin1', from, end)
    if (opening >= 0) this.open(piece[opening])
    return end
  }

  private open(opening: number | undefined): void {
    this.closing = opening === QUOTE ? QUOTE : CLOSE_BRACKET
    this.hasSkipped = false
  }

  private skip(piece: Buffer, from: number): number {
    const { closing } = this
    const end = piece.indexOf(closing as number, from)
    this.hasSkipped ||= end !== from
    if (end < 0) return piece.length
    if (this.hasSkipped) this.text += closing === QUOTE ? '.' : '0'
    this.closing = null
    this.text += closing === QUOTE ? '"' : ']'
    return end + 1
  }
}

/** The bracket or quote that begins a member's value; -1 where none has come, or another value does. */
function findOpening(piece: Buffer, afterName: number): number {
  const value = skipSpace(piece, afterName)
  return piece[value] === QUOTE || piece[value] === OPEN_BRACKET ? value : -1
}

function skipSpace(piece: Buffer, from: number): number {
  let at = from
  while ((piece[at] ?? QUOTE) <= 0x20) at++
  return at
}

const toBuffer = ({ buffer, byteOffset, length }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, length)
