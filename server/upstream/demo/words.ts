/** Reads a prompt and streams an answer word by word; a word with the space after it is one token. */
import type { ChatEvent, ChatEvents } from '#domain/chat.ts'
import { pause } from '#domain/clock.ts'
import type { Part, Turn } from '#domain/conversation.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import type { Work } from '#domain/work.ts'
import { requireGenerate } from '../rejected.ts'
import type { Pace } from './pace.ts'

/** Splits a text into words with their white space, so that joined they are the text again. */
export function toWords(text: string): readonly string[] {
  // Leading white space is added separately: a pattern for it takes quadratic time on a text of blanks.
  const [first, ...others] = text.match(/\S+\s*/g) ?? []
  if (first === undefined) return []
  return [text.slice(0, text.length - text.trimStart().length) + first, ...others]
}

const turnsOf = (request: Work): readonly Turn[] => requireGenerate(request).conversation().turns

/** Results of tools are no words of the user's. */
export function lastUserText(request: Work): string {
  const turns = turnsOf(request)
  const isSaid = ({ role, parts }: Turn): boolean =>
    role === 'user' && !parts.every(({ type }) => type === 'result')
  return textsOf((turns.findLast(isSaid) ?? turns.at(-1))?.parts ?? []).join('\n')
}

/** The prompt's tokens: the words of all turns. */
function countPrompt(request: Work): number {
  let count = 0
  for (const { parts } of turnsOf(request)) {
    for (const text of textsOf(parts)) count += countWords(text)
  }
  return count
}

const countWords = (text: string): number => text.match(/\S+/g)?.length ?? 0

const textsOf = (parts: readonly Part[]): readonly string[] =>
  parts.flatMap((part) => {
    if (part.type === 'text') return [part.text]
    return part.type === 'result' ? textsOf(part.parts) : []
  })

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
