// Every token is counted in exactly one class, whatever the provider calls it.
import { describe, expect, test } from 'vitest'
import { parseExactly } from '#domain/json.ts'
import { completionTokens, NO_USAGE, promptTokens } from '#domain/usage.ts'
import { fromUsage, toPromptEvent, toUsageEvent } from '#upstream/openai/from-usage.ts'

test('cached tokens are part of the prompt', () => {
  const usage = fromUsage({
    prompt_tokens: 1144,
    completion_tokens: 2,
    total_tokens: 1146,
    prompt_tokens_details: { cached_tokens: 1024 },
  })
  expect(usage).toEqual({
    ...NO_USAGE,
    inputTokens: 120,
    cacheReadTokens: 1024,
    outputTokens: 2,
  })
})

test('so are tokens just written to a cache', () => {
  const usage = fromUsage({
    prompt_tokens: 2649,
    completion_tokens: 100,
    prompt_tokens_details: { cached_tokens: 2569, cache_write_tokens: 79 },
  })
  expect(usage).toMatchObject({ inputTokens: 1, cacheReadTokens: 2569, cacheWriteTokens: 79 })
})

test.each([
  ['server_tool_use', { web_search_requests: 2, tool_calls_executed: 3 }],
  ['server_side_tool_usage_details', { web_search_calls: 2, x_search_calls: 0 }],
])('calls of the vendor’s tools are those that it states: %s', (name, stated) => {
  const counted = fromUsage({ prompt_tokens: 1, completion_tokens: 1, [name]: stated })
  expect(counted?.serverCalls).toEqual({ web_search: 2 })
})

const WRITES = { prompt_tokens: 100, completion_tokens: 1 }
const written = (details: object) => {
  const stated = { ...WRITES, prompt_tokens_details: { cached_tokens: 10, ...details } }
  return toUsageEvent(stated)
}

test.each([
  ['Alibaba', { cache_creation_input_tokens: 80, cache_type: 'ephemeral' }],
  ['LiteLLM', { cache_creation_tokens: 80 }],
])('%s has words of its own for tokens written to a cache', (_, details) => {
  const usage = { inputTokens: 10, cacheReadTokens: 10, cacheWriteTokens: 80 }
  expect(written(details)).toMatchObject({ usage, isUnsplit: true })
})

test.each([
  ['another gateway of this kind', { cache_write_tokens: 80, cache_write_1h_tokens: 30 }],
  [
    'Alibaba',
    { cache_creation_input_tokens: 80, cache_creation: { ephemeral_1h_input_tokens: 30 } },
  ],
  [
    'LiteLLM',
    { cache_creation_tokens: 80, cache_creation_token_details: { ephemeral_1h_input_tokens: 30 } },
  ],
])('%s says what of it was written for an hour', (_, details) => {
  const usage = { inputTokens: 10, cacheWriteTokens: 50, cacheWrite1hTokens: 30 }
  expect(written(details)).toMatchObject({ usage })
  expect(written(details)).not.toHaveProperty('isUnsplit')
})

test('DeepSeek names its cache hits itself', () => {
  const usage = fromUsage({ prompt_tokens: 12, completion_tokens: 1, prompt_cache_hit_tokens: 10 })
  expect(usage).toMatchObject({ inputTokens: 2, cacheReadTokens: 10 })
})

test('reasoning is outside the completion when only then the total adds up', () => {
  const details = { completion_tokens_details: { reasoning_tokens: 350 } }
  const outside = { prompt_tokens: 288, completion_tokens: 27, total_tokens: 665, ...details }
  expect(fromUsage(outside)).toMatchObject({ outputTokens: 377, reasoningTokens: 350 })
  const inside = { prompt_tokens: 288, completion_tokens: 377, total_tokens: 665, ...details }
  expect(fromUsage(inside)).toMatchObject({ outputTokens: 377, reasoningTokens: 350 })
  const silent = { prompt_tokens: 288, completion_tokens: 377, ...details }
  expect(fromUsage(silent)).toMatchObject({ outputTokens: 377, reasoningTokens: 350 })
})

