// The thinking budget of a request, as far as its provider's wire has one: what is held must leave room for it.
import { expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import type { Family } from '#domain/provider.ts'
import { type ThinkingBudget, thinkingBudgetOf } from '#domain/thinking.ts'
import { readReasoning } from '#http/surfaces/chat/read-request.ts'

const stated = (tokens: number): ThinkingBudget => ({ tokens, isStated: true })
const effort = (tokens: number): ThinkingBudget => ({ tokens, isStated: false })

const HAIKU = 'claude-haiku-4-5'
const FLASH = 'gemini-2.5-flash'

test.each<[Family, string, JsonObject, ThinkingBudget | null]>([
  ['anthropic', HAIKU, {}, null],
  ['anthropic', HAIKU, { reasoning_effort: 'high' }, effort(16_384)],
  ['anthropic', HAIKU, { reasoning_effort: 'none' }, null],
  ['anthropic', HAIKU, { reasoning_effort: 'enormous' }, null],
  ['anthropic', HAIKU, { reasoning: { effort: 'low' } }, effort(2_048)],
  ['anthropic', HAIKU, { reasoning: { enabled: true } }, effort(8_192)],
  ['anthropic', HAIKU, { reasoning: { enabled: false, max_tokens: 9 } }, null],
  ['anthropic', HAIKU, { reasoning: { max_tokens: 5_000.4, effort: 'low' } }, stated(5_000)],
  ['anthropic', HAIKU, { thinking: { type: 'enabled', budget_tokens: 7_000 } }, stated(7_000)],
  ['anthropic', HAIKU, { thinking: { type: 'disabled' }, reasoning_effort: 'high' }, null],
  ['anthropic', 'claude-opus-4-6', { reasoning_effort: 'high' }, null],
  ['anthropic', 'kimi-k2', { reasoning_effort: 'high' }, effort(16_384)],
  ['gemini', FLASH, {}, null],
  ['gemini', FLASH, { reasoning_effort: 'high' }, effort(24_576)],
  ['gemini', FLASH, { reasoning_effort: 'none' }, null],
  ['gemini', FLASH, { reasoning_effort: 'low', reasoning: { max_tokens: 9_000 } }, effort(1_024)],
  ['gemini', FLASH, { reasoning: { max_tokens: 9_000 } }, stated(9_000)],
  ['gemini', FLASH, { reasoning: { max_tokens: 1 } }, stated(512)],
  ['gemini', FLASH, { reasoning: { enabled: true } }, effort(8_192)],
  ['gemini', 'gemini-3-pro-preview', { reasoning_effort: 'high' }, null],
  ['openai', 'o3', { reasoning_effort: 'high' }, null],
  ['openai', 'x', { reasoning: { max_tokens: 3_000 } }, stated(3_000)],
  ['demo', 'echo', { reasoning_effort: 'high' }, null],
])('%s %s %j', (family, upstreamName, body, budget) => {
  expect(thinkingBudgetOf(readReasoning(body), family, upstreamName)).toEqual(budget)
})
