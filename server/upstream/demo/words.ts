/** Reads a prompt and streams an answer word by word; a word with the space after it is one token. */
import type { ChatEvent, ChatEvents, JsonObject } from '#domain/chat.ts'
import { pause } from '#domain/clock.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import type { Work } from '#domain/work.ts'
import { isObject, readList } from '../read-json.ts'
import type { Pace } from './pace.ts'

/** Splits a text into words with their white space, so that joined they are the text again. */
export function toWords(text: string): readonly string[] {
  // Leading white space is added separately: a pattern for it takes quadratic time on a text of blanks.
  const [first, ...others] = text.match(/\S+\s*/g) ?? []
  if (first === undefined) return []
  return [text.slice(0, text.length - text.trimStart().length) + first, ...others]
}

export function lastUserText({ body }: Work): string {
  const messages = readList(body['messages']).filter(isObject)
  const last = messages.findLast(({ role }) => role === 'user') ?? messages.at(-1)
  return last === undefined ? '' : textOf(last)
}

/** The prompt's tokens: the words of all messages. */
function countPrompt({ body }: Work): number {
  return readList(body['messages'])
    .filter(isObject)
    .reduce((count, message) => count + countWords(textOf(message)), 0)
}

const countWords = (text: string): number => text.match(/\S+/g)?.length ?? 0

function textOf({ content }: JsonObject): string {
  if (typeof content === 'string') return content
  return readList(content)
    .flatMap((part) => (isObject(part) && typeof part['text'] === 'string' ? [part['text']] : []))
    .join('\n')
}

/** The usage of an answer with so many words in each choice. */
export const usageOf = (request: Work, words: number): Usage => ({
  ...NO_USAGE,
  inputTokens: countPrompt(request),
  outputTokens: words * request.choices,
})

/** How often a disconnect of the client is noticed when there is no pause between words. */
const WORDS_PER_TURN = 32

/** Streams the words to all choices in parallel. @throws the signal's reason when the client disconnects */
export async function* speak(
  call: UpstreamCall,
  words: readonly string[],
  { delayMs, gapMs }: Pace,
): AsyncGenerator<ChatEvents, void> {
  if (delayMs > 0) await pause(delayMs, call.signal)
  const startedMs = performance.now()
  for (const [index, text] of words.entries()) {
    // Timed from the start, so that late timers do not slow it down.
    const restMs = startedMs + index * gapMs - performance.now()
    if (restMs >= 1 || index % WORDS_PER_TURN === 0) await pause(Math.max(0, restMs), call.signal)
    yield everyChoice(call, (choice) => ({ type: 'text-delta', choice, text }))
  }
}

/** The same event for each requested choice. */
export const everyChoice = (
  { request }: UpstreamCall,
  toEvent: (choice: number) => ChatEvent,
): ChatEvents => Array.from({ length: request.choices }, (_, choice) => toEvent(choice))
