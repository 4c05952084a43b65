/** A client that is only a socket: it can hang up, stop reading, and send what no library would. */
import { connect, type Socket } from 'node:net'

export interface RawClient {
  readonly socket: Socket
  /** Everything received so far. */
  readonly received: string
  readonly closed: boolean
  send(text: string): void
  hangUp(): void
}

export function dial(url: string): RawClient {
  const { hostname, port } = new URL(url)
  let received = ''
  let closed = false
  const socket = connect(Number(port), hostname)
  socket.on('data', (data) => {
    received += data.toString()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    closed = true
  })
  return {
    socket,
    get received() {
      return received
    },
    get closed() {
      return closed
    },
    send: (text) => void socket.write(text),
    hangUp: () => void socket.destroy(),
  }
}

/** The head of a request whose body has so many bytes, and follows or never does. */
export const head = (
  path: string,
  headers: Readonly<Record<string, string>>,
  bytes: number,
): string => post(path, { ...headers, 'Content-Length': String(bytes) }, '')

/** One HTTP/1.1 request as text. */
export function post(
  path: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): string {
  const json = typeof body === 'string' ? body : JSON.stringify(body)
  const fields = {
    Host: 'gateway.test',
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(json)),
    ...headers,
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${json}`
}
