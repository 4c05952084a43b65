/** Whether the write-ahead log has every commit that its index knows of: SQLite takes a damaged log for a shorter one. */
import { closeSync, fstatSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs'
import { unavailable } from '../engine/disk.ts'

/**
 * Call it before the first connection of this process opens the database: closing a file that SQLite has open drops its locks.
 * A killed process leaves log and index as they were; a power cut leaves of each what the disk has, so that after another boot
 * nothing is compared. @throws store_unavailable
 */
export function requireWholeLog(path: string): void {
  const boot = readBoot()
  if (boot === null || readTextIfThere(bootFileOf(path)) !== boot) return
  let end = readEnd(`${path}-shm`)
  while (end !== null && !hasFrames(`${path}-wal`, end)) {
    const now = readEnd(`${path}-shm`)
    // A server that began the log anew meanwhile has changed the index first.
    if (now?.salts.equals(end.salts)) {
      const lacking = new Error(`the write-ahead log lacks some of its ${end.frames} pages`)
      throw unavailable('damaged', lacking)
    }
    end = now
  }
}

/** From now on, log and index are of this boot: for whoever has just opened the database, and so made the index anew. */
export function noteBoot(path: string): void {
  const boot = readBoot()
  const file = bootFileOf(path)
  if (boot === null || readTextIfThere(file) === boot) return
  try {
    writeFileSync(file, boot, { mode: 0o600 })
  } catch {
    // A disk that takes no writes: the next start compares nothing.
  }
}

const bootFileOf = (path: string): string => `${path}-boot`

/** The index is in the machine's byte order; without `node:os`, which a short command need not load. */
const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

/** Null where the kernel does not tell: then nothing is compared. */
const readBoot = (): string | null =>
  isLittleEndian ? (readTextIfThere('/proc/sys/kernel/random/boot_id')?.trim() ?? null) : null

/** As text, without the first use of a buffer, which costs a short command an eighth of a millisecond. */
const readTextIfThere = (file: string): string | null => ifThere(() => readFileSync(file, 'utf8'))

function ifThere<Content>(read: () => Content): Content | null {
  try {
    return read()
  } catch {
    return null
  }
}

/** What the index says of the last commit. */
interface LogEnd {
  readonly frames: number
  readonly pageBytes: number
  readonly checksum: Checksum
  readonly salts: Buffer
}

type Checksum = readonly [number, number]

// The format of both files: https://www.sqlite.org/walformat.html and fileformat2.html#walformat
const INDEX_HEADER_BYTES = 48
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const LITTLE_ENDIAN_LOG = 0x377f0682

/** Null where there is no sound index, or it begins anew. The second of the two copies is written first. */
function readEnd(file: string): LogEnd | null {
  const index = ifThere(() => readFileSync(file))
  if (index === null || index.length < 2 * INDEX_HEADER_BYTES) return null
  for (const from of [INDEX_HEADER_BYTES, 0]) {
    const header = index.subarray(from, from + INDEX_HEADER_BYTES)
    const isSound = isSame(
      sum([0, 0], header, 0, 40),
      header.readUInt32LE(40),
      header.readUInt32LE(44),
    )
    if (!isSound || header[12] !== 1) continue
    const frames = header.readUInt32LE(16)
    if (frames === 0) return null
    return {
      frames,
      pageBytes: header.readUInt16LE(14),
      checksum: [header.readUInt32LE(24), header.readUInt32LE(28)],
      salts: header.subarray(32, 40),
    }
  }
  return null
}

/** Follows the chain of checksums, as the engine does, to the frame of the last commit. */
function hasFrames(file: string, { frames, pageBytes, checksum, salts }: LogEnd): boolean {
  const frameBytes = FRAME_HEADER_BYTES + pageBytes
  let log: number
  try {
    log = openSync(file, 'r')
  } catch {
    return false
  }
  try {
    if (fstatSync(log).size < LOG_HEADER_BYTES + frames * frameBytes) return false
    const header = Buffer.alloc(LOG_HEADER_BYTES)
    readSync(log, header, 0, LOG_HEADER_BYTES, 0)
    let sums = sum([0, 0], header, 0, 24)
    const isOfIndex =
      header.readUInt32BE(0) === LITTLE_ENDIAN_LOG &&
      isSame(sums, header.readUInt32BE(24), header.readUInt32BE(28)) &&
      header.subarray(16, 24).equals(salts)
    if (!isOfIndex) return false
    const frame = Buffer.alloc(frameBytes)
    for (let at = 0; at < frames; at++) {
      readSync(log, frame, 0, frameBytes, LOG_HEADER_BYTES + at * frameBytes)
      sums = sum(sum(sums, frame, 0, 8), frame, FRAME_HEADER_BYTES, frameBytes)
      const isNext =
        frame.subarray(8, 16).equals(salts) &&
        isSame(sums, frame.readUInt32BE(16), frame.readUInt32BE(20))
      if (!isNext) return false
    }
    return isSame(sums, ...checksum)
  } finally {
    closeSync(log)
  }
}

const isSame = ([a, b]: Checksum, first: number, second: number): boolean =>
  a === first && b === second

/** SQLite's checksum of a log, continued over bytes that are a multiple of eight. */
function sum([first, second]: Checksum, bytes: Buffer, from: number, to: number): Checksum {
  let a = first
  let b = second
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  for (let at = from; at < to; at += 8) {
    a = (a + view.getUint32(at, true) + b) >>> 0
    b = (b + view.getUint32(at + 4, true) + a) >>> 0
  }
  return [a, b]
}
