/** Reads a file, or standard input, up to a size: an endless one must not fill the memory. */
import { createReadStream } from 'node:fs'
import { usageError } from '../exit.ts'

/** `path` is `-` for standard input; a byte order mark is none of the text. @throws CommandError 2 beyond `mostBytes`; what reading throws */
export async function readInput(path: string, mostBytes: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of path === '-' ? Bun.stdin.stream() : createReadStream(path)) {
    bytes += piece.byteLength
    if (bytes > mostBytes) {
      const name = path === '-' ? 'standard input' : path
      throw usageError(`${name} is longer than ${mostBytes} bytes, the most that is read here`)
    }
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
    .toString()
    .replace(/^\uFEFF/, '')
}
