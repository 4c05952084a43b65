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

/** What has been passed on of an answer; null as long as nothing has. */
export interface AnswerFields {
  said: Map<string, unknown> | null
}

/** Appends an event when this chunk says something new. An answer that comes whole, all of it new, needs no memory: null. */
export function noteAnswerFields(
  memory: AnswerFields | null,
  chunk: JsonObject,
  into: ChatEvent[],
): void {
  let fields: Record<string, unknown> | null = null
  for (const name in chunk) {
    if (KNOWN_FIELDS.has(name)) continue
    const value = chunk[name]
    if (value === null || value === undefined) continue
    if (memory !== null && !hasChanged(memory, name, value)) continue
    fields ??= {}
    fields[name] = value
  }
  if (fields) into.push({ type: 'answer-fields', fields })
}

function hasChanged(memory: AnswerFields, name: string, value: unknown): boolean {
  // Lists come again with every chunk (Perplexity's citations); their text is what tells them apart.
  const mark = typeof value === 'object' ? JSON.stringify(value) : value
  memory.said ??= new Map()
  if (memory.said.get(name) === mark) return false
  memory.said.set(name, mark)
  return true
}
