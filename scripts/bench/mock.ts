/** An upstream that costs next to nothing: answers made in advance, written to raw sockets. */
import type { Socket } from 'bun'

const CHUNKS = 20
/** A stream leaves in this many writes, a turn of the event loop apart, as a model's words do. */
const BURSTS = 5

const usage = { prompt_tokens: 250, completion_tokens: 60, total_tokens: 310 }
const head = { id: 'chatcmpl-bench', created: 1_700_000_000, model: 'bench' }

const body = JSON.stringify({
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
const whole = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`

const chunked = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`

const event = (rest: object): string =>
  chunked(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...rest })}\n\n`)

const delta = (content: object, finish: string | null = null): string =>
  event({ choices: [{ index: 0, delta: content, finish_reason: finish }] })

const words = Array.from({ length: CHUNKS }, (_, i) => delta({ content: `word ${i} ` }))

/** The pieces of a stream in the order they leave. */
const bursts = [
  `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${delta({ role: 'assistant', content: '' })}`,
  ...Array.from({ length: BURSTS }, (_, i) =>
    words.slice((i * CHUNKS) / BURSTS, ((i + 1) * CHUNKS) / BURSTS).join(''),
  ),
  `${delta({}, 'stop')}${event({ choices: [], usage })}${chunked('data: [DONE]\n\n')}0\r\n\r\n`,
]

interface Incoming {
  text: string
}

function answer(socket: Socket<Incoming>, path: string): void {
  if (!path.includes('/stream/')) {
    socket.write(whole)
    return
  }
  const write = (burst: number): void => {
    socket.write(bursts[burst] ?? '')
    if (burst + 1 < bursts.length) setImmediate(write, burst + 1)
  }
  write(0)
}

const server = Bun.listen<Incoming>({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    open(socket) {
      socket.data = { text: '' }
    },
    data(socket, bytes) {
      socket.data.text += bytes.toString('latin1')
      const { text } = socket.data
      const headEnd = text.indexOf('\r\n\r\n')
      const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1]
      if (headEnd < 0 || text.length < headEnd + 4 + Number(length ?? 0)) return
      socket.data.text = ''
      answer(socket, text.slice(0, text.indexOf('\r\n')))
    },
  },
})

console.log(`http://127.0.0.1:${server.port}`)
