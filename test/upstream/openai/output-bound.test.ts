// A refused spelling of the bound is answered by the same request with the other word, once, and remembered once it is taken.

import type { ServerResponse } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import type { BoundWord } from '#domain/provider.ts'
import { JsonBody } from '#http/read/body.ts'
import { openOpenAi } from '#upstream/openai/index.ts'
import { call, collectFolded, provider, request, type Socket, startProvider } from '../fixtures.ts'
import { startRaw } from '../http1/raw-provider.ts'

const json = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
const refuse = (response: ServerResponse, word: string, message: string): void =>
  json(response, 400, { error: { message, param: word, code: 'unsupported_parameter' } })
const ANSWER = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
}
const sentBounds = (socket: Socket) =>
  socket.seen.map(({ body }) => [body['max_tokens'], body['max_completion_tokens']])

/** A server that refuses the words for which `refuses` says so. */
async function open(refuses: (body: JsonObject) => BoundWord | null) {
  const socket = await startProvider((response, n) => {
    const word = refuses(socket.seen[n]?.body ?? {})
    if (word) refuse(response, word, `Unsupported parameter: '${word}'`)
    else json(response, 200, ANSWER)
  })
  onTestFinished(() => socket.stop())
  const learned: BoundWord[] = []
  const upstream = openOpenAi(provider(socket.url), null, undefined, (word) => learned.push(word))
  const ask = (upstreamName = 'm', more: JsonObject = {}) =>
    collectFolded(
      upstream.ask(
        call({ upstreamName, maxOutputTokens: 7, request: request({ max_tokens: 9, ...more }) }),
      ),
    )
  return { socket, learned, ask }
}

test('the other word is sent alone, and from then on at once', async () => {
  const { socket, learned, ask } = await open(({ max_tokens }) =>
    max_tokens ? 'max_tokens' : null,
  )
  for (let i = 0; i < 2; i++) expect(await ask()).toMatchObject({ text: 'ok', failure: null })
  expect(sentBounds(socket)).toEqual([
    [7, 7],
    [undefined, 7],
    [undefined, 7],
  ])
  expect(learned).toEqual(['max_completion_tokens'])
})

test('twenty at first contact all get their answer, and it is learnt once', async () => {
  const { socket, learned, ask } = await open((body) =>
    body['max_completion_tokens'] ? 'max_completion_tokens' : null,
  )
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask()))
  expect(answers.map(({ text, failure }) => [text, failure])).toEqual(Array(20).fill(['ok', null]))
  expect(learned).toEqual(['max_tokens'])
  expect(socket.seen).toHaveLength(40)
})

test('models of one provider may know different words', async () => {
  const { socket, learned, ask } = await open(({ model, ...body }) => {
    const unknown = model === 'new' ? 'max_tokens' : 'max_completion_tokens'
    return body[unknown] === undefined ? null : unknown
  })
  for (const model of ['new', 'old', 'new', 'old']) {
    expect(await ask(model)).toMatchObject({ text: 'ok', failure: null })
  }
  expect(learned).toEqual(['max_completion_tokens'])
  expect(sentBounds(socket).slice(-2)).toEqual([
    [undefined, 7],
    [7, undefined],
  ])
})

test('a server that refuses either word refuses the request, and nothing is learnt', async () => {
  const { socket, learned, ask } = await open((body) =>
    body['max_tokens'] ? 'max_tokens' : 'max_completion_tokens',
  )
  await expect(ask()).resolves.toMatchObject({ failure: { kind: 'rejected' } })
  expect(sentBounds(socket)).toEqual([
    [7, 7],
    [undefined, 7],
  ])
  expect(learned).toEqual([])
})

test('a refused request counts as not sent until it is sent in the other word', async () => {
  const refusal = JSON.stringify({
    error: { message: "Unsupported parameter: 'max_tokens'", param: 'max_tokens' },
  })
  const leaving = await startRaw(async ({ request: heard, socket }) => {
    await heard()
    // Nobody is there when it is sent once more.
    leaving.stopListening()
    socket.end(
      `HTTP/1.1 400 No\r\nconnection: close\r\ncontent-length: ${refusal.length}\r\n\r\n${refusal}`,
    )
  })
  const asking = call({ maxOutputTokens: 7 })
  const opening = openOpenAi(provider(leaving.url.origin), null).ask(asking)
  await expect(opening).rejects.toMatchObject({ kind: 'failed' })
  expect([leaving.lines.length, asking.sending.isSent]).toEqual([1, false])
})

test('a long body is forwarded as text, without the client’s bounds', async () => {
  const { socket } = await open(() => null)
  const stated = { ...provider(socket.url), outputBound: 'max_tokens' } as const
  const body = {
    max_completion_tokens: 9,
    messages: [{ role: 'user', content: 'x'.repeat(5_000) }],
    seed: 1,
    max_tokens: 8,
  }
  const fields = { model: 'm', ...body }
  const text = JSON.stringify(fields)
  const source = new JsonBody(text)
  await collectFolded(
    openOpenAi(stated, null).ask(
      call({ maxOutputTokens: 7, request: { ...request(body), body: source.exact, source } }),
    ),
  )
  expect(socket.seen[0]?.text).not.toMatch(/max_completion_tokens|:8/)
  expect(socket.seen[0]?.body).toMatchObject({ max_tokens: 7, seed: 1 })
  // Stated twice in one text, it is sent once.
  const twice = new JsonBody(`{"max_tokens":8,${text.slice(1)}`)
  await collectFolded(
    openOpenAi(stated, null).ask(
      call({
        maxOutputTokens: 7,
        request: { ...request(body), body: twice.exact, source: twice },
      }),
    ),
  )
  expect(socket.seen[1]?.text.match(/"max_tokens":7/g)).toHaveLength(1)
  expect(socket.seen[1]?.text).not.toMatch(/max_completion_tokens|:8/)
})
