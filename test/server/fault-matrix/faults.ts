/** A provider on raw sockets: the model's name selects how it fails; any other model answers well. */
import { createServer, type Socket } from 'node:net'

export const FAULTS = [
  'refused',
  'reset',
  '500',
  '503 + Retry-After',
  '529',
  '429 for good',
  'garbage',
  'empty',
  'stall before a byte',
  'stall in the middle',
  'reset in the middle',
  'error inside 200',
] as const

export type Fault = (typeof FAULTS)[number]

export type Kind = 'whole' | 'stream' | 'image'

const RETRY_AFTER_SECONDS = 7
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAA'
/** The usage of a good answer: 10 in, 4 out. */
const USAGE = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }
export const TEXT = 'one two three four'

export interface FaultyProvider {
  readonly url: string
  /** The number of requests for a model, by its upstream name. */
  readonly asked: ReadonlyMap<string, number>
  stop(): void
}

interface Asked {
  readonly model: string
  readonly stream: boolean
  readonly wantsImages: boolean
}

/** `faultOf` returns the fault of the model called `model`; undefined means a good answer. */
export async function startFaulty(
  faultOf: (model: string) => Fault | undefined,
): Promise<FaultyProvider> {
  const asked = new Map<string, number>()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    let text = ''
    socket.on('data', (bytes) => {
      text += bytes.toString()
      const body = cutBody(text)
      if (body === null) return
      text = ''
      const request = readAsked(body)
      asked.set(request.model, (asked.get(request.model) ?? 0) + 1)
      fail(socket, faultOf(request.model), request)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    stop() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function cutBody(text: string): string | null {
  const head = text.indexOf('\r\n\r\n') + 4
  const length = Number(/content-length: (\d+)/i.exec(text)?.[1])
  return head >= 4 && text.length >= head + length ? text.slice(head) : null
}

function readAsked(body: string): Asked {
  const { model, stream, modalities } = JSON.parse(body)
  return { model, stream: stream === true, wantsImages: modalities?.includes('image') === true }
}

function fail(socket: Socket, fault: Fault | undefined, asked: Asked): void {
  const good = goodAnswer(asked)
  const half = good.slice(0, good.indexOf('two'))
  switch (fault) {
    case undefined:
      socket.write(good)
      return
    case 'refused':
      throw new Error('nobody listens where a connection is refused')
    case 'reset':
      socket.resetAndDestroy()
      return
    case '500':
      socket.write(failure(500, { message: 'it broke' }))
      return
    case '503 + Retry-After':
      socket.write(failure(503, { message: 'busy' }, `retry-after: ${RETRY_AFTER_SECONDS}\r\n`))
      return
    case '529':
      socket.write(failure(529, { message: 'overloaded', type: 'overloaded_error' }))
      return
    case '429 for good':
      socket.write(failure(429, { message: 'no money left', code: 'insufficient_quota' }))
      return
    case 'garbage':
      socket.write(
        answer(200, typeFor(asked), asked.stream ? 'data: {"choi\n\n' : '{"choices": [{'),
      )
      return
    case 'empty':
      socket.write(answer(200, typeFor(asked), ''))
      return
    case 'stall before a byte':
      return
    case 'stall in the middle':
      socket.write(half)
      return
    case 'reset in the middle':
      // The reset follows only after the data before it has surely been read.
      socket.write(half, () => setTimeout(() => socket.resetAndDestroy(), 40))
      return
    case 'error inside 200': {
      const error = { error: { message: 'it broke inside', code: 502 } }
      socket.write(
        answer(
          200,
          typeFor(asked),
          asked.stream ? `data: ${JSON.stringify(error)}\n\n` : JSON.stringify(error),
        ),
      )
    }
  }
}

const typeFor = ({ stream }: Asked): string => (stream ? 'text/event-stream' : 'application/json')

const answer = (status: number, type: string, body: string, fields = ''): string =>
  `HTTP/1.1 ${status} x\r\ncontent-type: ${type}\r\n${fields}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

const failure = (status: number, error: object, fields = ''): string =>
  answer(status, 'application/json', JSON.stringify({ error }), fields)

function goodAnswer(asked: Asked): string {
  return answer(200, typeFor(asked), asked.stream ? goodStream() : JSON.stringify(goodBody(asked)))
}

const goodBody = ({ wantsImages }: Asked) => ({
  id: 'x',
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: wantsImages ? 'one two' : TEXT,
        ...(wantsImages && {
          images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }],
        }),
      },
      finish_reason: 'stop',
    },
  ],
  usage: USAGE,
})

function goodStream(): string {
  const chunks = [
    ...TEXT.split(/(?= )/).map((content) => ({ choices: [{ index: 0, delta: { content } }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage: USAGE },
  ]
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`
}
