/** What is between a node and its database: it passes all on, until it goes silent, resets, or is late in one direction. */
import { connect, createServer, type Socket } from 'node:net'

export type Trouble =
  | 'none'
  | 'silence'
  | 'reset'
  | 'late requests'
  | 'late answers'
  | 'slow requests'

export interface Relay {
  readonly port: number
  set(trouble: Trouble): void
  close(): void
}

type Lateness = Partial<Record<Trouble, number>>

/** Late is longer than a node waits for a call, slow is not. */
const REQUEST_MS: Lateness = { 'late requests': 4_000, 'slow requests': 1_200 }
const ANSWER_MS: Lateness = { 'late answers': 4_000 }

/** From a free port of loopback to a Unix socket. */
export async function startRelay(path: string): Promise<Relay> {
  let trouble: Trouble = 'none'
  let healed = Promise.withResolvers<void>()
  healed.resolve()
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    return socket
  }
  /** In their order; what is on its way in a silence arrives after it, as a network sends it again. */
  const pass = (from: Socket, to: Socket, lateness: Lateness): void => {
    let last: Promise<unknown> = Promise.resolve()
    const then = (act: () => void): void => {
      const lateMs = lateness[trouble]
      const ready = Promise.all([healed.promise, lateMs === undefined ? null : Bun.sleep(lateMs)])
      last = last.then(() => ready).then(act)
    }
    from.on('data', (bytes) => then(() => void to.write(bytes)))
    from.on('close', () => then(() => void to.destroy()))
  }
  const server = createServer((client) => {
    keep(client)
    if (trouble === 'reset') {
      client.resetAndDestroy()
      return
    }
    const far = keep(connect(path))
    pass(client, far, REQUEST_MS)
    pass(far, client, ANSWER_MS)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  return {
    port: (server.address() as { readonly port: number }).port,
    set(next) {
      if (trouble === 'silence') healed.resolve()
      trouble = next
      if (next === 'silence') healed = Promise.withResolvers()
      if (next === 'reset') cut()
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
