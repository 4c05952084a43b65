/** The same work costs the same to the nano-dollar on every surface that reaches it: its units times the card. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Appliance,
  activityOf,
  furnishCli,
  nanos,
  openHolds,
  priced,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { type RecordedResponse, readRecording, recordings } from '#test/support/replay.ts'
import { surfaceRecordings } from '#test/support/surface-recordings.ts'
import { FULL } from '#test/support/tier.ts'
import { type Socket, startProvider } from '#test/upstream/fixtures.ts'
import { amountOf, billOf, PRICES } from './recordings/bill.ts'
import { draws, truthOf } from './recordings/truth.ts'
import { finishedAnswers } from './responses/recorded.ts'

// biome-ignore lint/suspicious/noExplicitAny: a naive reading of whatever was recorded.
type Json = any

const WRITTEN_1H = '5.1'
const PER_THOUSAND_CALLS = { web_search: '10', web_fetch: '3', file_search: '2.5' } as const

/** By the wire of a provider: its type, and what more its card says. */
const WIRES = {
  chat: { type: 'openai-compatible', wires: ['chat'] },
  responses: { type: 'openai', wires: ['responses'] },
  anthropic: { type: 'anthropic' },
  gemini: { type: 'google' },
} as const
type Wire = keyof typeof WIRES

const MESSAGE = [{ role: 'user', content: 'hi' }]
/** Ample, so that no answer is ended for what it costs. */
const MOST = 60_000
const SURFACES = {
  'chat/completions': { messages: MESSAGE, max_tokens: MOST },
  messages: { messages: MESSAGE, max_tokens: MOST },
  responses: { input: 'hi', max_output_tokens: MOST },
} as const

interface Work {
  readonly name: string
  readonly wire: Wire
  readonly response: RecordedResponse
  readonly price: bigint
}

const chunksOf = ({ sse, body }: RecordedResponse): readonly Json[] =>
  sse === undefined
    ? [body]
    : sse
        .split(/\r\n|\n|\r/)
        .filter((line) => line.startsWith('data: {'))
        .map((line) => JSON.parse(line.slice(6)))

const callsAt = (tool: keyof typeof PER_THOUSAND_CALLS, calls: number): bigint =>
  (nanos(PER_THOUSAND_CALLS[tool]) * BigInt(calls)) / 1_000n

/** Counts of a stream replace each other; those of a request in several steps add up. */
function anthropicPrice(response: RecordedResponse): bigint | null {
  const stated = chunksOf(response).flatMap(({ usage, message }) => usage ?? message?.usage ?? [])
  const usage: Json = Object.assign(
    {},
    ...stated.map((one) => Object.fromEntries(Object.entries(one).filter(([, n]) => n !== null))),
  )
  if (usage.output_tokens === undefined) return null
  const steps: readonly Json[] = usage.iterations?.length > 0 ? usage.iterations : [usage]
  const sum = (count: (step: Json) => number | undefined): number =>
    steps.reduce((all, step) => all + (count(step) ?? 0), 0)
  const long = sum((step) => step.cache_creation?.ephemeral_1h_input_tokens)
  const { web_search_requests: searches = 0, web_fetch_requests: fetches = 0 } =
    usage.server_tool_use ?? {}
  return (
    priced(
      [sum((step) => step.input_tokens), PRICES.in],
      [sum((step) => step.cache_read_input_tokens), PRICES.cached],
      [sum((step) => step.cache_creation_input_tokens) - long, PRICES.written],
      [long, WRITTEN_1H],
      [sum((step) => step.output_tokens), PRICES.out],
    ) +
    callsAt('web_search', searches) +
    callsAt('web_fetch', fetches)
  )
}

function responsesPrice(response: RecordedResponse): bigint {
  const chunks = chunksOf(response)
  const { usage } = chunks.findLast((chunk) => chunk.response)?.response ?? chunks[0]
  const items: readonly Json[] =
    response.sse === undefined
      ? chunks[0].output
      : chunks.flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item] : []))
  const calls = (type: string): number =>
    items.filter((item) => item.type === type && (item.action?.type ?? 'search') === 'search')
      .length
  const { cached_tokens: cached = 0, cache_write_tokens: written = 0 } =
    usage.input_tokens_details ?? {}
  return (
    priced(
      [usage.input_tokens - cached - written, PRICES.in],
      [cached, PRICES.cached],
      [written, PRICES.written],
      [usage.output_tokens, PRICES.out],
    ) +
    callsAt('web_search', calls('web_search_call')) +
    callsAt('file_search', calls('file_search_call'))
  )
}

