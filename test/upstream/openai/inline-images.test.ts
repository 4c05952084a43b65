// Remote images of an answer are fetched, up to a size of all of them together.
import { expect, test } from 'vitest'
import { Canceller } from '#domain/cancel.ts'
import type { ChatEvent } from '#domain/chat.ts'
import { inlineImages } from '#upstream/openai/inline-images.ts'

const image = (url: string): ChatEvent => ({ type: 'image', choice: 0, url })
const BYTES = 300

test('however many an answer names', async () => {
  const events = Array.from({ length: 1_000 }, (_, n) => image(`https://images.example/${n}.png`))
  let fetched = 0
  const fetchImage = async () => {
    fetched++
    return { type: 'image/png' as const, bytes: new Uint8Array(BYTES) }
  }
  const mostChars = 1_000
  const inlined = await inlineImages(
    { events, failure: null },
    fetchImage,
    new Canceller(),
    mostChars,
  )
  expect([fetched, inlined.events.length]).toEqual([3, 3])
})
