/** Every recorded OpenAI-shaped exchange, through the shipped program to the stock client: its words, its tool calls, its error, its price. */
import type OpenAI from 'openai'
import * as sdk from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Appliance,
  activityOf,
  furnishDesk,
  nanos,
  openHolds,
  priced,
  startAppliance,
} from '#test/support/appliance.ts'
import { openDesk } from '#test/support/desk.ts'
import { type Recording, readRecording, recordings, startReplay } from '#test/support/replay.ts'
import {
  type Count,
  type Said,
  saysAnything,
  type Truth,
  truthOf,
  type Wire,
} from './recorded-truth.ts'

const FAMILIES = [
  'openai-chat',
  'openai-images',
  'openrouter',
  'groq',
  'mistral',
  'deepseek',
  'xai',
  'other-openai-compatible',
]
const CREDENTIAL = 'sk-canary-of-the-operator'
const PROMPT = 'Which ocean contains Bouvet Island?'
const PRICES = { in: '2.5', out: '10', cached: '0.31', written: '3.7' }
const PER_IMAGE = '0.039'

interface Case {
  readonly recording: Recording
  /** How it is served. */
  readonly dress: string
  readonly model: string
  readonly truth: Truth
}

const cases = recordings()
  .filter(({ family }) => FAMILIES.includes(family))
  .flatMap((recording, place) =>
    ['plain', 'split=1', ...(recording.stream ? ['crlf'] : [])].map(
      (dress, at): Case => ({
        recording,
        dress,
        model: `r${place}-${at}/m`,
        truth: truthOf(readRecording(recording.name)),
      }),
    ),
  )
const draws = ({ truth }: Case): boolean => truth.said.images.length > 0
/** Pictures by the piece, except in one dress, where they cost what their tokens cost. */
const byPiece = (one: Case): boolean => draws(one) && one.dress === 'plain'

const replay = await startReplay()
const desk = openDesk()
let gateway: Appliance
let client: OpenAI

/** What became of one case, as its application saw it. */
interface Seen {
  readonly said: Said
  readonly finish: string | null
  readonly usage: Wire
  readonly error: Wire
  readonly generation: string | null
}
const seen = new Map<string, Seen>()

/** The SDK types know neither pictures nor their request. */
const toBody = (one: Case): OpenAI.ChatCompletionCreateParams => ({
  model: one.model,
  messages: [{ role: 'user', content: PROMPT }],
  ...(one.recording.stream && { stream: true }),
  ...(draws(one) && !one.recording.stream && { modalities: ['image', 'text'] as never }),
})

async function addCase(one: Case): Promise<void> {
  const provider = one.model.slice(0, one.model.indexOf('/'))
  const options = one.dress === 'plain' ? '' : `/~${one.dress}`
  await gateway.verb('providers.add', {
    name: provider,
    type: one.recording.provider === 'mistral' ? 'mistral' : 'openai-compatible',
    base_url: `${replay?.url}/r/${one.recording.name}${options}`,
    credential: CREDENTIAL,
  })
  await gateway.verb('models.add', {
    model: one.model,
    in_usd: PRICES.in,
    out_usd: PRICES.out,
    cached_in_usd: PRICES.cached,
    cache_write_usd: PRICES.written,
    images: draws(one),
    // Only under this name is a model asked by the operation that was recorded.
    ...(one.recording.family === 'openai-images' && { upstream: 'gpt-image-1' }),
    ...(byPiece(one) && { per_image_usd: [{ usd: PER_IMAGE }] }),
  })
}

async function ask(one: Case): Promise<Seen> {
  const chunks: Wire[] = []
  let error: Wire = null
  let headers = new Headers()
  try {
    const { data, response } = await client.chat.completions.create(toBody(one)).withResponse()
    headers = response.headers
    if (one.recording.stream)
      for await (const chunk of data as never as AsyncIterable<Wire>) chunks.push(chunk)
    else chunks.push(data)
  } catch (thrown) {
    if (!(thrown instanceof sdk.APIError)) throw thrown
    error = thrown
    headers = thrown.headers ?? headers
  }
  return { ...fold(chunks), error, generation: headers.get('x-generation-id') }
}

