// Recorded answers of providers, read by the whole upstream and by a second, naive reader, and compared.
import { describe, expect, test } from 'vitest'
import { PROVIDER_PRESETS, type ProviderType } from '#domain/provider.ts'
import { completionTokens, promptTokens } from '#domain/usage.ts'
import {
  type RecordedResponse,
  type Recording,
  readRecording,
  recordings,
} from '#test/support/replay.ts'
import type { Folded } from '../fixtures.ts'
import { serveRecordings, testEveryDress } from '../recorded.ts'

const FAMILIES = [
  'openai-chat',
  'openrouter',
  'groq',
  'mistral',
  'deepseek',
  'xai',
  'other-openai-compatible',
]
const ours = recordings().filter(({ family }) => FAMILIES.includes(family))
const typeOf = ({ family }: Recording): ProviderType =>
  family in PROVIDER_PRESETS ? (family as ProviderType) : 'openai-compatible'

// biome-ignore lint/suspicious/noExplicitAny: the second reading is meant to be naive.
type Wire = any

/** The chunks of a stream, or the one body, without any of the gateway's own code. */
function rawChunks({ sse, body, text }: RecordedResponse): readonly Wire[] {
  if (sse === undefined) return text === undefined ? [body] : []
  return sse
    .split(/\r\n|\n|\r/)
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)))
}

function expected(response: RecordedResponse) {
  const wire = rawChunks(response)
  const choices = wire.flatMap((one) => one.choices ?? []).filter((choice) => choice.index === 0)
  const said = choices.map((choice) => choice.delta ?? choice.message ?? {})
  const plain = (content: Wire, type: string): string =>
    Array.isArray(content)
      ? content
          .filter((part) => part.type === type)
          .map((part) => part.text ?? part.thinking.map((piece: Wire) => piece.text).join(''))
          .join('')
      : type === 'text'
        ? (content ?? '')
        : ''
  const calls: { id: string; name: string; arguments: string }[] = []
  for (const piece of said.flatMap((one) => one.tool_calls ?? [])) {
    const at = piece.index ?? calls.length
    calls[at] ??= { id: piece.id, name: piece.function.name, arguments: '' }
    calls[at].arguments += piece.function.arguments
  }
  return {
    text: said.map((one) => plain(one.content, 'text')).join(''),
    reasoning: said
      .map((one) => one.reasoning_content ?? one.reasoning ?? plain(one.content, 'thinking'))
      .join(''),
    refusal: said.map((one) => one.refusal ?? '').join(''),
    toolCalls: calls,
    images: said.flatMap((one) => one.images ?? []).map((image) => image.image_url.url),
    native: choices
      .filter((choice) => choice.finish_reason)
      .map((choice) => choice.native_finish_reason ?? choice.finish_reason)[0],
    usage: wire.map((one) => one.usage ?? one.x_groq?.usage).findLast((usage) => usage),
    broken: wire.some((one) => one.error),
  }
}

/** Nano-dollars, from the text of the number: none of the recorded ones has an exponent. */
function costOf(usage: Wire): bigint | null {
  const { cost, cost_in_usd_ticks: ticks } = usage
  if (typeof ticks === 'number') return BigInt(ticks) / 10n
  const dollars = typeof cost === 'object' ? cost?.total_cost : cost
  if (dollars === undefined) return null
  const [whole, fraction = ''] = String(dollars).split('.')
  return BigInt(`${whole}${fraction.padEnd(9, '0')}`)
}

function compare(answer: Folded, response: RecordedResponse): void {
  const { native, usage, broken, ...content } = expected(response)
  expect(answer).toMatchObject(content)
  if (broken) {
    expect(answer.failure?.name).toBe('UpstreamFailure')
    expect(answer.finish).toEqual([])
  } else {
    expect(answer.failure).toBeNull()
    expect(answer.finish).toMatchObject([{ choice: 0, native: native ?? 'stop' }])
  }
  if (!usage) {
    expect(answer.usage).toBeNull()
    return
  }
  const read = answer.usage!
  expect(promptTokens(read)).toBe(usage.prompt_tokens ?? usage.input_tokens)
  // However a provider counts, prompt and completion together are the total.
  expect(promptTokens(read) + completionTokens(read)).toBe(usage.total_tokens)
  expect(read.cacheReadTokens).toBe(usage.prompt_tokens_details?.cached_tokens ?? 0)
  expect(read.imageOutputTokens).toBe(
    (usage.completion_tokens_details ?? usage.output_tokens_details)?.image_tokens ?? 0,
  )
  expect(answer.statedCost).toBe(costOf(usage))
  const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? 0
  expect(read.reasoningTokens).toBe(Math.min(reasoning, read.outputTokens))
}

