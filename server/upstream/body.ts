/** Reads the body of an answer up to a bound, under the eyes of its watchdog. */
import { UpstreamFailure } from '#domain/upstream.ts'
import type { Answer } from './call.ts'

const MEBIBYTE = 1_048_576
/** Sixteen large pictures in base64, and far more text than any model writes. */
const WHOLE_BYTES = 64 * MEBIBYTE
const ERROR_BYTES = 65_536

/** An error is told by its status; its words are not worth a long wait. */
const ERROR_MS = 5_000

interface Gathered {
  readonly text: string
  /** False when there was more, and the rest was let go. */
  readonly whole: boolean
}

/**
 * The text of a whole answer, at most 64 MiB.
 * @throws UpstreamFailure when it breaks off, falls silent or is larger
 */
export async function readWhole(answer: Answer): Promise<string> {
  const { watchdog } = answer
  try {
    const { text, whole } = await gather(answer, WHOLE_BYTES)
    if (!whole) throw new UpstreamFailure('failed', 'its answer is larger than 64 MiB')
    return text
  } catch (thrown) {
    watchdog.cancel()
    throw watchdog.explain(thrown)
  } finally {
    watchdog.stop()
  }
}

/** The first 64 KiB of an error's body; nothing of it when it cannot be read, since the status has said the most. */
export async function readErrorText(answer: Answer): Promise<string> {
  const timer = setTimeout(() => answer.watchdog.cancel(), ERROR_MS)
  try {
    return (await gather(answer, ERROR_BYTES)).text
  } catch {
    return ''
  } finally {
    clearTimeout(timer)
    answer.watchdog.stop()
  }
}

async function gather({ reply, watchdog }: Answer, mostBytes: number): Promise<Gathered> {
  const gathering = startText()
  let bytes = 0
  for (;;) {
    watchdog.waits()
    const { done, value } = await reply.read()
    watchdog.heard()
    if (done) return { text: gathering.end(), whole: true }
    bytes += value.byteLength
    gathering.take(value)
    if (bytes > mostBytes) {
      watchdog.cancel()
      return { text: gathering.end(), whole: false }
    }
  }
}

const DECODER = new TextDecoder()
const STREAMING = { stream: true } as const
const MOST_PIECES = 1_024

/** Bytes become text at the end, all at once, since most answers come in one piece; a crowd of pieces sooner. */
function startText() {
  const pieces: Uint8Array[] = []
  let text = ''
  let decoder: TextDecoder | null = null
  const join = (): Uint8Array =>
    pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)

  return {
    take(piece: Uint8Array): void {
      if (pieces.push(piece) < MOST_PIECES) return
      decoder ??= new TextDecoder()
      text += decoder.decode(join(), STREAMING)
      pieces.length = 0
    },
    end: (): string => text + (decoder ?? DECODER).decode(join()),
  }
}
