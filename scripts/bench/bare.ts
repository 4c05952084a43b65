/**
 * The baseline: a proxy of only Bun.serve and fetch. It streams the answer; the request it reads
 * whole first (`buffered`, which is cheaper) or streams too (`streaming`). Several may share a port.
 */

const [upstream, mode = 'buffered', port = '0'] = process.argv.slice(2)
if (!upstream) throw new Error('usage: bare.ts UPSTREAM_ORIGIN [buffered|streaming] [PORT]')

const headers = { 'content-type': 'application/json', authorization: 'Bearer bench' }

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: Number(port),
  reusePort: port !== '0',
  idleTimeout: 120,
  development: false,
  async fetch(request) {
    const path = request.url.slice(request.url.indexOf('/', 'http://'.length))
    const body = mode === 'streaming' ? request.body : await request.arrayBuffer()
    return fetch(upstream + path, { method: 'POST', headers, body })
  },
})

console.log(server.url.origin)
