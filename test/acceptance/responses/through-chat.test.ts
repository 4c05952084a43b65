// Models that answer in the Responses API alone, asked through chat by the stock client: every recorded answer, whole and cut short.
import { APIError } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nanos, openHolds, until } from '#test/support/appliance.ts'
import { type SurfaceRecording, surfaceRecordings } from '#test/support/surface-recordings.ts'
import { FULL } from '#test/support/tier.ts'
import { finishedAnswers, priceOf, textOf } from './recorded.ts'
import { openResponses, type ResponsesGateway, replayed } from './scripted.ts'

// biome-ignore lint/suspicious/noExplicitAny: a chunk as an application reads it
type Wire = any

let setup: ResponsesGateway
beforeAll(async () => {
  setup = await openResponses()
})
afterAll(async () => await setup?.close())

interface Seen {
  readonly text: string
  readonly calls: number
  readonly finish: string | null
  readonly usage: Wire
  readonly error: Wire
  readonly generation: string
}

async function ask(stream: boolean): Promise<Seen> {
  const client = setup.gateway.client(setup.key, { maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'hi' }]
  const chunks: Wire[] = []
  let error: Wire = null
  let headers = new Headers()
  try {
    const { data, response } = await client.chat.completions
      .create({ model: 'openai/chatless', messages, stream })
      .withResponse()
    headers = response.headers
    if (stream) for await (const chunk of data as AsyncIterable<Wire>) chunks.push(chunk)
    else chunks.push(data)
  } catch (thrown) {
    if (!(thrown instanceof APIError)) throw thrown
    error = thrown
    headers = thrown.headers ?? headers
  }
  const choices = chunks.flatMap((chunk) => chunk.choices)
  const said = choices.map(({ delta, message }) => delta ?? message)
  return {
    text: said.map(({ content }) => content ?? '').join(''),
    calls: said.flatMap(({ tool_calls: calls }) => calls ?? []).filter(({ id }) => id).length,
    finish: choices.findLast(({ finish_reason: finish }) => finish)?.finish_reason ?? null,
    usage: chunks.findLast(({ usage }) => usage)?.usage,
    error,
    generation: headers.get('x-generation-id') ?? '',
  }
}

const chargeOf = async (generation: string): Promise<bigint> => {
  const list = await setup.gateway.verb('ledger.list', { kind: 'charge', limit: 10_000 })
  const found = list.filter((entry) => entry.generation_id === generation)
  return found.reduce((sum, entry) => sum - nanos(entry.amount_usd), 0n)
}

const isStream = ({ response }: SurfaceRecording): boolean => response.sse !== undefined

describe.skipIf(finishedAnswers.length === 0)('a recorded answer', () => {
  test.each(finishedAnswers)('$name reaches the client, at its price', async (one) => {
    const sizes = isStream(one) && FULL ? [13, 997] : [997]
    for (const size of sizes) {
      setup.play(replayed(one.response, size))
      const seen = await ask(isStream(one))
      expect(seen.error).toBeNull()
      const calls = textOf(one).match(/"type": ?"(?:function|custom_tool)_call"/g) ?? []
      expect(seen.calls > 0).toBe(calls.length > 0)
      expect(seen.finish).toMatch(seen.calls > 0 ? /^tool_calls$/ : /^(stop|length)$/)
      const price = priceOf(textOf(one))
      expect(price).toBeGreaterThan(0n)
      expect(await chargeOf(seen.generation)).toBe(price)
      expect(seen.usage.cost).toBe(Number(price) / 1e9)
    }
  })

  const streams = finishedAnswers.filter(isStream)
  test.each(streams)('$name, cut anywhere, is an error, and what came is paid', async (one) => {
    const bytes = Buffer.from(textOf(one))
    const end = bytes.lastIndexOf('"response')
    for (let n = 1; n <= (FULL ? 10 : 2); n++) {
      const cutAt = Math.floor((Math.max(1, end) * (n - Math.random())) / (FULL ? 10 : 2))
      setup.play(replayed(one.response, Number.POSITIVE_INFINITY, cutAt))
      const seen = await ask(true)
      const where = `${one.name} cut at ${cutAt} of ${bytes.length}`
      // One whose last event has come is whole.
      if (seen.error === null) expect(bytes.subarray(0, cutAt).toString(), where).toMatch(/"usage"/)
      else expect(seen.error, where).toBeInstanceOf(APIError)
    }
    await until(() => openHolds(setup.cli) === 0, 'nothing stays held')
  })

  const refusals = surfaceRecordings('openai-responses').filter(
    ({ response }) => response.status >= 400,
  )
  test.each(refusals)('$name is an error of the contract', async (one) => {
    setup.play(replayed(one.response))
    const { error } = await ask(false)
    expect(error).toBeInstanceOf(APIError)
    const isKeyWrong = one.response.status === 401 || /incorrect api key/i.test(textOf(one))
    expect(error.status).toBe(isKeyWrong ? 502 : 400)
    expect(error.error.metadata).toMatchObject({ provider: 'openai' })
  })
})

test('encrypted reasoning comes back to its provider on the next turn of the stock client', async () => {
  const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
  const answer = {
    id: 'resp_1',
    status: 'completed',
    output: [item, call],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  }
  const play = () =>
    setup.play((response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
  const client = setup.gateway.client(setup.key)
  const question = { role: 'user' as const, content: 'hi' }
  const model = 'openai/chatless'
  play()
  const first = await client.chat.completions.create({ model, messages: [question] })
  const message = first.choices[0]?.message as Wire
  play()
  await client.chat.completions.create({
    model,
    messages: [question, message, { role: 'tool', tool_call_id: 'c', content: 'ok' }],
  })
  expect(JSON.parse(setup.asked[0]?.text ?? '').input).toEqual([
    { role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
    item,
    call,
    { type: 'function_call_output', call_id: 'c', output: 'ok' },
  ])
})
