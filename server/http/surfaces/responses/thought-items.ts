/**
 * Thoughts as reasoning items, sealed with whose they are: the item's id says that the gateway sealed it, and its encrypted content
 * can be opened by this gateway alone, also after a restart (traps W26).
 */
import { createHash } from 'node:crypto'
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readObject, readText } from '#domain/json.ts'
import type { Family } from '#domain/provider.ts'
import { type CallSignature, type Origin, SEALED_REASONING, type Thought } from '#domain/thought.ts'
import type { Seals } from '../../seals.ts'

/** Whose thoughts an answer has. */
export type Thinker = Required<Omit<Origin, 'family'>>

/** `rs_gw`, eight characters for whose they are, and what makes it unique. */
export const toReasoningId = ({ provider, model }: Thinker, unique: string): string => {
  const tag = createHash('sha256').update(`${provider}\n${model}`).digest('hex').slice(0, 8)
  return `${SEALED_REASONING}${tag}_${unique}`
}

export function sealThought(
  thought: Thought | CallSignature,
  thinker: Thinker,
  id: string,
  seals: Seals,
): string {
  const { origin } = thought
  return seals.seal(JSON.stringify({ ...thought, origin: { ...origin, ...thinker } }), id)
}

/** Null for an item that the gateway did not seal, or that was changed. */
export function openThought(item: JsonObject, seals: Seals): Thought | CallSignature | null {
  const id = readText(item['id'])
  const sealed = readText(item['encrypted_content'])
  if (id === undefined || sealed === undefined || !id.startsWith(SEALED_REASONING)) return null
  const text = seals.open(sealed, id)
  return text === null ? null : readThought(JSON.parse(text))
}

/** What is sealed was written by some version of this gateway. */
function readThought(value: unknown): Thought | CallSignature | null {
  if (!isObject(value)) return null
  const { family, provider, model } = readObject(value['origin'])
  const isOrigin = [family, provider, model].every((one) => typeof one === 'string')
  const isKnown = typeof value['type'] === 'string' && Object.hasOwn(FIELDS, value['type'])
  if (!isOrigin || !isKnown) return null
  const fields = FIELDS[value['type'] as keyof typeof FIELDS]
  return fields.every((name) => typeof value[name] === 'string')
    ? ({ ...value, origin: { family: family as Family, provider, model } } as Thought)
    : null
}

const FIELDS = {
  thinking: ['text', 'signature'],
  redacted: ['data'],
  'call-signature': ['callId', 'data'],
} as const
