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
  output.isStream = true
  output.stream().write(bytes.subarray(taken))
}

/** How many bytes went out; none when the descriptor would have to be waited for, or its reader has gone. */
function writeNow(fd: number, bytes: Uint8Array): number {
  try {
    return writeSync(fd, bytes)
  } catch {
    return 0
  }
}

export const writeOut = (text: string): void => write(OUT, text)
export const writeError = (text: string): void => write(ERR, text)

/** Whether a person is at the other end. Only a character device can be a terminal; asking further costs a millisecond. */
export function isTerminal(fd: 0 | 1): boolean {
  if (!isCharacterDevice(fd)) return false
  return (fd === 0 ? process.stdin : process.stdout).isTTY === true
}

/** A descriptor that was closed before we started is nobody's terminal. */
function isCharacterDevice(fd: number): boolean {
  try {
    return fstatSync(fd).isCharacterDevice()
  } catch {
    return false
  }
}
