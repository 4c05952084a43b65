/** Providers whose HTTP is odd but lawful, or broken: the stock client gets every character, or a real error. */
import { createServer, type Server, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { APIError } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Appliance,
  furnishCli,
  openHolds,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

const TEXT = 'Ünïcödé — 漢字かな交じり文, 🦊🏔️ и кириллица.'
const cli = openCli()
let gateway: Appliance
let key = ''
const servers: Server[] = []

interface Answer {
  /** What is written for one request, piece by piece; a pause of a turn lies between the pieces. */
  readonly pieces: readonly (string | Buffer)[]
  /** Whether the connection is closed after it, and how. */
  readonly close?: 'end' | 'destroy'
}

/** A provider made of bytes: it reads one request at a time and writes what it is told to. */
async function provide(name: string, answer: () => Answer): Promise<void> {
  const server = createServer((socket) => {
    socket.setNoDelay(true)
    socket.on('error', () => {})
    let got = Buffer.alloc(0)
    socket.on('data', (bytes: Buffer) => {
      got = Buffer.concat([got, bytes])
      const head = got.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(got.toString('latin1', 0, head))?.[1])
      if (head < 0 || got.length < head + 4 + length) return
      got = got.subarray(head + 4 + length)
      void play(socket, answer())
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await gateway.verb('providers.add', {
    name,
    type: 'openai-compatible',
    base_url: `http://127.0.0.1:${port}`,
    credential: null,
  })
  await gateway.verb('models.add', { model: `${name}/m`, in_usd: '1', out_usd: '2' })
}

async function play(socket: Socket, { pieces, close }: Answer): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return
    socket.write(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (close === 'end') socket.end()
  if (close === 'destroy') socket.destroy()
}

const chunk = (more: object): string =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', ...more })}\n\n`
const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
const SSE = [
  ...TEXT.split(/(?<= )/).map((content) => chunk({ choices: [{ index: 0, delta: { content } }] })),
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  chunk({ choices: [], usage: USAGE }),
  'data: [DONE]\n\n',
].join('')
const BODY = JSON.stringify({
  id: 'x',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
  usage: USAGE,
})

const bytes = (text: string): number => Buffer.byteLength(text)
const each = (data: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(data.length / size) }, (_, place) =>
    data.subarray(place * size, (place + 1) * size),
  )
/** Chunked transfer, in chunks of `size` bytes that know nothing of characters. */
const chunked = (text: string, size: number, extension = '', trailer = ''): Buffer =>
  Buffer.concat([
    ...each(Buffer.from(text), size).flatMap((part) => [
      Buffer.from(`${part.length.toString(16)}${extension}\r\n`),
      part,
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`0\r\n${trailer}\r\n`),
  ])

const OK = 'HTTP/1.1 200 OK\r\n'
const EVENTS = 'Content-Type: text/event-stream\r\n'
const JSON_TYPE = 'Content-Type: application/json\r\n'
const CHUNKED = 'Transfer-Encoding: chunked\r\n'
const sized = (text: string): string => `Content-Length: ${bytes(text)}\r\n`

/** By name: whether a stream is asked, and what is answered. */
const LAWFUL: Readonly<Record<string, readonly [stream: boolean, Answer]>> = {
  'chunks-of-3-by-the-byte': [
    true,
    {
      pieces: each(
        Buffer.concat([Buffer.from(`${OK}${EVENTS}${CHUNKED}\r\n`), chunked(SSE, 3)]),
        1,
      ),
    },
  ],
  'chunks-of-7-at-once': [true, { pieces: [`${OK}${EVENTS}${CHUNKED}\r\n`, chunked(SSE, 7)] }],
  'whole-chunks-by-the-byte': [
    false,
    {
      pieces: each(
        Buffer.concat([Buffer.from(`${OK}${JSON_TYPE}${CHUNKED}\r\n`), chunked(BODY, 5)]),
        1,
      ),
    },
  ],
  'whole-sized-by-the-byte': [
    false,
    { pieces: each(Buffer.from(`${OK}${JSON_TYPE}${sized(BODY)}\r\n${BODY}`), 1) },
  ],
  'all-in-one-piece': [false, { pieces: [`${OK}${JSON_TYPE}${sized(BODY)}\r\n${BODY}`] }],
  'until-the-end-of-the-connection': [
    true,
    {
      pieces: [`${OK}${EVENTS}Connection: close\r\n\r\n`, ...each(Buffer.from(SSE), 5)],
      close: 'end',
    },
  ],
  'http-1.0': [
    false,
    {
      pieces: [`HTTP/1.0 200 OK\r\n${JSON_TYPE}\r\n`, ...each(Buffer.from(BODY), 9)],
      close: 'end',
    },
  ],
  'extensions-and-trailers': [
    true,
    {
      pieces: [
        `${OK}${EVENTS}${CHUNKED}Trailer: X-Sum\r\n\r\n`,
        chunked(SSE, 40, ';a=b', 'X-Sum: 1\r\n'),
      ],
    },
  ],
  'odd-header-dress': [
    false,
    {
      pieces: [
        `${OK}CONTENT-TYPE:application/json\r\ncontent-length:   ${bytes(BODY)}  \r\nX-Empty:\r\n\r\n${BODY}`,
      ],
    },
  ],
  'continue-and-hints-first': [
    false,
    {
      pieces: [
        'HTTP/1.1 100 Continue\r\n\r\n',
        'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n',
        `${OK}${JSON_TYPE}${sized(BODY)}\r\n${BODY}`,
      ],
    },
  ],
  'no-reason-phrase': [
    false,
    { pieces: [`HTTP/1.1 200\r\n${JSON_TYPE}${sized(BODY)}\r\n${BODY}`] },
  ],
  'closes-after-each': [
    false,
    { pieces: [`${OK}${JSON_TYPE}${sized(BODY)}\r\n${BODY}`], close: 'end' },
  ],
  'cut-after-done': [
    true,
    {
      pieces: [`${OK}${EVENTS}${CHUNKED}\r\n`, chunked(SSE, 50).subarray(0, -5)],
      close: 'destroy',
    },
  ],
  'a-stream-of-one-json': [true, { pieces: [`${OK}${JSON_TYPE}${sized(BODY)}\r\n${BODY}`] }],
  'a-body-of-events': [false, { pieces: [`${OK}${EVENTS}${CHUNKED}\r\n`, chunked(SSE, 64)] }],
}

const half = (text: string): Buffer => Buffer.from(text).subarray(0, bytes(text) >> 1)
const BROKEN: Readonly<Record<string, readonly [stream: boolean, Answer]>> = {
  'whole-cut-short': [
    false,
    { pieces: [`${OK}${JSON_TYPE}${sized(BODY)}\r\n`, half(BODY)], close: 'destroy' },
  ],
  'whole-ends-early': [
    false,
    { pieces: [`${OK}${JSON_TYPE}${sized(BODY)}\r\n`, half(BODY)], close: 'end' },
  ],
  'chunks-cut-short': [
    false,
    { pieces: [`${OK}${JSON_TYPE}${CHUNKED}\r\n`, chunked(BODY, 9).subarray(0, 60)], close: 'end' },
  ],
  'no-http-at-all': [false, { pieces: ['SSH-2.0-OpenSSH_9.9\r\n'], close: 'end' }],
  'closed-without-a-word': [true, { pieces: [], close: 'end' }],
  'a-bad-chunk-size': [
    false,
    { pieces: [`${OK}${JSON_TYPE}${CHUNKED}\r\n`, 'zz\r\nnonsense\r\n0\r\n\r\n'], close: 'end' },
  ],
  'an-endless-header': [
    false,
    {
      pieces: [`${OK}X-Long: `, ...Array.from({ length: 64 }, () => 'x'.repeat(65_536))],
      close: 'end',
    },
  ],
  'compressed-unasked': [
    false,
    {
      pieces: [
        `${OK}${JSON_TYPE}Content-Encoding: br\r\nContent-Length: 20\r\n\r\n`,
        gzipSync(BODY).subarray(0, 20),
      ],
    },
  ],
}

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli)
  key = (await gateway.verb('keys.create', { name: 'k' })).key
  for (const [name, [, answer]] of Object.entries({ ...LAWFUL, ...BROKEN })) {
    await provide(name, () => answer)
  }
})

afterAll(async () => {
  await gateway?.kill()
  for (const server of servers) server.close()
  cli.close()
})

/** Text and tokens as the stock client reads them. */
async function read(model: string, stream: boolean): Promise<{ text: string; total: unknown }> {
  const client = gateway.client(key)
  const messages = [{ role: 'user' as const, content: 'hi' }]
  if (!stream) {
    const { choices, usage } = await client.chat.completions.create({ model, messages })
    return { text: choices[0]?.message.content ?? '', total: usage?.total_tokens }
  }
  let text = ''
  let total: unknown
  for await (const part of await client.chat.completions.create({ model, messages, stream })) {
    text += part.choices[0]?.delta.content ?? ''
    total = part.usage?.total_tokens ?? total
  }
  return { text, total }
}

describe('odd but lawful', () => {
  test.each(Object.entries(LAWFUL))(
    '%s: every character arrives, three times over',
    async (name, [stream]) => {
      // The second and third may meet the connection of the first.
      for (let i = 0; i < 3; i++) {
        expect(await read(`${name}/m`, stream)).toEqual({ text: TEXT, total: 18 })
      }
    },
  )
})

describe('broken', () => {
  test.each(Object.entries(BROKEN))(
    '%s: a real error, in time, for nothing',
    async (name, [stream]) => {
      for (let i = 0; i < 2; i++) {
        const error = await read(`${name}/m`, stream).catch((thrown: unknown) => thrown)
        expect(error).toBeInstanceOf(APIError)
        expect(error).toMatchObject({ status: 502, code: 'upstream_error' })
        expect(String((error as Error).message)).not.toMatch(/127\.0\.0\.1|SSH|nonsense/)
      }
    },
  )

  test('and nothing is left: no hold, no charge but for the answers', async () => {
    await until(() => openHolds(cli) === 0, 'no hold is left')
    const charges = await gateway.verb('ledger.list', { kind: 'charge', limit: 1_000 })
    expect(charges).toHaveLength(3 * Object.keys(LAWFUL).length)
    // 11 at a dollar and 7 at two dollars a million.
    expect(new Set(charges.map(({ amount_usd: amount }) => amount))).toEqual(new Set(['-0.000025']))
    expect(await gateway.verb('doctor', {})).toMatchObject({ problems: 0 })
  })
})
