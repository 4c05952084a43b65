// A limit of tokens is told in words: what is used, what others hold, and what it waits for.
import { expect, test } from 'vitest'
import type { Refusal } from '#domain/admission.ts'
import { instant } from '#domain/clock.ts'
import { toRefusalError } from '#domain/refusal.ts'

const AT = instant(Date.parse('2026-11-01T12:00:50Z'))

test.each([
  [
    'what only others hold waits for them',
    { used: 8_022, tokens: { needed: 8_022, held: 8_000 }, resetsAt: null, retryAfterSeconds: 1 },
    'key ci used 22 of 10000 tokens in 60 seconds, requests in progress hold 8000 more, and this request may use 8022; room for this request frees as they end',
  ],
  [
    'what is used up waits for its minute, whatever others hold',
    { used: 10_500, tokens: { needed: 9, held: 500 }, resetsAt: AT, retryAfterSeconds: 50 },
    'key ci used 10000 of 10000 tokens in 60 seconds, requests in progress hold 500 more, and this request may use 9; room for this request frees in 50 s',
  ],
  [
    'where none are in progress, none are told of',
    { used: 10_000, tokens: { needed: 9, held: 0 }, resetsAt: AT, retryAfterSeconds: 50 },
    'key ci used 10000 of 10000 tokens in 60 seconds, and this request may use 9; room for this request frees in 50 s',
  ],
])('%s', (_, facts, message) => {
  const refusal: Refusal = {
    code: 'rate_limit_exceeded',
    limit: 'tpm_limit',
    limitValue: 10_000,
    ...facts,
  }
  expect(toRefusalError(refusal, 'ci').message).toBe(message)
})
