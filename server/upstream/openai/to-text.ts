/** Ours → theirs: serialises a body. Unchanged members of a long one are sent as slices of the client's own text. */
import type { JsonObject } from '#domain/chat.ts'
import { type BodySource, wholeBody } from '#domain/work.ts'
import type { Pieces } from '../reply.ts'
import { spliceJson } from '../splice-json.ts'

/**
 * The JSON of `sent`. `source` is the client's body, when it is kept; one in which a name is repeated is written anew, because
 * other parsers may take the other value.
 */
export function toText(sent: JsonObject, source: BodySource | undefined): string | Pieces {
  if (source?.isHeld !== true) return JSON.stringify(sent)
  if (source.repeatsNames) return JSON.stringify(wholeBody({ body: sent, source }))
  const { exact } = source
  const set: Record<string, unknown> = {}
  for (const name in sent) {
    const isChanged = !Object.hasOwn(exact, name) || sent[name] !== exact[name]
    if (isChanged && sent[name] !== undefined) set[name] = sent[name]
  }
  return spliceJson(
    source,
    set,
    Object.keys(exact).filter((name) => isCut(sent, name)),
  )
}

const isCut = (sent: JsonObject, name: string): boolean =>
  !Object.hasOwn(sent, name) || sent[name] === undefined
