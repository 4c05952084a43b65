/** demo/echo repeats the last user message, word by word. */
import type { ChatEvents } from '#domain/chat.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import { readPace } from './pace.ts'
import { everyChoice, lastUserText, speak, toWords, usageOf } from './words.ts'

/** Finishes with `length` when `max_tokens` truncates it. */
export async function* answerEcho(call: UpstreamCall): AsyncGenerator<ChatEvents, void> {
  const { request, maxOutputTokens } = call
  const words = toWords(lastUserText(request))
  const spoken = words.slice(0, maxOutputTokens ?? words.length)
  yield* speak(call, spoken, readPace(request.endUser))
  const reason = spoken.length < words.length ? 'length' : 'stop'
  yield [
    ...everyChoice(call, (choice) => ({ type: 'finish', choice, reason, native: reason })),
    { type: 'usage', usage: usageOf(request, spoken.length) },
  ]
}
