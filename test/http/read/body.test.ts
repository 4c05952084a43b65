// Reading a request body: its content type, size, nesting depth and deadline.
import { afterAll, describe, expect, test, vi } from 'vitest'
import { readBody } from '#http/read/body.ts'
import type { RequestContext } from '#http/request-context.ts'
import { furnish, hello, openApi } from '#test/support/furnish.ts'

const deps = await furnish()
const { bearer } = await deps.issue()
const api = openApi(deps)

const codeOf = async (response: Response): Promise<string> =>
  response.status === 200
    ? 'ok'
    : `${response.status} ${((await response.json()) as { error: { code: string } }).error.code}`

const send = async (
  body: string | ReadableStream,
  headers: Readonly<Record<string, string>> = {},
) =>
  codeOf(
    await api.app.request('http://gateway.test/v1/chat/completions', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...bearer, ...headers },
      body,
    }),
  )

const good = JSON.stringify(hello())

describe('the content type', () => {
  test.each([
    ['application/json', 'ok'],
    ['Application/JSON; charset=UTF-8', 'ok'],
    ['application/json;charset="utf-8"', 'ok'],
    ['application/json ; version=1 ; charset=utf-8', 'ok'],
    ['application/json; profile="a b"', 'ok'],
    ['application/json; charset=utf-16', '415 unsupported_media_type'],
    ['application/json; charset="utf-8', '415 unsupported_media_type'],
    ['application/json; version', '415 unsupported_media_type'],
    ['application/json; =1', '415 unsupported_media_type'],
    ['application/json;', '415 unsupported_media_type'],
    [`application/json; a=${'1'.repeat(300)}`, '415 unsupported_media_type'],
    ['text/plain', '415 unsupported_media_type'],
    ['application/x-www-form-urlencoded', '415 unsupported_media_type'],
    ['application/jsonp', '415 unsupported_media_type'],
    ['', '415 unsupported_media_type'],
  ])('%s', async (type, expected) => {
    expect(await send(good, { 'Content-Type': type })).toBe(expected)
  })

  test('is read in linear time, however much white space it contains', async () => {
    const began = performance.now()
    const codes = []
    for (const blanks of [1, 4, 8]) {
      const type = `application/json${`; a=1${' '.repeat(blanks)}`.repeat(14)};`
      codes.push(await send(good, { 'Content-Type': type }))
    }
    expect(codes).toEqual(Array(3).fill('415 unsupported_media_type'))
    expect(performance.now() - began).toBeLessThan(1_000)
  })

  test.each([
    ['gzip', '415 unsupported_media_type'],
    ['identity', 'ok'],
  ])('encoded as %s', async (encoding, expected) => {
    expect(await send(good, { 'Content-Encoding': encoding })).toBe(expected)
  })
})

describe('the JSON', () => {
  test.each([
    ['', '400 invalid_json'],
    ['{"model":', '400 invalid_json'],
    ['{"model":NaN}', '400 invalid_json'],
    ['[]', '400 invalid_request'],
    ['null', '400 invalid_request'],
    ['"text"', '400 invalid_request'],
    [
      '{"model":"demo/echo","messages":[{"role":"user","content":"x"}],"seed":1e999}',
      '400 invalid_request',
    ],
  ])('%s', async (body, expected) => {
    expect(await send(body)).toBe(expected)
  })

  const nested = (depth: number, padding = '') =>
    `${good.slice(0, -1)},"padding":"${padding}","x":${'['.repeat(depth)}${']'.repeat(depth)}}`

  test.each([
    ['small', ''],
    ['large, with brackets and escapes in its strings', '[{\\"[[\\\\'.repeat(20_000)],
  ])('may nest 64 levels deep when it is %s', async (_, padding) => {
    expect(await send(nested(63, padding))).toBe('ok')
    expect(await send(nested(64, padding))).toBe('400 invalid_request')
  })

  test('with fifteen million brackets is refused without being parsed', async () => {
    const deep = '['.repeat(15_000_000)
    const bodies = [
      deep,
      '[]'.repeat(7_000_000),
      `{"a":"\\\\","b":${deep}`,
      `{"a":"\\"","b":${deep}`,
    ]
    const parse = vi.spyOn(JSON, 'parse')
    const codes = []
    for (const body of bodies) codes.push(await send(body))
    const longest = Math.max(0, ...parse.mock.calls.map(([text]) => text.length))
    parse.mockRestore()
    expect(codes).toEqual(Array(bodies.length).fill('400 invalid_request'))
    expect(longest).toBeLessThan(1_000)
  })
})

