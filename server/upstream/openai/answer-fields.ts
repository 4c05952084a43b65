/** Passes on what a provider says beside its choices (fingerprint, citations), once per value. */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'

/** Ours to say, read elsewhere, or mere padding. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  'id',
  'object',
  'created',
  'model',
  'provider',
  'choices',
  'usage',
  'error',
  'data',
  'x_groq',
  'user_id',
  'obfuscation',
  'p',
])

/** Remembers what has been passed on. */
export interface AnswerFields {
  /** Appends an event when this chunk says something new. */
  note(chunk: JsonObject, into: ChatEvent[]): void
}

/** Starts with nothing said. */
export function startAnswerFields(): AnswerFields {
  const said = new Map<string, unknown>()

  const isNews = (name: string, value: unknown): boolean => {
    if (value === null || value === undefined) return false
    // Lists come again with every chunk (Perplexity's citations); their text is what tells them apart.
    const mark = typeof value === 'object' ? JSON.stringify(value) : value
    if (said.get(name) === mark) return false
    said.set(name, mark)
    return true
  }

  return {
    note(chunk, into) {
      let fields: Record<string, unknown> | null = null
      for (const name in chunk) {
        if (KNOWN_FIELDS.has(name)) continue
        const value = chunk[name]
        if (!isNews(name, value)) continue
        fields ??= {}
        fields[name] = value
      }
      if (fields) into.push({ type: 'answer-fields', fields })
    },
  }
}