describe("Perplexity's research, whose total has neither what it read nor what it thought", () => {
  const research = {
    prompt_tokens: 33,
    completion_tokens: 11_395,
    total_tokens: 11_428,
    citation_tokens: 19_028,
    num_search_queries: 21,
    reasoning_tokens: 193_947,
  }
  const cost = { output_tokens_cost: 0.091, search_queries_cost: 0.105, total_cost: 0.816 }
  const counted = {
    inputTokens: 33 + 19_028,
    outputTokens: 11_395 + 193_947,
    reasoningTokens: 193_947,
    serverCalls: { web_search: 21 },
  }

  test.each([
    [
      'by its cost',
      { cost: { ...cost, citation_tokens_cost: 0.038, reasoning_tokens_cost: 0.582 } },
    ],
    ['while its cost is still zero', { cost: { total_cost: 0 } }],
    ['without a cost', {}],
  ])('is counted as billed, %s', (_, more) => {
    expect(fromUsage({ ...research, ...more })).toMatchObject(counted)
  })

  test.each([
    {},
    { citation_tokens_cost: 0, reasoning_tokens_cost: 0 },
    { citation_tokens_cost: '0.00', reasoning_tokens_cost: '0.00' },
  ])('is not counted where its cost says that it is not billed: %j', (unbilled) => {
    const found = fromUsage({ ...research, cost: { ...cost, ...unbilled } })
    expect(found).toMatchObject({ inputTokens: 33, outputTokens: 11_395, reasoningTokens: 11_395 })
  })

  test('other models of it read unbilled, and other servers think within the completion', () => {
    const { reasoning_tokens: _, ...plain } = research
    expect(fromUsage(plain)).toMatchObject({ inputTokens: 33, outputTokens: 11_395 })
    const elsewhere = { prompt_tokens: 3, completion_tokens: 9, reasoning_tokens: 4 }
    expect(fromUsage(elsewhere)).toMatchObject({ outputTokens: 9, reasoningTokens: 4 })
  })
})

test('image tokens leave the text tokens, in both dialects', () => {
  const chat = {
    prompt_tokens: 4,
    completion_tokens: 1300,
    completion_tokens_details: { image_tokens: 1290, reasoning_tokens: 0 },
  }
  expect(fromUsage(chat)).toMatchObject({ outputTokens: 10, imageOutputTokens: 1290 })
  const images = {
    input_tokens: 10,
    output_tokens: 4160,
    total_tokens: 4170,
    output_tokens_details: { image_tokens: 4160, text_tokens: 0 },
  }
  expect(fromUsage(images)).toMatchObject({
    inputTokens: 10,
    outputTokens: 0,
    imageOutputTokens: 4160,
  })
})

test('tokens of images leave the prompt’s text, in both dialects', () => {
  const images = {
    input_tokens: 362,
    input_tokens_details: { text_tokens: 39, image_tokens: 323 },
    output_tokens: 272,
  }
  expect(fromUsage(images)).toMatchObject({ inputTokens: 39, imageInputTokens: 323 })
  const chat = (cached: number, written = 0) =>
    fromUsage({
      prompt_tokens: 1_000,
      completion_tokens: 1,
      prompt_tokens_details: {
        image_tokens: 800,
        cached_tokens: cached,
        cache_write_tokens: written,
      },
    })
  expect(chat(0)).toMatchObject({ inputTokens: 200, imageInputTokens: 800 })
  // What is cached is text first.
  expect(chat(150)).toMatchObject({ inputTokens: 50, cacheReadTokens: 150, imageInputTokens: 800 })
  expect(chat(500)).toMatchObject({ inputTokens: 0, cacheReadTokens: 500, imageInputTokens: 500 })
  expect(chat(500, 450)).toMatchObject({ inputTokens: 0, imageInputTokens: 50 })
  expect(promptTokens(chat(500, 450)!)).toBe(1_000)
  const wild = fromUsage({ prompt_tokens: 5, prompt_tokens_details: { image_tokens: 600 } })
  expect(wild).toMatchObject({ inputTokens: 5, imageInputTokens: 0 })
})

test('tokens of the total beyond prompt and completion are unnamed reasoning', () => {
  const counts = { prompt_tokens: 20, completion_tokens: 198, total_tokens: 623 }
  expect(fromUsage(counts)).toMatchObject({ outputTokens: 603, reasoningTokens: 405 })
  const named = { completion_tokens_details: { reasoning_tokens: 0 } }
  expect(fromUsage({ ...counts, ...named })).toMatchObject({ outputTokens: 198 })
})

