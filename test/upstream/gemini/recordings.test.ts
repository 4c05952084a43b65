// Recorded answers of Google, read by the whole upstream and by a second, naive reader, and compared.
import { describe, expect, test } from 'vitest'
import { completionTokens, promptTokens } from '#domain/usage.ts'
import { type RecordedResponse, readRecording, recordings } from '#test/support/replay.ts'
import type { Folded } from '../fixtures.ts'
import { serveRecordings, testEveryDress } from '../recorded.ts'

const ours = recordings().filter(({ family }) => family === 'gemini')

// biome-ignore lint/suspicious/noExplicitAny: the second reading is meant to be naive.
type Wire = any

/** The chunks of a stream, or the one body, without any of the gateway's own code. */
const rawChunks = ({ sse, body }: RecordedResponse): readonly Wire[] =>
  sse === undefined
    ? [body]
    : sse
        .split(/\r\n|\n|\r/)
        .filter((line) => line.startsWith('data: {'))
        .map((line) => JSON.parse(line.slice(6)))

function expected(response: RecordedResponse) {
  const wire = rawChunks(response)
  const candidates = wire.flatMap((one) => one.candidates ?? [])
  const parts = candidates.flatMap((one) => one.content?.parts ?? [])
  const calls = parts.filter((part) => part.functionCall)
  const word = candidates.map((one) => one.finishReason).find((said) => said)
  const spoken: Record<string, string> = {
    STOP: calls.length > 0 ? 'tool_calls' : 'stop',
    MAX_TOKENS: 'length',
    SAFETY: 'content_filter',
  }
  return {
    text: parts.map((part) => (part.thought ? '' : (part.text ?? ''))).join(''),
    reasoning: parts.map((part) => (part.thought ? part.text : '')).join(''),
    toolCalls: calls.map((part) => ({
      name: part.functionCall.name,
      arguments: JSON.stringify(part.functionCall.args),
    })),
    images: parts
      .filter((part) => part.inlineData)
      .map((part) => `data:${part.inlineData.mimeType};base64,${part.inlineData.data}`),
    signatures: parts.flatMap((part) => part.thoughtSignature ?? []),
    finish:
      word === undefined
        ? { reason: 'content_filter', native: wire[0].promptFeedback.blockReason }
        : { reason: spoken[word], native: word },
    usage: wire.map((one) => one.usageMetadata).findLast((usage) => usage),
  }
}

function compare(answer: Folded, response: RecordedResponse): void {
  const { finish, usage, signatures, ...content } = expected(response)
  expect(answer.failure).toBeNull()
  expect(answer).toMatchObject(content)
  expect(answer.finish).toEqual([{ choice: 0, ...finish }])
  const details = (answer.messageFields['reasoning_details'] ?? []) as { data: string }[]
  expect(details.map(({ data }) => data)).toEqual(signatures)
  for (const { id } of answer.toolCalls) expect(id).toMatch(/^call_[0-9a-f]{32}$/)

  const read = answer.usage!
  expect(promptTokens(read)).toBe(usage.promptTokenCount ?? 0)
  // Prompt, candidates and thoughts together are the total.
  expect(promptTokens(read) + completionTokens(read)).toBe(usage.totalTokenCount ?? 0)
  expect(read.cacheReadTokens).toBe(usage.cachedContentTokenCount ?? 0)
  expect(read.reasoningTokens).toBe(usage.thoughtsTokenCount ?? 0)
  const images = (usage.candidatesTokensDetails ?? []).filter((of: Wire) => of.modality === 'IMAGE')
  expect(read.imageOutputTokens).toBe(images[0]?.tokenCount ?? 0)
}

describe.skipIf(ours.length === 0)('recorded traffic', () => {
  const { ask, replay } = serveRecordings(() => 'google', 'AIzaSecretSecret12345')

  /** Failures are told by what they say; an id made here is another one each time. */
  const plain = ({ failure, toolCalls, messageFields, ...answer }: Folded) => ({
    ...answer,
    toolCalls: toolCalls.map(({ id: _, ...rest }) => rest),
    details: ((messageFields['reasoning_details'] ?? []) as object[]).map((detail) => ({
      ...detail,
      id: null,
    })),
    failure: failure && { kind: failure.kind, message: failure.message, details: failure.details },
  })

  const good = ours.filter(({ status }) => status === 200)
  test('all of them are here', () => {
    expect(good).toHaveLength(13)
    expect(ours).toHaveLength(18)
  })

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
      const bytes = new TextEncoder().encode(sse.slice(0, sse.indexOf('"finishReason"'))).length
      const answer = await ask(recording, `cut=${bytes}`)
      expect(answer.failure).toMatchObject({ kind: 'failed' })
      expect(answer.finish).toEqual([])
    },
  )

  test('a whole answer that breaks off is a failure', async () => {
    const recording = good.find(({ name }) => name === 'gemini/plain-text')!
    const { failure, text } = await ask(recording, 'cut=120')
    expect({ kind: failure?.kind, text }).toEqual({ kind: 'failed', text: '' })
  })

  const errors = ours.filter(({ status }) => status !== 200)
  test.each(errors.map((recording) => [recording.name, recording] as const))(
    '%s is classified correctly',
    async (name, recording) => {
      const { failure, text, usage } = await ask(recording)
      const meant: Record<string, object> = {
        // The operator's key: a 400 that is no fault of the caller's.
        'gemini/error-400-api-key': { kind: 'unauthorized', providerCode: 'API_KEY_INVALID' },
        'gemini/error-403': { kind: 'unauthorized', providerCode: 'PERMISSION_DENIED' },
        'gemini/error-404-stream': { kind: 'rejected', providerCode: 'NOT_FOUND' },
        'gemini/error-429-retryinfo': {
          kind: 'overloaded',
          providerCode: 'RESOURCE_EXHAUSTED',
          retryAfterSeconds: 48,
        },
        'gemini/error-503-overloaded': { kind: 'failed', providerCode: 'UNAVAILABLE' },
      }
      const { kind, details } = failure!
      expect({ kind, ...details }).toEqual({ ...meant[name], status: recording.status })
      expect({ text, usage }).toEqual({ text: '', usage: null })
      expect(failure?.message).not.toMatch(/https?:|AIza|status \d/)
      expect(failure?.message.length).toBeGreaterThan(10)
    },
  )

  test('the request arrived at the configured URL', async () => {
    await replay().forget()
    await ask(ours.find(({ name }) => name === 'gemini/plain-text')!)
    await ask(ours.find(({ name }) => name === 'gemini/stream-thinking')!)
    const [whole, stream] = await replay().requests()
    expect(whole).toMatchObject({
      method: 'POST',
      path: '/r/gemini/plain-text/models/model-9:generateContent',
      headers: { 'x-goog-api-key': 'AIzaSecretSecret12345' },
      body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    })
    expect(whole?.headers['authorization']).toBeUndefined()
    expect(stream?.path).toBe(
      '/r/gemini/stream-thinking/models/model-9:streamGenerateContent?alt=sse',
    )
  })
})
