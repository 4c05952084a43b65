/** Reads a prompt and speaks an answer word by word; a word, with the space behind it, is one token. */

import type { ChatEvent, ChatEvents, ChatRequest, JsonObject } from '#domain/chat.ts'
import { pause } from '#domain/clock.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import { isObject, readList } from '../read-json.ts'
import type { Pace } from './pace.ts'

/** The words of a text, each with the white space around it, so that together they are the text again. */
export function toWords(text: string): readonly string[] {
  // What stands before the first word is added by hand: a pattern that looks for it tries a text of blanks anew from each.
  const [first, ...others] = text.match(/\S+\s*/g) ?? []
  if (first === undefined) return []
  return [text.slice(0, text.length - text.trimStart().length) + first, ...others]
}

/** What the last user message says. */
export function lastUserText({ body }: ChatRequest): string {
  const messages = readList(body['messages']).filter(isObject)
  const last = messages.findLast(({ role }) => role === 'user') ?? messages.at(-1)
  return last === undefined ? '' : textOf(last)
}

/** Words in all messages together: the prompt's tokens. */
function countPrompt({ body }: ChatRequest): number {
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

/** The count for an answer of so many words to each of the choices. */
export const usageOf = (request: ChatRequest, words: number): Usage => ({
  ...NO_USAGE,
  inputTokens: countPrompt(request),
  outputTokens: words * request.choices,
})

/** Lets the client's leaving be noticed this often when there is no pause between words. */
const WORDS_PER_TURN = 32

/** Speaks the words to every choice, in lockstep. @throws the signal's reason when the client leaves */
export async function* speak(
  call: UpstreamCall,
  words: readonly string[],
  { delayMs, gapMs }: Pace,
): AsyncGenerator<ChatEvents, void> {
  if (delayMs > 0) await pause(delayMs, call.signal)
  const startedMs = performance.now()
  for (const [index, text] of words.entries()) {
    // The pace is kept by the clock, so that timers that fire late do not slow it down.
    const restMs = startedMs + index * gapMs - performance.now()
    if (restMs >= 1 || index % WORDS_PER_TURN === 0) await pause(Math.max(0, restMs), call.signal)
    yield everyChoice(call, (choice) => ({ type: 'text-delta', choice, text }))
  }
}

/** The same event for each choice asked for. */
export const everyChoice = (
  { request }: UpstreamCall,
  toEvent: (choice: number) => ChatEvent,
): ChatEvents => Array.from({ length: request.choices }, (_, choice) => toEvent(choice))
