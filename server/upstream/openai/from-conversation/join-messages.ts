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
  const joined: Joined[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    const { role, content } = message
    if (answersTools && last?.message['role'] === 'tool' && role === 'user') {
      joined.push({ message: WORD, contents: [WORD['content']] })
    }
    if (last && last.message['role'] === role && JOINED.has(role)) last.contents.push(content)
    else joined.push({ message, contents: [content] })
  }
  return joined.map(join)
}

/** Consecutive messages of one role: the first, and what each of them says. */
interface Joined {
  readonly message: JsonObject
  readonly contents: unknown[]
}

/** Answers are whole already, and each result has its own call. */
const JOINED: ReadonlySet<unknown> = new Set(['system', 'user'])
const WORD: JsonObject = { role: 'assistant', content: 'OK.' }

/** Texts up to the first list are one. */
function join({ message, contents }: Joined): JsonObject {
  if (contents.length === 1) return message
  const list = contents.findIndex((content) => typeof content !== 'string')
  if (list < 0) return { ...message, content: contents.join('\n\n') }
  const text = contents.slice(0, list).join('\n\n')
  const others = contents.slice(list).flatMap(toList)
  return { ...message, content: list === 0 ? others : [...toList(text), ...others] }
}

const toList = (content: unknown): readonly unknown[] =>
  Array.isArray(content) ? content : [{ type: 'text', text: content }]
