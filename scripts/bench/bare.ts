/**
 * The baseline: a proxy of only Bun.serve and fetch. It streams the answer; the request it reads
 * whole first (`buffered`, which is cheaper) or streams too (`streaming`). `parsing` parses the request and an answer that is no
 * stream, and does nothing with them: less than that no program can do that has to know what both say. Several may share a port.
 */

const [upstream, mode = 'buffered', port = '0'] = process.argv.slice(2)
if (!upstream) throw new Error('usage: bare.ts UPSTREAM_ORIGIN [buffered|streaming|parsing] [PORT]')

const headers = { 'content-type': 'application/json', authorization: 'Bearer bench' }

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: Number(port),
  reusePort: port !== '0',
  idleTimeout: 120,
  development: false,
  async fetch(request) {
    const path = request.url.slice(request.url.indexOf('/', 'http://'.length))
    if (mode === 'parsing') return passParsed(upstream + path, await request.text())
    const body = mode === 'streaming' ? request.body : await request.arrayBuffer()
    return fetch(upstream + path, { method: 'POST', headers, body })
  },
})

async function passParsed(url: string, body: string): Promise<Response> {
  JSON.parse(body)
  const answer = await fetch(url, { method: 'POST', headers, body })
  if (!answer.headers.get('content-type')?.includes('json')) return answer
  const text = await answer.text()
  JSON.parse(text)
  return new Response(text, { headers: { 'content-type': 'application/json' } })
}

console.log(server.url.origin)