describe.skipIf(ours.length === 0)('recorded traffic', () => {
  const { ask, replay } = serveRecordings(typeOf, 'sk-secret-1234567890')

  /** Failures are told by what they say. */
  const plain = ({ failure, ...answer }: Folded) => ({
    ...answer,
    failure: failure && { kind: failure.kind, message: failure.message, details: failure.details },
  })

  const good = ours.filter(({ status }) => status === 200)
  test('there are many', () => expect(good.length).toBeGreaterThan(30))

  test.each(good.map((recording) => [recording.name, recording] as const))(
    '%s says what was sent',
    async (name, recording) => {
      compare(await ask(recording), readRecording(name))
    },
  )

  const streams = good.filter(({ stream }) => stream)
  testEveryDress(streams, ask, plain)

  test.each(streams.map((recording) => [recording.name, recording] as const))(
    '%s cut in the middle is no complete answer',
    async (name, recording) => {
      const sse = readRecording(name).sse!
      const before = sse.slice(0, sse.indexOf('"finish_reason":"') - 1).lastIndexOf('\n\n')
      const bytes = before > 0 ? new TextEncoder().encode(sse.slice(0, before)).length : 40
      const answer = await ask(recording, `cut=${bytes}`)
      expect(answer.failure).toMatchObject({ kind: 'failed' })
    },
  )

  const errors = ours.filter(({ status }) => status !== 200)
  test.each(errors.map((recording) => [recording.name, recording] as const))(
    '%s is classified correctly',
    async (name, recording) => {
      const { failure } = await ask(recording)
      const kinds: Record<number, string> = {
        400: 'rejected',
        401: 'unauthorized',
        402: 'unauthorized',
        403: 'unauthorized',
        404: 'rejected',
        413: 'rejected',
        422: 'rejected',
        429: 'overloaded',
        500: 'failed',
        503: 'failed',
      }
      expect(failure?.kind).toBe(kinds[recording.status])
      expect(failure?.details.status).toBe(recording.status)
      expect(failure?.message).not.toMatch(/https?:|org[-_]\w{8}|user_|\*{3}|status \d/)
      expect(failure?.message.length).toBeGreaterThan(10)
      const wait = readRecording(name).headers['retry-after']
      if (wait) expect(failure?.details.retryAfterSeconds).toBe(Number(wait))
    },
  )

  test.each(errors.map((recording) => [recording.name, recording] as const))(
    '%s says whether waiting helps',
    async (name, recording) => {
      const never: Record<string, string> = {
        'openai-chat/error-429-insufficient-quota': 'account',
        'openai-chat/error-429-request-too-large-tpm': 'request',
      }
      expect((await ask(recording)).failure?.details.permanent).toBe(never[name])
    },
  )

  test('the particulars of errors', async () => {
    const failureOf = async (name: string) =>
      (await ask(ours.find((recording) => recording.name === name)!)).failure
    expect(await failureOf('openrouter/error-403-provider')).toMatchObject({
      message: 'Country, region, or territory not supported',
      details: { providerCode: 'unsupported_country_region_territory' },
    })
    expect((await failureOf('deepseek/error-400-context'))?.details.providerCode).toBe(
      'context_length_exceeded',
    )
    expect(
      (await failureOf('other-openai-compatible/cerebras-429-flat-error'))?.details,
    ).toMatchObject({ retryAfterSeconds: 1, providerCode: 'request_quota_exceeded' })
    expect(
      await failureOf('other-openai-compatible/azure-prompt-filter-error-in-200'),
    ).toMatchObject({ kind: 'rejected', details: { providerCode: 'content_filter' } })
    expect(await failureOf('groq/stream-error-event')).toMatchObject({
      kind: 'rejected',
      details: { providerCode: 'tool_use_failed', status: 400 },
    })
    expect(await failureOf('openrouter/stream-mid-error')).toMatchObject({
      kind: 'rejected',
      message: 'Token limit reached',
    })
    expect(await failureOf('mistral/error-422-detail')).toMatchObject({
      message: expect.stringMatching(/^body\.messages\.0\.user\.content\.str: Input should be/),
    })
  })

  test('the request arrived as intended', async () => {
    await replay().forget()
    await ask(ours.find(({ name }) => name === 'openai-chat/stream-include-usage')!)
    const [seen] = await replay().requests()
    expect(seen).toMatchObject({
      method: 'POST',
      path: '/r/openai-chat/stream-include-usage/chat/completions',
      body: { model: 'model-9', stream: true, stream_options: { include_usage: true } },
      headers: { authorization: 'Bearer sk-secret-1234567890' },
    })
  })
})
