/** HTTP framing of the mock's answers, built once. */

/** Pieces of bytes, in the order in which they leave. */
export interface Answer {
  readonly pieces: readonly Buffer[]
  /** Between two pieces; 0 is one turn of the event loop. */
  readonly gapMs: number
  /** They leave back to back, each in a write of its own. */
  readonly atOnce?: boolean
  /** What stands in a piece where the moment of its sending is to be written; of that length. */
  readonly stamp?: string
}

/** The events of one stream, as they stand on their wire. */
export interface Events {
  readonly first: string
  /** One for each chunk. */
  readonly chunks: readonly string[]
  readonly last: string
}

/** One body with its length. */
export function whole(body: object): Answer {
  const text = JSON.stringify(body)
  const head =
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n' +
    `content-length: ${Buffer.byteLength(text)}\r\n\r\n`
  return { pieces: [Buffer.from(head + text)], gapMs: 0 }
}

/** A stream that leaves so many events at a time. */
export function streamed(
  { first, chunks, last }: Events,
  { perPiece, ...pace }: { readonly perPiece: number } & Pick<Answer, 'gapMs' | 'atOnce'>,
): Answer {
  const head =
    'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
  const pieces = [head + encode(first)]
  for (let at = 0; at < chunks.length; at += perPiece) {
    pieces.push(
      chunks
        .slice(at, at + perPiece)
        .map(encode)
        .join(''),
    )
  }
  pieces.push(`${encode(last)}0\r\n\r\n`)
  return { pieces: pieces.map((piece) => Buffer.from(piece)), ...pace }
}

/** One chunk of the transfer coding. */
const encode = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
