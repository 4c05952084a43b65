/** demo/lorem generates the client's `max_tokens` words (default 64), at most the bound that is sent, at the pace set in `user`: for load tests. */
import type { ChatEvents } from '#domain/chat.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import { readPace } from './pace.ts'
import { everyChoice, speak, usageOf } from './words.ts'

const WORDS =
  'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua'.split(
    ' ',
  )
const USUAL_WORDS = 64
const MAX_WORDS = 100_000

/** Always finishes with `stop`: the requested length is the whole answer. */
export async function* answerLorem(call: UpstreamCall): AsyncGenerator<ChatEvents, void> {
  const { request, maxOutputTokens } = call
  const asked = request.maxOutputTokens ?? USUAL_WORDS
  const count = Math.min(asked, maxOutputTokens ?? MAX_WORDS, MAX_WORDS)
  const words = Array.from({ length: count }, (_, index) => `${WORDS[index % WORDS.length]} `)
  yield* speak(call, words, readPace(request.endUser))
  yield [
    ...everyChoice(call, (choice) => ({ type: 'finish', choice, reason: 'stop', native: 'stop' })),
    { type: 'usage', usage: usageOf(request, count) },
  ]
}