const ofAnthropic: readonly Work[] = surfaceRecordings('anthropic-messages').flatMap(
  ({ name, path, response }) => {
    const isAnswer = response.status === 200 && !/count_tokens|batches/.test(path)
    const price = isAnswer ? anthropicPrice(response) : null
    return price === null ? [] : [{ name, wire: 'anthropic' as const, response, price }]
  },
)
const ofResponses: readonly Work[] = finishedAnswers.map(({ name, response }) => ({
  name,
  wire: 'responses',
  response,
  price: responsesPrice(response),
}))
/** Those of chat and Gemini that were counted whole, cost something, and drew nothing. */
const ofOthers: readonly Work[] = recordings().flatMap((recording) => {
  const wire = { 'openai-chat': 'chat', gemini: 'gemini' }[recording.family] as Wire | undefined
  if (wire === undefined || recording.status !== 200 || draws(recording)) return []
  const truth = truthOf(recording)
  if (truth.failure !== null || truth.count === null || truth.isPartial) return []
  const price = amountOf(billOf(truth, ''), 0)
  if (price === 0n) return []
  return [{ name: recording.name, wire, response: readRecording(recording.name), price }]
})
const all = [...ofAnthropic, ...ofResponses, ...ofOthers]

const cli = furnishCli(openCli())
let gateway: Appliance
let provider: Socket
let key: string
let playing: RecordedResponse | undefined

beforeAll(async () => {
  if (all.length === 0) return
  provider = await startProvider((response) => {
    const { headers = {}, sse, body } = playing ?? {}
    const usual = sse === undefined ? 'application/json' : 'text/event-stream'
    response.writeHead(200, { 'content-type': headers['content-type'] ?? usual })
    response.end(sse ?? JSON.stringify(body))
  })
  gateway = await startAppliance(cli)
  for (const [name, { type, ...more }] of Object.entries(WIRES)) {
    const credential = 'sk-v'
    await gateway.verb('providers.add', { name, type, base_url: provider.url, credential })
    await gateway.verb('models.add', {
      model: `${name}/m`,
      in_usd: PRICES.in,
      out_usd: PRICES.out,
      cached_in_usd: PRICES.cached,
      cache_write_usd: PRICES.written,
      cache_write_1h_usd: WRITTEN_1H,
      server_tools: PER_THOUSAND_CALLS,
      ...more,
    } as never)
  }
  key = (await gateway.verb('keys.create', { name: 'reader' })).key
})
afterAll(async () => {
  await gateway?.kill()
  await provider?.stop()
  cli.close()
})

/** What an answer cost, in nano-dollars, and by whose count. */
async function costOn(surface: string, work: Work): Promise<readonly unknown[]> {
  playing = work.response
  const response = await fetch(`${gateway.url}/v1/${surface}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...SURFACES[surface as keyof typeof SURFACES],
      model: `${work.wire}/m`,
      ...(work.response.sse !== undefined && { stream: true }),
    }),
  })
  const text = await response.text()
  if (response.status !== 200) return [surface, response.status, text]
  const row = activityOf(cli, response.headers.get('x-generation-id') ?? '')
  return [surface, BigInt(row?.['cost_nanos'] as number), row?.['usage_source']]
}

describe.skipIf(all.length === 0)('recorded work', () => {
  test('is of every wire, and of every class of price', () => {
    const wires = Object.keys(WIRES).map((wire) => all.filter((work) => work.wire === wire).length)
    expect(wires.every((count) => count > 8)).toBe(true)
    expect(ofAnthropic.some(({ name }) => name === 'cache-1h')).toBe(true)
    expect(ofResponses.some(({ name }) => name === 'web-search')).toBe(true)
  })

  // Of each wire a part, where time is short.
  const asked = all.filter((_, place) => FULL || place % 2 === 0)
  test.each(asked)('$wire: $name', async (work) => {
    expect(work.price).toBeGreaterThan(0n)
    const costs: (readonly unknown[])[] = []
    for (const surface of Object.keys(SURFACES)) costs.push(await costOn(surface, work))
    expect(costs).toEqual(Object.keys(SURFACES).map((surface) => [surface, work.price, 'provider']))
  })

  test('leaves nothing held', async () => {
    await until(() => openHolds(cli) === 0, 'no hold is left')
  })
})