/** An application's own reading of what it got, whole or in pieces. */
function fold(chunks: readonly Wire[]): Omit<Seen, 'error' | 'generation'> {
  const choices = chunks.flatMap((chunk) => chunk.choices)
  const pieces: Wire[] = choices.map(({ delta, message }) => delta ?? message)
  const calls: { name: string; arguments: string }[] = []
  for (const [place, piece] of pieces.flatMap((one) => one.tool_calls ?? []).entries()) {
    const at = piece.index ?? place
    calls[at] ??= { name: '', arguments: '' }
    calls[at].name += piece.function.name ?? ''
    calls[at].arguments += piece.function.arguments ?? ''
  }
  return {
    said: {
      text: pieces.map(({ content }) => content ?? '').join(''),
      reasoning: pieces.map((one) => one.reasoning_content ?? '').join(''),
      refusal: pieces.map(({ refusal }) => refusal ?? '').join(''),
      calls,
      images: pieces.flatMap(({ images }) => images ?? []).map((image) => image.image_url.url),
    },
    finish: choices.findLast(({ finish_reason }) => finish_reason)?.finish_reason ?? null,
    usage: chunks.findLast(({ usage }) => usage)?.usage ?? null,
  }
}

/** Dollars of the ledger, by generation. */
let charges: ReadonlyMap<string, bigint> = new Map()
let balanceBefore = 0n

beforeAll(async () => {
  if (!replay) return
  furnishDesk(desk)
  gateway = await startAppliance(desk)
  const { key } = await gateway.verb('keys.create', { name: 'reader' })
  client = gateway.client(key)
  for (const one of cases) await addCase(one)
  balanceBefore = nanos((await gateway.verb('balance.show', {})).balance_usd)
  const waiting = [...cases]
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let one = waiting.shift(); one; one = waiting.shift())
        seen.set(one.model, await ask(one))
    }),
  )
  const entries = await gateway.verb('ledger.list', { kind: 'charge', limit: 10_000 })
  charges = new Map(entries.map((entry) => [entry.generation_id ?? '', -nanos(entry.amount_usd)]))
})

afterAll(async () => {
  await gateway?.kill()
  await replay?.stop()
  desk.close()
})

const named = (list: readonly Case[]) =>
  list.map((one) => [`${one.recording.name} ~${one.dress}`, one] as const)
const seenOf = ({ model }: Case): Seen => seen.get(model) as Seen

describe.skipIf(!replay || cases.length === 0)('recorded traffic', () => {
  test('is all there', () => {
    expect(new Set(cases.map(({ recording }) => recording.name)).size).toBe(63)
    expect(seen.size).toBe(cases.length)
  })

  test.each(named(cases.filter(({ truth }) => truth.errorStatus === null)))(
    '%s reaches the client whole, at its price',
    (_, one) => {
      const { said, finish, usage, error } = seenOf(one)
      expect(error).toBeNull()
      expect(said).toEqual(one.truth.said)
      expect(finish).toBe(one.truth.finish ?? 'stop')
      const { count } = one.truth
      if (count === null) expectEstimate(one, usage)
      else expectCount(one, count, usage)
    },
  )

  const broken = cases.filter(({ truth }) => truth.errorStatus !== null)

  test.each(named(broken.filter(({ truth }) => !saysAnything(truth.said))))(
    '%s is the typed error of the contract, and costs nothing',
    (_, one) => {
      const { error, generation } = seenOf(one)
      const { recording, truth } = one
      const [status, code, kind] = refusalFor(truth)
      expect({ status: error.status, code: error.code }).toEqual({ status, code })
      expect(error).toBeInstanceOf(kind)
      expect(error.error.metadata).toMatchObject({
        provider: one.model.slice(0, -'/m'.length),
        provider_status: truth.errorStatus,
      })
      if (code === 'upstream_overloaded') {
        expect(Number(error.headers.get('retry-after'))).toBe(waitOf(recording))
      }
      // The caller's own fault is told in the provider's words; what is the operator's affair is not.
      if (status === 400) expect(error.message).toContain(truth.errorText.slice(0, 20))
      expect(JSON.stringify(error.error)).not.toContain(CREDENTIAL)
      expect(JSON.stringify(error.error)).not.toMatch(/127\.0\.0\.1|https?:|org[-_]\w{8}/)
      expect(charges.has(generation ?? '')).toBe(false)
      expect(activityOf(desk, generation ?? '')).toMatchObject({ status, code, cost_nanos: 0 })
    },
  )

  test.each(named(broken.filter(({ truth }) => saysAnything(truth.said))))(
    '%s breaks in the reader, and what came is charged',
    (_, one) => {
      const { error, said, generation } = seenOf(one)
      expect(error).toBeInstanceOf(sdk.APIError)
      expect({ status: error.status, code: error.code }).toEqual({
        status: undefined,
        code: 'invalid_request',
      })
      expect(said).toEqual(one.truth.said)
      const { count } = one.truth
      const amount = count ? priceOf(one, count) : priced(...estimated(one))
      expect(charges.get(generation ?? '')).toBe(amount)
      expect(amount).toBeGreaterThan(0n)
      expect(activityOf(desk, generation ?? '')).toMatchObject({
        ended_by: 'upstream',
        usage_source: count ? 'provider' : 'estimated',
        cost_nanos: Number(amount),
      })
    },
  )

  test('nothing else was charged, nothing is held, and the balance is the sum', async () => {
    const free = broken.filter(({ truth }) => !saysAnything(truth.said)).length
    expect(charges.size).toBe(cases.length - free)
    const spent = [...charges.values()].reduce((sum, amount) => sum + amount, 0n)
    const { balance_usd: balance } = await gateway.verb('balance.show', {})
    expect(nanos(balance)).toBe(balanceBefore - spent)
    expect(openHolds(desk)).toBe(0)
    expect(await gateway.verb('doctor', {})).toMatchObject({ problems: 0 })
  })
})

