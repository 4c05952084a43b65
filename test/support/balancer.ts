/** What is in front of several nodes: each request goes to the next of them, also on a connection that is kept. */
import { connect, createServer, type Socket } from 'node:net'

export interface Balancer {
  readonly url: string
  /** Where requests go from now on; null: to each in turn. */
  pin(nth: number | null): void
  close(): void
}

/** A client begins its next request when it has the whole answer to its last. */
const BEGINS = /^[A-Z]+ \S+ HTTP\/1\.1\r\n/

/** Over these ports of loopback; on a port of its own unless told. */
export async function startBalancer(ports: readonly number[], own = 0): Promise<Balancer> {
  const clients = new Set<Socket>()
  let nth = 0
  let pinned: number | null = null
  const server = createServer({ allowHalfOpen: true }, (client) => {
    clients.add(client)
    let node: Socket | null = null
    let isAnswered = true
    const dial = (): Socket => {
      const next = connect(ports[(pinned ?? nth++) % ports.length] ?? 0, '127.0.0.1')
      next.on('error', () => client.destroy())
      next.on('data', (bytes) => {
        isAnswered = true
        if (next !== node) return
        // Whoever reads slowly is waited for.
        if (!client.write(bytes)) {
          next.pause()
          client.once('drain', () => next.resume())
        }
      })
      next.on('close', () => next === node && client.destroySoon())
      return next
    }
    client.on('error', () => {})
    client.on('data', (bytes) => {
      const begins = isAnswered && BEGINS.test(bytes.toString('latin1', 0, 4_096))
      if (node === null || begins) {
        const last = node
        node = dial()
        isAnswered = false
        last?.destroy()
      }
      node.write(bytes)
    })
    client.on('end', () => node?.end())
    client.on('close', () => {
      clients.delete(client)
      node?.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(own, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    pin(to) {
      pinned = to
    },
    close() {
      server.close()
      for (const client of clients) client.destroy()
    },
  }
}
