// Every token is counted in exactly one class, wherever Gemini reports it.
import { expect, test } from 'vitest'
import { completionTokens, NO_USAGE, promptTokens } from '#domain/usage.ts'
import { fromResponse } from '#upstream/gemini/from-response.ts'
import { fromUsage } from '#upstream/gemini/from-usage.ts'

test('cached tokens are part of the prompt, thinking is not part of the candidates', () => {
  const usage = fromUsage({
    promptTokenCount: 9622,
    cachedContentTokenCount: 9609,
    candidatesTokenCount: 35,
    thoughtsTokenCount: 136,
    totalTokenCount: 9793,
  })!
  expect(usage).toEqual({
    ...NO_USAGE,
    inputTokens: 13,
    cacheReadTokens: 9609,
    outputTokens: 171,
    reasoningTokens: 136,
  })
  expect(promptTokens(usage) + completionTokens(usage)).toBe(9793)
})

test('tokens of tool prompts are input, in addition to the prompt', () => {
  expect(
    fromUsage({
      promptTokenCount: 10,
      toolUsePromptTokenCount: 4,
      candidatesTokenCount: 1,
      totalTokenCount: 15,
    }),
  ).toMatchObject({ inputTokens: 14, outputTokens: 1 })
})

test('image tokens are subtracted from the text tokens', () => {
  expect(
    fromUsage({
      promptTokenCount: 4,
      candidatesTokenCount: 1300,
      candidatesTokensDetails: [
        { modality: 'TEXT', tokenCount: 10 },
        { modality: 'IMAGE', tokenCount: 1290 },
      ],
    }),
  ).toMatchObject({ outputTokens: 10, imageOutputTokens: 1290 })
})

test('missing candidate tokens are computed from the total', () => {
  expect(
    fromUsage({ promptTokenCount: 15, thoughtsTokenCount: 2, totalTokenCount: 17 }),
  ).toMatchObject({ inputTokens: 15, outputTokens: 2, reasoningTokens: 2 })
  expect(fromUsage({ promptTokenCount: 15, totalTokenCount: 20 })).toMatchObject({
    outputTokens: 5,
  })
  expect(fromUsage({ promptTokenCount: 15, totalTokenCount: 3 })).toMatchObject({ outputTokens: 0 })
})

test('zero is a count, a missing field is not', () => {
  expect(fromUsage({ promptTokenCount: 0 })).toEqual(NO_USAGE)
  for (const silence of [null, undefined, {}, [], 'many', 7, { promptTokenCount: '12' }]) {
    expect(fromUsage(silence)).toBeUndefined()
  }
})

test('T17: no count is negative or absurd, and no class is larger than the total', () => {
  for (const impossible of [-5, 1e300, 1_000_000_001, Number.NaN]) {
    for (const name of ['promptTokenCount', 'candidatesTokenCount', 'thoughtsTokenCount']) {
      const counts = { promptTokenCount: 7, candidatesTokenCount: 8, [name]: impossible }
      expect(fromUsage(counts)).toBeUndefined()
    }
  }
  const usage = fromUsage({
    promptTokenCount: 5,
    cachedContentTokenCount: 40,
    candidatesTokenCount: 1_000_000_000,
    thoughtsTokenCount: 2.4,
    candidatesTokensDetails: [null, { modality: 'IMAGE', tokenCount: 1_000_000_000 }],
  })!
  expect(promptTokens(usage)).toBe(5)
  expect(usage.imageOutputTokens).toBe(1_000_000_000)
  for (const count of Object.values({ ...usage, serverCalls: 0 })) {
    expect(Number.isInteger(count) && count >= 0 && count <= 1_000_000_000).toBe(true)
  }
})

test('T17: a part above its whole is ignored, and the whole is charged as if it were not there', () => {
  const count = (parts: object) =>
    fromUsage({ promptTokenCount: 100, candidatesTokenCount: 20, ...parts })
  const plain = count({})
  const images = [{ modality: 'IMAGE', tokenCount: 101 }]
  expect(plain).toMatchObject({ inputTokens: 100, cacheReadTokens: 0, outputTokens: 20 })
  expect(count({ cachedContentTokenCount: 101 })).toEqual(plain)
  expect(count({ promptTokensDetails: images })).toEqual(plain)
  expect(count({ candidatesTokensDetails: images })).toEqual(plain)
})

test('image input tokens are subtracted from the prompt’s text, and cached tokens count as text first', () => {
  const count = (cachedContentTokenCount: number) =>
    fromUsage({
      promptTokenCount: 264,
      candidatesTokenCount: 8,
      toolUsePromptTokenCount: 5,
      cachedContentTokenCount,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 6 },
        { modality: 'IMAGE', tokenCount: 129 },
        { modality: 'IMAGE', tokenCount: 129 },
      ],
    })
  expect(count(0)).toMatchObject({ inputTokens: 11, imageInputTokens: 258 })
  expect(count(200)).toMatchObject({
    inputTokens: 5,
    cacheReadTokens: 200,
    imageInputTokens: 64,
  })
})

test('a missing prompt is computed from the total', () => {
  expect(fromUsage({ totalTokenCount: 600, candidatesTokenCount: 90 })).toMatchObject({
    inputTokens: 510,
    outputTokens: 90,
  })
})

test('a total alone does not say what it counts, also beside thoughts', () => {
  expect(fromUsage({ totalTokenCount: 600 })).toBeUndefined()
  expect(fromUsage({ totalTokenCount: 600, thoughtsTokenCount: 9 })).toBeUndefined()
})

test.each([
  [{ promptTokenCount: 5, candidatesTokenCount: 0 }, false],
  [{ promptTokenCount: 0, thoughtsTokenCount: 5 }, false],
  [{ promptTokenCount: 5, totalTokenCount: 5 }, false],
  [{ promptTokenCount: 5 }, true],
  [{ candidatesTokenCount: 5 }, true],
  [{ promptTokenCount: '5', candidatesTokenCount: 5 }, true],
])('%j lacks a side: %j', (usageMetadata, isPartial) => {
  const candidates = [{ content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' }]
  const { events } = fromResponse({ candidates, usageMetadata }, (text) => text)
  const counts = events.filter((event) => event.type === 'usage')
  expect(counts.map(({ partial = false }) => partial)).toEqual([isPartial])
  const blocked = { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata }
  const refused = fromResponse(blocked, (text) => text).events
  expect(refused.some((event) => event.type === 'usage' && event.partial)).toBe(false)
})
