/** A load generator on raw sockets: each connection sends its next request when the last answer has ended. */
import type { Socket } from 'bun'

export interface LoadTarget {
  readonly origin: string
  readonly path: string
  readonly key: string
  readonly body: string
}

export interface LoadResult {
  readonly requests: number
  /** Answers that were not 200. */
  readonly bad: number
  readonly seconds: number
  readonly p50Micros: number
  readonly p99Micros: number
}

interface Connection {
  startedAt: number
  text: string
}

/** Keeps `connections` busy for `seconds`. */
export async function load(
  target: LoadTarget,
  connections: number,
  seconds: number,
): Promise<LoadResult> {
  const { hostname, port } = new URL(target.origin)
  const request =
    `POST ${target.path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\n` +
    `Authorization: Bearer ${target.key}\r\nContent-Length: ${Buffer.byteLength(target.body)}\r\n\r\n${target.body}`
  const micros: number[] = []
  let bad = 0
  const begin = performance.now()
  const end = begin + seconds * 1000

  const connect = () =>
    new Promise<void>((resolve, reject) => {
      const send = (socket: Socket<Connection>) => {
        socket.data.startedAt = performance.now()
        socket.data.text = ''
        socket.write(request)
      }
      Bun.connect<Connection>({
        hostname,
        port: Number(port),
        data: { startedAt: 0, text: '' },
        socket: {
          open: send,
          data(socket, bytes) {
            socket.data.text += bytes.toString('latin1')
            if (!isWhole(socket.data.text)) return
            if (!socket.data.text.startsWith('HTTP/1.1 200')) bad++
            const now = performance.now()
            micros.push((now - socket.data.startedAt) * 1000)
            if (now < end) send(socket)
            else socket.end()
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
  }
}

/** Whether `text` holds one whole HTTP answer, by its length or its last chunk. */
function isWhole(text: string): boolean {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, headEnd))
  if (length) return text.length >= headEnd + 4 + Number(length[1])
  return text.endsWith('\r\n0\r\n\r\n')
}