function expectCount(one: Case, count: Count, usage: Wire): void {
  expect(usage).toMatchObject({
    prompt_tokens: count.prompt,
    completion_tokens: count.completion,
    total_tokens: count.prompt + count.completion,
    images: one.truth.said.images.length,
    prompt_tokens_details: { cached_tokens: count.cached, cache_write_tokens: count.written },
    completion_tokens_details: { reasoning_tokens: count.reasoning },
    cost_details: { source: 'provider' },
  })
  const amount = priceOf(one, count)
  expect(charges.get(seenOf(one).generation ?? '')).toBe(amount)
  expect(usage.cost).toBe(Number(amount) / 1e9)
}

function priceOf(one: Case, { prompt, cached, written, completion, imageTokens }: Count): bigint {
  const words = byPiece(one) ? completion - imageTokens : completion
  const tokens = priced(
    [prompt - cached - written, PRICES.in],
    [cached, PRICES.cached],
    [written, PRICES.written],
    [words, PRICES.out],
  )
  return tokens + (byPiece(one) ? BigInt(one.truth.said.images.length) * nanos(PER_IMAGE) : 0n)
}

/** Without a count: four bytes a token, of the body that was asked and of what was said. */
function estimated(one: Case): [[number, string], [number, string]] {
  const { text, reasoning, refusal, calls } = one.truth.said
  const words =
    text + reasoning + refusal + calls.map((call) => call.name + call.arguments).join('')
  const tokens = (said: string): number => Math.ceil(Buffer.byteLength(said) / 4)
  return [
    [tokens(JSON.stringify(toBody(one))), PRICES.in],
    [tokens(words), PRICES.out],
  ]
}

function expectEstimate(one: Case, usage: Wire): void {
  const [[prompt], [completion]] = estimated(one)
  expect(usage).toMatchObject({
    prompt_tokens: prompt,
    completion_tokens: completion,
    cost_details: { source: 'estimated' },
  })
  const amount = priced(...estimated(one))
  expect(amount).toBeGreaterThan(0n)
  expect(charges.get(seenOf(one).generation ?? '')).toBe(amount)
}

type Refusal = readonly [status: number, code: string, kind: new (...args: never[]) => Error]

/** Contract §3, last paragraph. */
function refusalFor({ errorStatus, errorText }: Truth): Refusal {
  switch (errorStatus) {
    case 400:
    case 404:
    case 413:
    case 422: {
      const code = /maximum context length/.test(errorText)
        ? 'context_length_exceeded'
        : 'invalid_request'
      return [400, code, sdk.BadRequestError]
    }
    case 429:
    case 529:
      return [503, 'upstream_overloaded', sdk.InternalServerError]
    default:
      return [502, 'upstream_error', sdk.InternalServerError]
  }
}

function waitOf({ name }: Recording): number {
  const headers = new Headers(readRecording(name).headers)
  const ms = headers.get('retry-after-ms')
  return ms === null
    ? Number(headers.get('retry-after') ?? 5)
    : Math.max(1, Math.ceil(Number(ms) / 1000))
}
