// What bounds the counting of tokens, which costs nothing: each key for itself, at once and in any minute.
import { expect, test } from 'vitest'
import { newKeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { CountLimits } from '#http/surfaces/messages/count-limits.ts'

const aKey = (): ApiKey => ({ id: newKeyId(0 as never), name: 'worker' }) as ApiKey

test('W19: 600 in any minute, and the next when the first of them is a minute old', () => {
  const limits = new CountLimits()
  const key = aKey()
  for (let n = 0; n < 600; n++) limits.begin(key, n)()
  const refused = () => limits.begin(key, 59_000)
  expect(refused).toThrow(/600 prompts in 60 seconds.*ask again in 1 s/)
  limits.begin(aKey(), 59_000)()
  limits.begin(key, 60_000)()
  expect(() => limits.begin(key, 60_000)).toThrow()
  limits.begin(key, 60_001)()
})

test('W19: 32 at once, and the next when one of them has ended', () => {
  const limits = new CountLimits()
  const key = aKey()
  const ends = Array.from({ length: 32 }, () => limits.begin(key, 0))
  expect(() => limits.begin(key, 0)).toThrow(/32 prompts at once/)
  limits.begin(aKey(), 0)()
  ends[7]?.()
  limits.begin(key, 0)()
})
