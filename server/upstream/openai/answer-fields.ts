/** Passes on unknown fields of an answer (fingerprint, citations), each value once, and of its choices (content filters). */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { readUnknownFields } from '../read-json.ts'

/** Fields that the gateway sets itself or reads elsewhere, and padding. */
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

/** Fields of a choice that are read elsewhere, and its text once more. */
const KNOWN_OF_CHOICE: ReadonlySet<string> = new Set([
  'index',
  'message',
  'delta',
  'text',
  'logprobs',
  'finish_reason',
  'native_finish_reason',
  'usage',
  'error',
])

/** Appends an event when a choice has fields that are not known here. */
export function noteChoiceFields(value: JsonObject, choice: number, into: ChatEvent[]): void {
  const fields = readUnknownFields(value, KNOWN_OF_CHOICE)
  if (fields) into.push({ type: 'choice-fields', choice, fields })
}

/** The values passed on so far. */
export interface AnswerFields {
  said: Map<string, unknown> | null
}

/** Appends an event when a chunk has a new or changed field. `memory` is null for a whole answer. */
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
  // Perplexity repeats its lists of citations in every chunk; they are compared as JSON.
  const mark = typeof value === 'object' ? JSON.stringify(value) : value
  memory.said ??= new Map()
  if (memory.said.get(name) === mark) return false
  memory.said.set(name, mark)
  return true
}
