/**
 * What models signed in an earlier answer, as clients of chat send it back: in `reasoning_details`, as OpenRouter has it, and in
 * the calls of tools, as Google's OpenAI-compatible API has it.
 */
import type { JsonObject } from '#domain/chat.ts'
import type { CallPart, Part } from '#domain/conversation.ts'
import { isObject, readList, readNumber, readObject, readString, readText } from '#domain/json.ts'
import { DETAIL_FORMATS } from '#domain/reasoning-details.ts'

const ANTHROPIC = { family: 'anthropic' } as const
const GEMINI = { family: 'gemini' } as const
const OPENAI = { family: 'openai' } as const

/** The field of a part that has a signature. */
export type Signed = Pick<CallPart, 'signature'>

/** Gemini's signatures, by the part that each belongs to: a call by its id, `text`, `image:0`, `end`. */
export type Signatures = ReadonlyMap<string, string>

const NONE: Signatures = new Map()

/** A signature in the call itself goes before one in the details. */
export function readSignatures({
  reasoning_details: details,
  tool_calls: calls,
}: JsonObject): Signatures {
  if (details === undefined && calls === undefined) return NONE
  const known = new Map<string, string>()
  for (const detail of readList(details)) {
    if (!isObject(detail) || detail['format'] !== DETAIL_FORMATS.gemini) continue
    const data = readText(detail['data'])
    if (data !== undefined) known.set(readText(detail['id']) ?? 'text', data)
  }
  for (const call of readList(calls)) {
    const { id, extra_content: extra } = readObject(call)
    const data = readText(readObject(readObject(extra)['google'])['thought_signature'])
    if (data !== undefined) known.set(readText(id) ?? '', data)
  }
  return known
}

export function signatureOf(part: string, signatures: Signatures): Signed {
  const data = signatures.get(part)
  return data === undefined ? {} : { signature: { data, origin: GEMINI } }
}

interface Thought {
  /** Its index among the parts of the answer. */
  readonly index: number
  readonly part: Part
}

/** Anthropic's thinking blocks, and reasoning of the Responses API: in the message, or, where the client kept only the calls of tools, in those. */
function readThoughts(message: JsonObject): readonly Thought[] {
  const { reasoning_details: details, tool_calls: calls } = message
  const thoughts = fromDetails(details)
  if (thoughts.length > 0 || calls === undefined) return thoughts
  return readList(calls).flatMap((call) => fromDetails(readObject(call)['reasoning_details']))
}

/** Without those that are not signed, and those of other vendors. */
const fromDetails = (details: unknown): readonly Thought[] =>
  readList(details).flatMap((detail, position) => {
    const part = isObject(detail) ? toThought(detail) : null
    if (!isObject(detail) || part === null) return []
    return [{ index: readNumber(detail['index']) ?? position, part }]
  })

function toThought(detail: JsonObject): Part | null {
  switch (detail['format']) {
    case DETAIL_FORMATS.anthropic:
      return toThinking(detail)
    case DETAIL_FORMATS.openai:
      return toReasoning(detail)
    default:
      return null
  }
}

function toThinking({ type, data, text, signature }: JsonObject): Part | null {
  if (type === 'reasoning.encrypted' && typeof data === 'string') {
    return { type: 'redacted', data, origin: ANTHROPIC }
  }
  const signed = readText(signature)
  if (signed === undefined) return null
  return { type: 'thinking', text: readString(text) ?? '', signature: signed, origin: ANTHROPIC }
}

/** A summary, which OpenRouter has in a detail of its own, is for people. */
function toReasoning({ type, data, id }: JsonObject): Part | null {
  const encrypted = type === 'reasoning.encrypted' ? readText(data) : undefined
  if (encrypted === undefined) return null
  return { type: 'reasoning', id: readText(id) ?? '', summary: [], encrypted, origin: OPENAI }
}

/** Puts each thought at its index among the parts that were counted when it was thought; the last part is none. */
export function placeThoughts(message: JsonObject, parts: readonly Part[]): readonly Part[] {
  const thoughts = readThoughts(message)
  if (thoughts.length === 0) return parts
  const placed: Part[] = []
  let left = parts.filter(isCounted).length
  let count = 0
  let next = 0
  for (const { index, part } of thoughts) {
    while (left > 1 && count < index) {
      const other = parts[next++] as Part
      placed.push(other)
      if (!isCounted(other)) continue
      left--
      count++
    }
    placed.push(part)
    count++
  }
  return [...placed, ...parts.slice(next)]
}

/** Blank texts are no blocks at Anthropic, nor are images of earlier answers. */
const isCounted = (part: Part): boolean =>
  part.type === 'text' ? part.text.trim() !== '' : part.type === 'call'
