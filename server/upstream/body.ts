/** Reads the body of an answer up to a bound, under the eyes of its watchdog. */
import { UpstreamFailure } from '#domain/upstream.ts'
import type { Answer } from './call.ts'

const MEBIBYTE = 1_048_576
/** Sixteen large pictures in base64, and far more text than any model writes. */
const WHOLE_BYTES = 64 * MEBIBYTE
const ERROR_BYTES = 65_536
/** A body this small that states its length is taken in one step, which costs half of reading it piece by piece. */
const ONE_STEP_BYTES = MEBIBYTE

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
  const { response, watchdog } = answer
  try {
    if (statesSmallLength(response)) return await response.text()
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

function statesSmallLength({ headers }: Response): boolean {
  const length = headers.get('content-length')
  return length !== null && Number(length) <= ONE_STEP_BYTES && !headers.has('content-encoding')
}

async function gather({ response, watchdog }: Answer, mostBytes: number): Promise<Gathered> {
  if (response.body === null) return { text: '', whole: true }
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let bytes = 0
  let text = ''
  for (;;) {
    watchdog.waits()
    const { done, value } = await reader.read()
    watchdog.heard()
    if (done) return { text: text + decoder.decode(), whole: true }
    bytes += value.byteLength
    text += decoder.decode(value, STREAMING)
    if (bytes > mostBytes) {
      watchdog.cancel()
      return { text, whole: false }
    }
  }
}

const STREAMING = { stream: true } as const
