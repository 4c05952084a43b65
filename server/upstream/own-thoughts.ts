/** Ours → theirs: of what models signed, only what this hop's model signed. Another refuses it, or cannot read it (traps W26). */
import type { Part, Turn } from '#domain/conversation.ts'
import type { Hop } from '#domain/hop.ts'
import type { Origin } from '#domain/thought.ts'

/** The same turns where nothing is left out. */
export function ownThoughts(turns: readonly Turn[], hop: Hop): readonly Turn[] {
  const isForeign = (part: Part): boolean => {
    const origin = originOf(part)
    return origin !== undefined && !isOf(origin, hop)
  }
  if (!turns.some(({ parts }) => parts.some(isForeign))) return turns
  return turns.map((turn) => ({
    ...turn,
    parts: turn.parts.flatMap((part) => (isForeign(part) ? withoutThought(part) : part)),
  }))
}

function originOf(part: Part): Origin | undefined {
  if ('origin' in part) return part.origin
  return 'signature' in part && typeof part.signature === 'object'
    ? part.signature.origin
    : undefined
}

/** A call remains without its signature. */
function withoutThought(part: Part): readonly Part[] {
  if ('origin' in part) return []
  const { signature: _, ...unsigned } = part as Part & { readonly signature?: unknown }
  return [unsigned as Part]
}

/** A dialect that does not say whose model it was is believed; the family is each family's own to see to. */
const isOf = ({ provider, model }: Origin, hop: Hop): boolean =>
  (provider === undefined || provider === hop.provider.name) &&
  (model === undefined || model === hop.card.id)
