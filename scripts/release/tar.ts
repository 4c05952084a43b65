// Tar archives whose bytes depend on what is put in and on nothing of this machine: no owner, no order, no time but the one that is given.
import { gzipSync } from 'node:zlib'

/** A file unless it has a `link`; a directory where the path ends with a slash. */
export interface TarEntry {
  readonly path: string
  readonly mode: number
  readonly bytes?: Uint8Array
  /** What a symbolic link names. */
  readonly link?: string
  /** User and group. */
  readonly owner?: number
}

const BLOCK = 512
const MAX_PATH_BYTES = 100

/** POSIX ustar, in the order of the entries; directories are not made up. */
export function tar(entries: readonly TarEntry[], modifiedSeconds: number): Uint8Array {
  const parts = entries.flatMap((entry) => {
    const bytes = entry.bytes ?? new Uint8Array()
    const filler = new Uint8Array((BLOCK - (bytes.length % BLOCK)) % BLOCK)
    return [headerOf(entry, bytes.length, modifiedSeconds), bytes, filler]
  })
  return Buffer.concat([...parts, new Uint8Array(2 * BLOCK)])
}

export const tarGz = (entries: readonly TarEntry[], modifiedSeconds: number): Uint8Array =>
  gzipSync(tar(entries, modifiedSeconds))

function headerOf({ path, mode, link, owner = 0 }: TarEntry, size: number, seconds: number) {
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, width: number) =>
    header.write(value.toString(8).padStart(width - 1, '0'), at)
  for (const name of [path, link ?? '']) {
    if (Buffer.byteLength(name) > MAX_PATH_BYTES) throw new Error(`${name} is too long for a tar`)
  }
  header.write(path, 0)
  octal(mode, 100, 8)
  octal(owner, 108, 8)
  octal(owner, 116, 8)
  octal(size, 124, 12)
  octal(seconds, 136, 12)
  header.write(typeOf(path, link), 156)
  header.write(link ?? '', 157)
  header.write('ustar\0', 257)
  header.write('00', 263)
  // The sum is taken with spaces in its own place.
  header.fill(' ', 148, 156)
  octal(
    header.reduce((sum, byte) => sum + byte),
    148,
    7,
  )
  header[154] = 0
  return header
}

function typeOf(path: string, link: string | undefined): string {
  if (link !== undefined) return '2'
  return path.endsWith('/') ? '5' : '0'
}
