// Models that answer in the Responses API alone, asked through messages by Anthropic's client: every recorded answer, whole and cut short.
import Anthropic, { APIError } from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { activityOf, openHolds, until } from '#test/support/appliance.ts'
import { FULL } from '#test/support/tier.ts'
import { finishedAnswers, priceOf, textOf } from './recorded.ts'
import { openResponses, type ResponsesGateway, replayed } from './scripted.ts'

let setup: ResponsesGateway
let client: Anthropic
beforeAll(async () => {
  setup = await openResponses()
  client = new Anthropic({ baseURL: setup.gateway.url, authToken: setup.key, maxRetries: 0 })
})
afterAll(async () => await setup?.close())

const asked = () => ({
  model: 'openai/chatless',
  max_tokens: 60_000,
  messages: [{ role: 'user' as const, content: 'hi' }],
})

interface Read {
  readonly message: Anthropic.Message
  readonly generation: string
}

async function read(isStream: boolean): Promise<Read> {
  const idOf = ({ headers }: Response): string => headers.get('x-generation-id') ?? ''
  if (!isStream) {
    const asking = client.messages.create(asked(), { timeout: 10_000 }).withResponse()
    const { data: message, response } = await asking
    return { message, generation: idOf(response) }
  }
  const stream = client.messages.stream(asked())
  const { response } = await stream.withResponse()
  return { message: await stream.finalMessage(), generation: idOf(response) }
}

const isStream = ({ response }: (typeof finishedAnswers)[number]): boolean =>
  response.sse !== undefined

/** No client of messages can declare a custom tool, so that none is called. */
const answers = finishedAnswers.filter(({ name }) => !name.startsWith('custom-tool'))

describe.skipIf(answers.length === 0)('a recorded answer', () => {
  test.each(answers)('$name reaches the client, at its price', async (one) => {
    setup.play(replayed(one.response, 997))
    const { message, generation } = await read(isStream(one))
    const { content, stop_reason, usage } = message
    const calls = content.filter(({ type }) => type === 'tool_use')
    const hasCalls = /"type": ?"function_call"/.test(textOf(one))
    expect(calls.length > 0).toBe(hasCalls)
    expect(stop_reason).toMatch(hasCalls ? /^tool_use$/ : /^(end_turn|max_tokens|refusal)$/)
    expect(usage.input_tokens + (usage.cache_read_input_tokens ?? 0)).toBeGreaterThan(0)
    expect(activityOf(setup.cli, generation)).toMatchObject({
      cost_nanos: Number(priceOf(textOf(one))),
      usage_source: 'provider',
    })
  })

  test.each(answers.filter(isStream))('$name, cut anywhere, is an error', async (one) => {
    const bytes = Buffer.from(textOf(one))
    const end = bytes.lastIndexOf('"response.')
    for (let n = 1; n <= (FULL ? 10 : 2); n++) {
      const cutAt = Math.floor((Math.max(1, end) * (n - Math.random())) / (FULL ? 10 : 2))
      setup.play(replayed(one.response, Number.POSITIVE_INFINITY, cutAt))
      const outcome = await read(true).catch((thrown) => thrown)
      // One whose last event has come is whole.
      if (!(outcome instanceof APIError)) {
        const where = `${one.name} cut at ${cutAt} of ${bytes.length}`
        expect(bytes.subarray(0, cutAt).toString(), where).toMatch(/"usage"/)
        expect(outcome.message, where).toHaveProperty('stop_reason')
      }
    }
    await until(() => openHolds(setup.cli) === 0, 'nothing stays held')
  })
})
