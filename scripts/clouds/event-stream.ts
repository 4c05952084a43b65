/** Writes messages of AWS's event stream, by its description and not by the code that reads them. */
import { crc32 } from 'node:zlib'

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value >>> 0)
  return bytes
}

const TEXT = 7

/** One message: its headers are texts. */
export function toMessage(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(Buffer.byteLength(value))
      const start = Buffer.from([Buffer.byteLength(name)])
      return Buffer.concat([
        ...[start, Buffer.from(name), Buffer.from([TEXT])],
        ...[length, Buffer.from(value)],
      ])
    }),
  )
  const body = Buffer.from(payload)
  const lengths = Buffer.concat([u32(16 + head.length + body.length), u32(head.length)])
  const message = Buffer.concat([lengths, u32(crc32(lengths)), head, body])
  return Buffer.concat([message, u32(crc32(message))])
}
