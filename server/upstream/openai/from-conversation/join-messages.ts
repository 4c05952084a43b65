/** Ours → theirs: the order of roles that the templates of many models demand: nobody speaks twice in a row. */
import type { JsonObject } from '#domain/chat.ts'

/**
 * What one role says in consecutive messages becomes one of them. `answersTools`: after the results of tools only the model may
 * speak, so that a word of it stands before the user's.
 */
export function joinMessages(
  messages: readonly JsonObject[],
  answersTools: boolean,
): readonly JsonObject[] {
  const joined: JsonObject[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    const { role } = message
    if (answersTools && last?.['role'] === 'tool' && role === 'user') joined.push(WORD)
    if (last && last['role'] === role && JOINED.has(role)) {
      joined[joined.length - 1] = join(last, message)
    } else joined.push(message)
  }
  return joined
}

/** Answers are whole already, and each result has its own call. */
const JOINED: ReadonlySet<unknown> = new Set(['system', 'user'])
const WORD: JsonObject = { role: 'assistant', content: 'OK.' }

function join(one: JsonObject, other: JsonObject): JsonObject {
  const [first, second] = [one['content'], other['content']]
  const isText = typeof first === 'string' && typeof second === 'string'
  const content = isText ? `${first}\n\n${second}` : [...toList(first), ...toList(second)]
  return { ...one, content }
}

const toList = (content: unknown): readonly unknown[] =>
  Array.isArray(content) ? content : [{ type: 'text', text: content }]
