/** A load generator on raw sockets: each connection sends its next request when the last answer has ended. */
import type { Socket } from 'bun'

export interface LoadTarget {
  readonly origin: string
  readonly path: string
  /** Asked with in turn. */
  readonly keys: readonly string[]
  readonly body: string
}

/** No request is sent after either; one that runs is awaited. */
export interface Until {
  readonly seconds?: number
  readonly answers?: number
}

export interface LoadResult {
  readonly requests: number
  /** Answers that were not 200. */
  readonly bad: number
  readonly seconds: number
  readonly p50Micros: number
  readonly p99Micros: number
  readonly longestMicros: number
}

interface Reading {
  startedAt: number
  head: string
  /** Of a body with a length, what is still to come; infinite for one in chunks, which has a last one. */
  leftBytes: number
  tail: string
}

/** Keeps `connections` busy. */
export async function load(
  target: LoadTarget,
  connections: number,
  { seconds = Number.POSITIVE_INFINITY, answers = Number.POSITIVE_INFINITY }: Until,
): Promise<LoadResult> {
  const { hostname, port } = new URL(target.origin)
  const requests = target.keys.map((key) => toRequest(target, key))
  const micros: number[] = []
  let sent = 0
  let bad = 0
  const begin = performance.now()
  const end = begin + seconds * 1000

  const connect = () =>
    new Promise<void>((resolve, reject) => {
      const send = (socket: Socket<Reading>) => {
        if (performance.now() >= end || sent >= answers) {
          socket.end()
          return
        }
        sent++
        socket.data = { startedAt: performance.now(), head: '', leftBytes: -1, tail: '' }
        socket.write(requests[sent % requests.length] ?? '')
      }
      Bun.connect<Reading>({
        hostname,
        port: Number(port),
        socket: {
          open: send,
          data(socket, bytes) {
            if (!takes(socket.data, bytes)) return
            if (!socket.data.head.startsWith('HTTP/1.1 200')) bad++
            micros.push((performance.now() - socket.data.startedAt) * 1000)
            send(socket)
          },
          close: () => resolve(),
          error: (_, error) => reject(error),
        },
      }).catch(reject)
    })

  await Promise.all(Array.from({ length: connections }, connect))
  micros.sort((a, b) => a - b)
  const at = (share: number): number => micros[Math.floor(micros.length * share)] ?? 0
  return {
    requests: micros.length,
    bad,
    seconds: (performance.now() - begin) / 1000,
    p50Micros: at(0.5),
    p99Micros: at(0.99),
    longestMicros: micros.at(-1) ?? 0,
  }
}

function toRequest({ origin, path, body }: LoadTarget, key: string): string {
  const { host } = new URL(origin)
  return (
    `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n` +
    `Authorization: Bearer ${key}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}

const LAST_CHUNK = '\r\n0\r\n\r\n'

/** Whether these bytes end the answer, by its length or its last chunk. Bodies are counted, not kept. */
function takes(reading: Reading, bytes: Buffer): boolean {
  let body = bytes
  if (reading.leftBytes < 0) {
    reading.head += bytes.toString('latin1')
    const headEnd = reading.head.indexOf('\r\n\r\n')
    if (headEnd < 0) return false
    body = Buffer.from(reading.head.slice(headEnd + 2), 'latin1')
    reading.head = reading.head.slice(0, headEnd + 2)
    const length = /\r\ncontent-length: (\d+)/i.exec(reading.head)?.[1]
    // The empty line is counted with the body: an empty one in chunks ends right behind it.
    reading.leftBytes = length === undefined ? Number.POSITIVE_INFINITY : Number(length) + 2
  }
  reading.leftBytes -= body.length
  if (reading.leftBytes !== Number.POSITIVE_INFINITY) return reading.leftBytes <= 0
  reading.tail = (reading.tail + body.toString('latin1', Math.max(0, body.length - 7))).slice(-7)
  return reading.tail === LAST_CHUNK
}
