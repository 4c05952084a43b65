/** An upstream that costs next to nothing: the same whole answer, or the same stream of chunks, to every request. */

const CHUNKS = 20

const usage = { prompt_tokens: 250, completion_tokens: 60, total_tokens: 310 }
const head = { id: 'chatcmpl-bench', created: 1_700_000_000, model: 'bench' }

const whole = JSON.stringify({
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'All work and no play. '.repeat(40) },
      finish_reason: 'stop',
    },
  ],
  usage,
})

const chunk = (rest: object): Uint8Array =>
  new TextEncoder().encode(
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...rest })}\n\n`,
  )

const delta = (content: object, finish: string | null = null): Uint8Array =>
  chunk({ choices: [{ index: 0, delta: content, finish_reason: finish }] })

const pieces = [
  delta({ role: 'assistant', content: '' }),
  ...Array.from({ length: CHUNKS }, (_, i) => delta({ content: `word ${i} ` })),
  delta({}, 'stop'),
  chunk({ choices: [], usage }),
  new TextEncoder().encode('data: [DONE]\n\n'),
]

async function* stream(): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    yield piece
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 120,
  development: false,
  async fetch(request) {
    await request.arrayBuffer()
    return request.url.includes('/stream/')
      ? new Response(stream(), { headers: { 'content-type': 'text/event-stream' } })
      : new Response(whole, { headers: { 'content-type': 'application/json' } })
  },
})

console.log(server.url.origin)