describe('bytes that are no UTF-8, and a byte order mark, are what a decoder makes of them', () => {
  const bytes = Buffer.concat([
    Buffer.from([0xef, 0xbb, 0xbf]),
    Buffer.from(JSON.stringify({ a: `wrong: \xe9`, b: 'x'.repeat(3_000) }), 'latin1'),
  ])
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      const context = { request, isArriving: true, taken: null } as unknown as RequestContext
      const { fields, text } = await readBody(context, 10_000)
      return Response.json({ a: fields['a'], text })
    },
  })
  afterAll(() => server.stop(true))

  test.each([
    ['in one piece', () => bytes],
    ['chunked', () => new Blob([bytes]).stream()],
  ])('%s', async (_, body) => {
    const response = await fetch(server.url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: body(),
    })
    expect(await response.json()).toEqual({
      a: 'wrong: \ufffd',
      text: bytes.subarray(3).toString(),
    })
  })
})

describe('the number of members and elements', () => {
  const among = (json: string) => `${good.slice(0, -1)},"x":${json}}`
  const members = (count: number) =>
    `{${Array.from({ length: count }, (_, place) => `"name${place}":1`).join()}}`
  const tooWide = 'a body may hold at most 250000 members of objects and elements of arrays'

  test.each([
    ['members', members],
    ['elements', (count: number) => `[${Array(count).fill('0').join()}]`],
    ['objects', (count: number) => `[${Array(count).fill('{}').join()}]`],
    [
      'objects of one member each',
      (count: number) =>
        `[${Array(count / 2)
          .fill('{"a":1}')
          .join()}]`,
    ],
  ])('a hundred thousand %s pass, three hundred thousand do not', async (_, json) => {
    expect(await send(among(json(100_000)))).toBe('ok')
    const parse = vi.spyOn(JSON, 'parse')
    const response = await api.chat(bearer, among(json(300_000)))
    const longest = Math.max(0, ...parse.mock.calls.map(([text]) => text.length))
    parse.mockRestore()
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { code: 'invalid_request', message: tooWide },
    })
    expect(longest).toBeLessThan(1_000)
  })

  test('commas inside strings are not counted', async () => {
    expect(await send(among(JSON.stringify(',"'.repeat(300_000))))).toBe('ok')
  })
})

describe('the size', () => {
  const megabytes = (count: number) => {
    let left = count
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left-- > 0) controller.enqueue(new Uint8Array(1024 * 1024).fill(32))
        else controller.close()
      },
    })
  }

  test('is checked against Content-Length before anything is read', async () => {
    expect(await send(good, { 'Content-Length': String(32 * 1024 * 1024 + 1) })).toBe(
      '413 request_too_large',
    )
  })

  test('is counted while reading when there is no Content-Length', async () => {
    expect(await send(megabytes(33))).toBe('413 request_too_large')
    expect(await send(megabytes(31))).toBe('400 invalid_json')
  })

  test('leaves out image data where prompt tokens are estimated', async () => {
    const image = 'A'.repeat(400_000)
    const url = `data:image/png;base64,${image}`
    const content = [{ type: 'image_url', image_url: { url } }]
    let textBytes = 0
    const { chat } = openApi(deps, {
      upstream: {
        ask: async ({ request }) => {
          textBytes = request.textBytes
          return (async function* () {})()
        },
      },
    })
    const body = JSON.stringify({
      model: 'demo/image',
      modalities: ['image'],
      messages: [{ role: 'user', content }],
    })
    await chat(bearer, body)
    expect(textBytes).toBe(body.length - image.length)
  })
})

test('a body that never ends is refused at its deadline', async () => {
  const { app } = openApi(deps, {
    timings: { bodyDeadlineMs: 50, headerWaitMs: 1, keepAliveMs: 1, stalledReaderMs: 1 },
  })
  const response = await app.request('http://gateway.test/v1/chat/completions', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...bearer },
    body: new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"model":'))
      },
    }),
  })
  expect(await codeOf(response)).toBe('400 invalid_request')
})

test('a body that breaks off is a client error', async () => {
  const broken = new ReadableStream({
    pull(controller) {
      controller.error(new Error('reset'))
    },
  })
  expect(await send(broken)).toBe('400 invalid_request')
})
