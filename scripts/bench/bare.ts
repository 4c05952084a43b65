/** The ceiling: a proxy of Bun.serve and fetch and nothing else. It passes the body on and hands the answer back. */

const upstream = process.argv[2]
if (!upstream) throw new Error('usage: bare.ts UPSTREAM_ORIGIN')

const headers = { 'content-type': 'application/json', authorization: 'Bearer bench' }

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 120,
  development: false,
  async fetch(request) {
    const { pathname } = new URL(request.url)
    const body = await request.arrayBuffer()
    const answer = await fetch(upstream + pathname, { method: 'POST', headers, body })
    if (pathname.startsWith('/stream/')) return answer
    return new Response(await answer.arrayBuffer(), {
      status: answer.status,
      headers: { 'content-type': 'application/json' },
    })
  },
})

console.log(server.url.origin)
