// Recorded answers of every other family, in the words of the Messages API: Anthropic's own client takes them whole, streamed in pieces of every size, and broken off anywhere.
import Anthropic from '@anthropic-ai/sdk'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ChatEvent, ChatEvents } from '#domain/chat.ts'
import type { Charge } from '#domain/ledger.ts'
import { toClientError, UpstreamFailure } from '#domain/upstream.ts'
import { completionTokens, NO_USAGE, promptTokens, type Usage } from '#domain/usage.ts'
import { MESSAGES } from '#http/surfaces/messages/index.ts'
import { aRequest } from '#test/support/nouns.ts'
import { type RecordedResponse, readRecording, recordings } from '#test/support/replay.ts'
import { surfaceRecordings } from '#test/support/surface-recordings.ts'
import { FULL } from '#test/support/tier.ts'
import { type Folded, fold } from '#test/upstream/fixtures.ts'
import { fromResponse as fromGemini } from '#upstream/gemini/from-response.ts'
import { startStream as startGemini } from '#upstream/gemini/from-stream.ts'
import { fromResponse as fromChat } from '#upstream/openai/from-response.ts'
import { startStream as startChat } from '#upstream/openai/from-stream.ts'
import { fromResponse as fromResponses } from '#upstream/openai/responses/from-response.ts'
import { startStream as startResponses } from '#upstream/openai/responses/from-stream.ts'
import { createSseReader } from '#upstream/sse.ts'
import type { Translation } from '#upstream/stream.ts'
import type { Translated } from '#upstream/whole-answer.ts'

const scrub = (text: string): string => text
const ORIGIN = { family: 'openai', provider: 'acme' } as const

interface Family {
  startStream(): Translation
  fromBody(body: unknown): Translated
}

const CHAT: Family = {
  startStream: () => startChat(scrub),
  fromBody: (body) => fromChat(body, scrub),
}
const GEMINI: Family = {
  startStream: () => startGemini(scrub),
  fromBody: (body) => fromGemini(body, scrub),
}
const RESPONSES: Family = {
  startStream: () => startResponses(scrub, ORIGIN),
  fromBody: (body) => fromResponses(body, '', scrub, ORIGIN),
}

interface Recorded {
  readonly name: string
  readonly family: Family
  readonly response: RecordedResponse
}

/** Answers that draw are none of this API, and those that are not finished are read by no one. */
const NONE =
  /image|audio|anthropic-messages|background|function-output|compaction|copilot|conversation$/

const chats: readonly Recorded[] = recordings()
  .filter(({ name, status }) => status === 200 && !NONE.test(name))
  .map(({ name, family }) => ({
    name,
    family: family === 'gemini' ? GEMINI : CHAT,
    response: readRecording(name),
  }))
const responses: readonly Recorded[] = surfaceRecordings('openai-responses')
  .filter(
    ({ name, path, response: { status } }) =>
      /\/responses$/.test(path) && status === 200 && !NONE.test(name),
  )
  .map(({ name, response }) => ({ name: `responses/${name}`, family: RESPONSES, response }))
const all = [...chats, ...responses]
const streams = all.filter(({ response }) => response.sse !== undefined)
const wholes = all.filter(({ response }) => response.body !== undefined)

interface Read {
  readonly batches: readonly ChatEvents[]
  readonly failure: unknown
}

/** The batches of a stream that arrives in pieces of so many bytes, and ends after `most` of them. */
function read({ family, response }: Recorded, size: number, most = Infinity): Read {
  const bytes = Buffer.from(response.sse ?? '').subarray(0, most)
  const translation = family.startStream()
  const reader = createSseReader()
  const batches: ChatEvent[][] = []
  const take = (step: (batch: ChatEvent[]) => unknown): boolean => {
    const batch: ChatEvent[] = []
    try {
      return step(batch) === true
    } finally {
      if (batch.length > 0) batches.push(batch)
    }
  }
  try {
    for (let at = 0; at < bytes.length; at += size) {
      const piece = bytes.subarray(at, at + size)
      if (take((batch) => translation.take(reader.feed(piece), batch))) {
        return { batches, failure: null }
      }
    }
    if (!take((batch) => translation.take(reader.end(), batch))) {
      take((batch) => translation.close(batch))
    }
    return { batches, failure: null }
  } catch (failure) {
    return { batches, failure }
  }
}

const HEAD = {
  ...{ id: 'gen-1', createdUnixSeconds: 1, model: 'acme/small', provider: 'acme' },
  isNative: false,
}
/** A client that asks for everything that can be shown. */
const WORK = aRequest({ includeUsage: false, reasoning: { native: { type: 'enabled' } } })

const chargeOf = (usage: Usage | null): Charge => ({ usage: usage ?? NO_USAGE }) as Charge

