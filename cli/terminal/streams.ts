/** Standard output and error, written to directly: the runtime's own streams cost a short command milliseconds to wake. */
import { fstatSync, writeSync } from 'node:fs'

interface Output {
  readonly fd: 1 | 2
  stream(): NodeJS.WriteStream
  /** Set once the stream has had to take over: what comes later must not overtake what it still holds. */
  isStream: boolean
}

const OUT: Output = { fd: 1, stream: () => process.stdout, isStream: false }
const ERR: Output = { fd: 2, stream: () => process.stderr, isStream: false }

/** Every byte arrives, however slow the reader: what the descriptor does not take at once, the stream waits to deliver. */
function write(output: Output, text: string): void {
  const bytes = Buffer.from(text)
  const taken = output.isStream ? 0 : writeNow(output.fd, bytes)
  if (taken === bytes.length) return
  if (!output.isStream) output.stream().on('error', (error) => forget(error, output.fd))
  output.isStream = true
  output.stream().write(bytes.subarray(taken))
}

/** How many bytes need no further care: all of them, unless the descriptor would have to be waited for. */
function writeNow(fd: number, bytes: Uint8Array): number {
  let taken = 0
  try {
    while (taken < bytes.length) taken += writeSync(fd, bytes, taken)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code === 'EAGAIN') return taken
    // Nobody could be told that standard error cannot be written.
    if (!GONE.has(code) && fd === OUT.fd) throw new UnwritableError('standard output', error)
    gone.add(fd)
    return bytes.length
  }
  return taken
}

/** What should have been printed or kept could not be: a disk is full, say. */
export class UnwritableError extends Error {
  constructor(place: string, cause: unknown) {
    super(`cannot write to ${place}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    })
    this.name = 'UnwritableError'
  }
}

/** A reader that has left, as `head` does, or never was, wants no more and no complaint. */
const GONE: ReadonlySet<unknown> = new Set(['EPIPE', 'EBADF'])

function forget(error: NodeJS.ErrnoException, fd: number): void {
  if (!GONE.has(error.code)) throw error
  gone.add(fd)
}

const gone = new Set<number>()

/** Whether nobody reads standard output any more: what never ends by itself ends then. */
export const isReaderGone = (): boolean => gone.has(OUT.fd)

export const writeOut = (text: string): void => write(OUT, text)
export const writeError = (text: string): void => write(ERR, text)

/** Whether a person is at the other end. Only a character device can be a terminal; asking further costs a millisecond. */
export function isTerminal(fd: 0 | 1 | 2): boolean {
  if (!isCharacterDevice(fd)) return false
  const { stdin, stdout, stderr } = process
  return (fd === 0 ? stdin : fd === 1 ? stdout : stderr).isTTY === true
}

/** A descriptor that was closed before we started is nobody's terminal. */
function isCharacterDevice(fd: number): boolean {
  try {
    return fstatSync(fd).isCharacterDevice()
  } catch {
    return false
  }
}