test('zero is a count, a missing field is not', () => {
  expect(fromUsage({ prompt_tokens: 0, completion_tokens: 0 })).toEqual(NO_USAGE)
  for (const silence of [null, undefined, {}, [], 'many', 7, { prompt_tokens: '12' }]) {
    expect(fromUsage(silence)).toBeUndefined()
  }
})

test('a total with one side gives the other, and alone none: of a vector or a ranking it is the prompt', () => {
  expect(fromUsage({ total_tokens: 30 })).toBeUndefined()
  expect(toPromptEvent({ total_tokens: 30 })).toEqual({
    type: 'usage',
    usage: { ...NO_USAGE, inputTokens: 30 },
  })
  expect(fromUsage({ total_tokens: 30, prompt_tokens: 10 })).toMatchObject({
    inputTokens: 10,
    outputTokens: 20,
  })
  expect(fromUsage({ total_tokens: 30, completion_tokens: 10 })).toMatchObject({
    inputTokens: 20,
    outputTokens: 10,
  })
})

test.each([
  [{ prompt_tokens: 7 }, true],
  [{ output_tokens: 7 }, true],
  [{ prompt_tokens: 7, completion_tokens: null, cost: 0.001 }, true],
  [{ prompt_tokens: 7, total_tokens: 9 }, undefined],
  [{ total_tokens: 9 }, undefined],
  [{ input_tokens: 0, output_tokens: 0 }, undefined],
])('a count with a missing side is partial: %j', (counts, partial) => {
  expect(toUsageEvent(counts)?.partial).toBe(partial)
})

test('T17: no count is negative or absurd, and no class is larger than the total', () => {
  const long = (parseExactly('[9007199254740993]') as readonly unknown[])[0]
  for (const impossible of [-5, 1e300, 1_000_000_001, Number.POSITIVE_INFINITY, Number.NaN, long]) {
    for (const name of ['prompt_tokens', 'completion_tokens', 'total_tokens']) {
      const counts = { prompt_tokens: 7, completion_tokens: 8, [name]: impossible }
      expect(fromUsage(counts)).toBeUndefined()
    }
  }
  const usage = fromUsage({
    prompt_tokens: 5,
    completion_tokens: 1_000_000_000,
    prompt_tokens_details: { cached_tokens: 99, cache_write_tokens: 99, image_tokens: -1 },
    completion_tokens_details: { reasoning_tokens: 2.4, image_tokens: Number.POSITIVE_INFINITY },
  })!
  expect(promptTokens(usage)).toBe(5)
  expect(completionTokens(usage)).toBe(1_000_000_000)
  const { serverCalls, ...counts } = usage
  expect(serverCalls).toBeNull()
  for (const count of Object.values(counts)) {
    expect(Number.isInteger(count) && count >= 0 && count <= 1_000_000_000).toBe(true)
  }
})

test('T17: a part above its whole is ignored, and the whole is charged as if it were not there', () => {
  const prompt = (details: object) =>
    fromUsage({ prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: details })
  const plain = prompt({})
  expect(plain).toMatchObject({ inputTokens: 100, cacheReadTokens: 0, outputTokens: 20 })
  expect(prompt({ cached_tokens: 101 })).toEqual(plain)
  expect(prompt({ image_tokens: 101 })).toEqual(plain)
  expect(prompt({ cache_write_tokens: 101 })).toEqual(plain)
  expect(prompt({ cached_tokens: 100 })).toMatchObject({ inputTokens: 0, cacheReadTokens: 100 })
  // Together they are more than the prompt.
  expect(prompt({ cached_tokens: 60, cache_write_tokens: 41 })).toEqual(
    prompt({ cached_tokens: 60 }),
  )
  for (const hits of [{ prompt_cache_hit_tokens: 101 }, { cached_tokens: 101 }]) {
    expect(fromUsage({ prompt_tokens: 100, completion_tokens: 20, ...hits })).toEqual(plain)
  }
  const drawn = { completion_tokens_details: { image_tokens: 21 } }
  expect(fromUsage({ prompt_tokens: 100, completion_tokens: 20, ...drawn })).toEqual(plain)
})