/** As the gateway sends it. */
function render({ batches, failure }: Read): string {
  const renderer = MESSAGES.startStream(HEAD, WORK)
  const said = batches.map((batch) => renderer.events(batch)).join('')
  if (failure === null) return said + renderer.end(chargeOf(fold(batches.flat()).usage))
  if (!(failure instanceof UpstreamFailure)) throw failure
  return said + renderer.error(toClientError(failure, 'acme', true), 'req_1') + renderer.end(null)
}

const answering = (body: string | ReadableStream, type: string): Anthropic =>
  new Anthropic({
    apiKey: 'x',
    maxRetries: 0,
    fetch: async () => new Response(body, { headers: { 'content-type': type } }) as never,
  })

const ASKED = { model: 'm', max_tokens: 9, messages: [{ role: 'user' as const, content: 'x' }] }

/** What the stock client makes of a stream whose pieces have so many bytes. */
function heard(frames: string, size = Infinity): Promise<Anthropic.Message> {
  const bytes = new TextEncoder().encode(frames)
  let at = 0
  const body = new ReadableStream({
    pull(to) {
      if (at >= bytes.length) return to.close()
      to.enqueue(bytes.subarray(at, Math.min(at + size, bytes.length)))
      at += size
    },
  })
  return answering(body, 'text/event-stream').messages.stream(ASKED).finalMessage()
}

const REASONS = { stop: 'end_turn', length: 'max_tokens', content_filter: 'refusal' } as const

/** The message says what the provider has said. */
function compare({ content, stop_reason, usage }: Anthropic.Message, said: Folded): void {
  const told = (type: 'text' | 'thinking'): string =>
    content.map((block) => (block.type === type ? (block as never)[type] : '')).join('')
  expect(told('text').trim()).toBe((said.text + said.refusal).trim())
  expect(told('thinking').trim()).toBe(said.reasoning.trim())
  const calls = content.filter((block) => block.type === 'tool_use')
  expect(calls.map(({ name, input }) => [name, input])).toEqual(
    said.toolCalls.map(({ name, arguments: text }) => [
      name,
      text === '' || text.startsWith('{') ? JSON.parse(text || '{}') : { input: text },
    ]),
  )
  const { reason = 'stop' } = said.finish[0] ?? {}
  expect(stop_reason).toBe(
    reason === 'stop' || reason === 'tool_calls'
      ? calls.length > 0
        ? 'tool_use'
        : said.refusal === ''
          ? 'end_turn'
          : 'refusal'
      : REASONS[reason as keyof typeof REASONS],
  )
  const used = said.usage ?? NO_USAGE
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = usage
  expect(input_tokens + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0)).toBe(
    promptTokens(used),
  )
  expect(usage.output_tokens).toBe(completionTokens(used))
}

const named = (list: readonly Recorded[]) => list.map((one) => [one.name, one] as const)

describe.skipIf(all.length === 0)('recorded answers', () => {
  test('are many', () => {
    expect(streams.length).toBeGreaterThan(30)
    expect(wholes.length).toBeGreaterThan(40)
  })

  test.each(named(streams))('%s, streamed in pieces of every size', async (_, one) => {
    const whole = read(one, Number.POSITIVE_INFINITY)
    const { failure } = whole
    if (failure !== null) {
      await expect(heard(render(whole))).rejects.toBeInstanceOf(Anthropic.APIError)
      return
    }
    compare(await heard(render(whole)), fold(whole.batches.flat()))
    const inBytes = render(read(one, 1))
    compare(await heard(inBytes, FULL ? 1 : 7), fold(whole.batches.flat()))
    expect(inBytes.match(/event: message_start/g)).toHaveLength(1)
  })

  test.each(named(wholes))('%s, whole', async (_, one) => {
    const { events, failure } = one.family.fromBody(one.response.body)
    // A failure has its own status.
    if (failure !== null) return
    const fold_ = MESSAGES.startWhole(WORK)
    fold_.note(events)
    const said = fold(events)
    const body = fold_.render(HEAD, chargeOf(said.usage)).join('')
    compare(await answering(body, 'application/json').messages.create(ASKED), said)
  })

  test.each(named(streams))('%s, broken off anywhere, ends with an error', async (_, one) => {
    const length = Buffer.byteLength(one.response.sse ?? '')
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: length - 1 }), async (most) => {
        const cut = read(one, Number.POSITIVE_INFINITY, most)
        // All that was missing is what no reader needs.
        if (cut.failure === null) return
        const frames = render(cut)
        expect(frames).toMatch(/event: error\ndata: \{.*\}\n\n$/)
        expect(frames).not.toContain('message_stop')
        await expect(heard(frames)).rejects.toBeInstanceOf(Anthropic.APIError)
      }),
      { numRuns: FULL ? 10 : 3, seed: 20_261_124 },
    )
  })
})
