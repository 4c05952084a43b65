// A part that a wire has no word for is refused in words, whatever stands for its type.
import { expect, test } from 'vitest'
import { toParts as ofMessages } from '#http/surfaces/messages/to-parts.ts'
import { toParts as ofResponses } from '#http/surfaces/responses/to-parts.ts'
import { toContent } from '#upstream/anthropic/to-content.ts'
import { rejectPart } from '#upstream/rejected.ts'

test.each([
  ['messages', ofMessages, undefined],
  ['messages', ofMessages, [{ text: 'a' }]],
  ['messages', ofMessages, [{ type: { a: 1 } }]],
  ['responses', ofResponses, [{ text: 'a' }]],
  ['responses', ofResponses, [{ type: ['text'] }]],
])('of %s: %j', (_, toParts, content) => {
  const parts = toParts(content, 'at')
  expect(parts).toMatchObject([{ type: 'unknown' }])
  expect(parts.map((part) => rejectPart(part).message)).toEqual([
    expect.stringMatching(/: a part without a type cannot be sent$/),
  ])
  expect(() => toContent(parts, 'at')).toThrow('at: this model takes no part without a type')
})
