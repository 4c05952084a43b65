// Listens, says where, and never takes a connection: it stops itself as a process.
import { writeSync } from 'node:fs'
import { createServer } from 'node:net'

const server = createServer()
server.listen({ host: '127.0.0.1', port: 0 }, () => {
  const address = server.address()
  writeSync(1, `${typeof address === 'object' ? address?.port : ''}\n`)
  process.kill(process.pid, 'SIGSTOP')
})
