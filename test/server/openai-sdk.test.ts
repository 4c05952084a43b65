// The stock OpenAI client, configured with the gateway's address and nothing else.
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Served, serve } from './serve.ts'

let s: Served
let client: OpenAI
const messages = [{ role: 'user' as const, content: 'hello there world' }]

beforeAll(async () => {
  s = await serve(null)
  client = clientFor(s.key.bearer['Authorization']!)
})
afterAll(async () => {
  await s.gateway.stop(0)
  await s.deps.store.close()
})

const clientFor = (authorization: string, path = '/v1'): OpenAI =>
  new OpenAI({ apiKey: authorization.slice('Bearer '.length), baseURL: s.gateway.url + path })

describe.each(['/v1', '/api/v1'])('under %s', (path) => {
  test('a completion, with its extra fields and its headers', async () => {
    const own = clientFor(s.key.bearer['Authorization']!, path)
    const { data, request_id: id } = await own.chat.completions
      .create({ model: 'demo/echo', messages })
      .withResponse()
    expect(data.choices[0]?.message.content).toBe('hello there world')
    expect(data.usage).toMatchObject({ total_tokens: 6, cost_rub: 0.00081 })
    expect(id).toMatch(/^req_/)
  })
})

test('a stream', async () => {
  const stream = await client.chat.completions.create({
    model: 'demo/echo',
    messages,
    stream: true,
  })
  let said = ''
  let tokens = 0
  for await (const chunk of stream) {
    said += chunk.choices[0]?.delta.content ?? ''
    tokens = chunk.usage?.total_tokens ?? tokens
  }
  expect([said, tokens]).toEqual(['hello there world', 6])
})

test('a stream that the client aborts', async () => {
  const stream = await client.chat.completions.create({
    model: 'demo/lorem',
    messages,
    user: 'rate-50',
    stream: true,
  })
  for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break
  const deadlineMs = performance.now() + 5_000
  while ((await s.openHolds()) > 0 && performance.now() < deadlineMs) await Bun.sleep(5)
  expect(await s.openHolds()).toBe(0)
})

test('a stream that fails raises an error with its code', async () => {
  const stream = await client.chat.completions.create({
    model: 'demo/flaky',
    messages,
    user: 'cut',
    stream: true,
  })
  const reading = (async () => {
    for await (const _ of stream);
  })()
  await expect(reading).rejects.toMatchObject({ code: 'upstream_error' })
})

test('an image, in a field that the library does not know', async () => {
  const { choices, usage } = await client.chat.completions.create({
    model: 'demo/image',
    messages,
    modalities: ['image', 'text'] as never,
  })
  const message = { ...choices[0]?.message } as { images?: { image_url: { url: string } }[] }
  expect(message.images?.[0]?.image_url.url).toMatch(/^data:image\/png;base64,/)
  expect(usage).toMatchObject({ images: 1, completion_tokens: 0 })
})

test('the catalogue', async () => {
  const ids: string[] = []
  for await (const model of client.models.list()) ids.push(model.id)
  expect(ids).toEqual(['demo/echo', 'demo/flaky', 'demo/image', 'demo/lorem'])
  expect(await client.models.retrieve('demo/echo')).toMatchObject({
    id: 'demo/echo',
    owned_by: 'demo',
  })
})

test("errors have the library's own classes", async () => {
  const stranger = clientFor('Bearer nonsense')
  await expect(stranger.models.list()).rejects.toThrow(OpenAI.AuthenticationError)
  await expect(client.models.retrieve('demo/none')).rejects.toThrow(OpenAI.NotFoundError)
  await expect(
    client.chat.completions.create({ model: 'demo/echo', messages: [] }),
  ).rejects.toMatchObject({ status: 400, code: 'invalid_request', param: 'messages' })
})

test('a rate limit with a long wait is neither waited for nor retried', async () => {
  const { bearer, key } = await s.deps.issue({ rpd: 1 })
  const own = clientFor(bearer['Authorization']!)
  await own.chat.completions.create({ model: 'demo/echo', messages })
  await expect(own.chat.completions.create({ model: 'demo/echo', messages })).rejects.toMatchObject(
    {
      status: 429,
      code: 'rate_limit_exceeded',
    },
  )
  expect(s.lines.filter((line) => line.key === key.id)).toHaveLength(2)
})
