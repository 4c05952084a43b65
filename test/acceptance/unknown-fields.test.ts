/** What providers send beside the words: it reaches the client, in a form that its library can read. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { readSse } from '#test/support/read-sse.ts'

const FILTER = { hate: { filtered: false, severity: 'safe' } }
const detail = (text: string) => ({ type: 'reasoning.text', text, format: 'unknown' })
const USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
const MESSAGE = {
  role: 'assistant',
  content: 'Hello',
  reasoning: 'One two',
  reasoning_details: [detail('One two')],
}

const CHUNKS = [
  {
    choices: [{ index: 0, delta: { role: 'assistant', content: '' }, content_filter_results: {} }],
  },
  { choices: [{ index: 0, delta: { reasoning: 'One', reasoning_details: [detail('One')] } }] },
  { choices: [{ index: 0, delta: { reasoning: ' two', reasoning_details: [detail(' two')] } }] },
  { choices: [{ index: 0, delta: { content: 'Hello' }, content_filter_results: FILTER }] },
  { choices: [{ index: 0, delta: { annotations: [{ type: 'url_citation' }] }, text: 'twice' }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop', stop_reason: 17 }] },
  { choices: [], usage: USAGE },
]

const cli = openCli()
let gateway: Appliance
let key = ''
const upstream = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const { stream } = (await request.json()) as { stream?: boolean }
    if (stream) {
      const events = [...CHUNKS.map((chunk) => JSON.stringify({ id: 'x', ...chunk })), '[DONE]']
      return new Response(events.map((data) => `data: ${data}\n\n`).join(''), {
        headers: { 'content-type': 'text/event-stream' },
      })
    }
    const choice = {
      index: 0,
      message: MESSAGE,
      finish_reason: 'stop',
      text: 'twice',
      stop_reason: 17,
    }
    return Response.json({
      id: 'x',
      choices: [{ ...choice, content_filter_results: FILTER }],
      usage: USAGE,
    })
  },
})

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli)
  key = (await gateway.verb('keys.create', { name: 'k' })).key
  const base_url = `http://127.0.0.1:${upstream.port}`
  await gateway.verb('providers.add', { name: 'p', type: 'openrouter', base_url, credential: null })
  await gateway.verb('models.add', { model: 'p/m', in_usd: '1', out_usd: '2' })
})

afterAll(async () => {
  await gateway?.stop()
  await upstream.stop(true)
})

const ask = (more: object = {}) =>
  gateway.chat(key, { model: 'p/m', messages: [{ role: 'user', content: 'hi' }], ...more })

test('a whole answer keeps the fields of its choice, and has reasoning by both names', async () => {
  const { choices } = (await (await ask()).json()) as { choices: unknown[] }
  expect(choices).toEqual([
    {
      index: 0,
      message: { ...MESSAGE, reasoning_content: 'One two' },
      logprobs: null,
      finish_reason: 'stop',
      native_finish_reason: 'stop',
      content_filter_results: FILTER,
      stop_reason: 17,
    },
  ])
})

describe('a stream', () => {
  test('keeps the fields of its choice, each with the chunk that it came with', async () => {
    const { chunks } = readSse(await (await ask({ stream: true })).text())
    const all = chunks.flatMap(({ choices }) => choices) as Record<string, unknown>[]
    const beside = all.map(
      ({ index: _, delta: __, finish_reason: ___, native_finish_reason: ____, ...rest }) => rest,
    )
    expect(beside.filter((fields) => Object.keys(fields).length > 0)).toEqual([
      { content_filter_results: {} },
      { content_filter_results: FILTER },
      { stop_reason: 17 },
    ])
    expect(
      all.find(({ content_filter_results: found }) => Bun.deepEquals(found, FILTER)),
    ).toMatchObject({ delta: { content: 'Hello' } })
    expect(all.at(-1)).toMatchObject({ finish_reason: 'stop', stop_reason: 17 })
  })

  test('has reasoning by both names, and numbers the entries of its lists', async () => {
    const { chunks } = readSse(await (await ask({ stream: true })).text())
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta)) as Record<
      string,
      unknown
    >[]
    const thoughts = deltas.filter((delta) => 'reasoning' in delta)
    expect(thoughts).toEqual(
      ['One', ' two'].map((text) => ({ reasoning: text, reasoning_content: text })),
    )
    const lists = deltas.flatMap((delta) =>
      [delta['reasoning_details'], delta['annotations']].filter(Boolean),
    )
    expect(lists).toEqual([
      [{ ...detail('One'), index: 0 }],
      [{ ...detail(' two'), index: 0 }],
      [{ type: 'url_citation', index: 0 }],
    ])
  })
})
