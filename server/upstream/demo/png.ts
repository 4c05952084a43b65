/** Encodes a PNG with 8 bits of red, green and blue per pixel. */
import { crc32, deflateSync } from 'node:zlib'

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)
const BYTES_PER_PIXEL = 3
const BIT_DEPTH = 8
const TRUE_COLOUR = 2

/** The colours of a pixel, 0 to 255 each. */
export type Paint = (x: number, y: number) => readonly [red: number, green: number, blue: number]

export function encodePng(width: number, height: number, paint: Paint): Buffer {
  const rowBytes = 1 + width * BYTES_PER_PIXEL
  const pixels = new Uint8Array(rowBytes * height)
  for (let y = 0; y < height; y++) {
    // Each row begins with its filter type; 0 is none.
    let at = y * rowBytes + 1
    for (let x = 0; x < width; x++) {
      pixels.set(paint(x, y), at)
      at += BYTES_PER_PIXEL
    }
  }
  return Buffer.concat([
    SIGNATURE,
    toChunk('IHDR', toHeader(width, height)),
    toChunk('IDAT', deflateSync(pixels)),
    toChunk('IEND', new Uint8Array()),
  ])
}

function toHeader(width: number, height: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header[8] = BIT_DEPTH
  header[9] = TRUE_COLOUR
  return header
}

/** Length, name, data, and a checksum over the last two. */
function toChunk(name: string, data: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const chunk = Buffer.alloc(named.length + 8)
  chunk.writeUInt32BE(data.length, 0)
  named.copy(chunk, 4)
  chunk.writeUInt32BE(crc32(named), named.length + 4)
  return chunk
}
