// Usage of the Messages API: what was written for an hour, the vendor's tools, and steps that are added up.
import { expect, test } from 'vitest'
import { NO_USAGE } from '#domain/usage.ts'
import { fromResponse } from '#upstream/anthropic/from-response.ts'
import { fromUsage, toUsageEvent } from '#upstream/anthropic/from-usage.ts'

test('writes for an hour are counted apart', () => {
  const usage = {
    input_tokens: 1,
    output_tokens: 2,
    cache_creation_input_tokens: 30,
    cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
  }
  const read = fromUsage(usage)
  expect(read).toMatchObject({ cacheWriteTokens: 10, cacheWrite1hTokens: 20 })
  // The last event of a stream repeats the sum alone.
  const later = { output_tokens: 9, cache_creation_input_tokens: 30 }
  expect(fromUsage(later, read)).toMatchObject({ cacheWriteTokens: 10, cacheWrite1hTokens: 20 })
})

test('a later count of the prompt replaces the first, zeros and all; zeros alone do not', () => {
  const first = { input_tokens: 100, output_tokens: 1, cache_creation_input_tokens: 7 }
  const prompt = { input_tokens: 0, cache_read_input_tokens: 107, cache_creation_input_tokens: 0 }
  const last = fromUsage({ ...prompt, output_tokens: 20 }, fromUsage(first))
  expect(last).toEqual({ ...NO_USAGE, cacheReadTokens: 107, outputTokens: 20 })
  const zeros = { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 20 }
  const kept = { ...NO_USAGE, inputTokens: 100, cacheWriteTokens: 7, outputTokens: 20 }
  expect(fromUsage(zeros, fromUsage(first))).toEqual(kept)
  // What it leaves out stays.
  expect(fromUsage({ input_tokens: 100, output_tokens: 20 }, fromUsage(first))).toEqual(kept)
})

test('T17: writes for an hour above all writes are ignored; alone they are all', () => {
  const read = (cache_creation_input_tokens?: number) =>
    fromUsage({
      ...{ input_tokens: 1, output_tokens: 2, cache_creation_input_tokens },
      cache_creation: { ephemeral_1h_input_tokens: 31 },
    })
  expect(read(30)).toMatchObject({ cacheWriteTokens: 30, cacheWrite1hTokens: 0 })
  expect(read()).toMatchObject({ cacheWriteTokens: 0, cacheWrite1hTokens: 31 })
})

test('parts of the writes without their sum are added up', () => {
  const parts = { ephemeral_5m_input_tokens: 7, ephemeral_1h_input_tokens: 31 }
  const usage = { input_tokens: 1, output_tokens: 2, cache_creation: parts }
  const both = { cacheWriteTokens: 7, cacheWrite1hTokens: 31 }
  expect(fromUsage(usage)).toMatchObject(both)
  expect(fromUsage({ ...usage, iterations: [usage] })).toMatchObject(both)
})

test('calls of tools are those that are stated; where none are, nobody has counted yet', () => {
  const stated = { input_tokens: 1, output_tokens: 2 }
  expect(fromUsage(stated)?.serverCalls).toBeNull()
  const server_tool_use = { web_search_requests: 3, web_fetch_requests: 0, odd: 'x' }
  const read = fromUsage({ ...stated, server_tool_use })
  expect(read?.serverCalls).toEqual({ web_search: 3 })
  expect(fromUsage(stated, read)?.serverCalls).toEqual({ web_search: 3 })
})

test('steps are added up, each with its writes', () => {
  const step = {
    input_tokens: 10,
    output_tokens: 5,
    cache_read_input_tokens: 3,
    cache_creation_input_tokens: 4,
    cache_creation: { ephemeral_1h_input_tokens: 1 },
  }
  expect(fromUsage({ input_tokens: 10, output_tokens: 5, iterations: [step, step] })).toEqual({
    ...NO_USAGE,
    inputTokens: 20,
    outputTokens: 10,
    cacheReadTokens: 6,
    cacheWriteTokens: 6,
    cacheWrite1hTokens: 2,
    serverCalls: null,
  })
  expect(fromUsage({ input_tokens: 1, iterations: [{ output_tokens: -1 }] })).toBeUndefined()
})

test('speed and region are passed on, and writes of unknown length are marked', () => {
  const stated = {
    input_tokens: 1,
    output_tokens: 1,
    cache_creation_input_tokens: 4,
    speed: 'fast',
    inference_geo: 'not_available',
  }
  const usage = fromUsage(stated) ?? NO_USAGE
  expect(toUsageEvent(stated, usage, false)).toEqual({
    type: 'usage',
    usage,
    served: { speed: 'fast' },
    isUnsplit: true,
  })
})

test.each([
  [{ input_tokens: 0, output_tokens: 5 }, false],
  [{ input_tokens: 5, output_tokens: 0 }, false],
  [{ cache_read_input_tokens: 5, output_tokens: 5 }, false],
  [{ iterations: [{ input_tokens: 5, output_tokens: 5 }] }, false],
  [{ output_tokens: 5 }, true],
  [{ input_tokens: 5 }, true],
  [{ input_tokens: '5', output_tokens: 5 }, true],
  [{ cache_read_input_tokens: 0, output_tokens: 5 }, true],
  [{ input_tokens: 5, iterations: [{ output_tokens: 5 }] }, true],
])('%j of a whole answer lacks a side: %j', (usage, isPartial) => {
  const events = fromResponse({ content: [{ type: 'text', text: 'a' }], usage }, (text) => text)
  const counts = events.filter((event) => event.type === 'usage')
  expect(counts.map(({ partial = false }) => partial)).toEqual([isPartial])
})
