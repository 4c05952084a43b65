/** Ours → theirs: what the model said, as its parts, with the thought signatures that the client kept. */
import type { CallPart, Part } from '#domain/conversation.ts'
import { isObject, parseExactly } from '#domain/json.ts'
import type { ToolNames } from '../tool-names.ts'
import { demandsSignatures, UNSIGNED } from './signatures.ts'
import { toPart } from './to-parts.ts'
import type { Part as WirePart } from './wire.ts'

/**
 * Thoughts are not sent, only their signatures. Records the function name of each call in `called`.
 * @throws UpstreamFailure `rejected`
 */
export function toModelParts(
  parts: readonly Part[],
  model: string,
  called: Map<string, string>,
  names: ToolNames,
): readonly WirePart[] {
  const sent: WirePart[] = []
  // Of parallel calls only the first is signed.
  let isFirst = true
  for (const part of parts) {
    if (part.type === 'call') {
      const call = toCall(part, names)
      called.set(call.functionCall.id, call.functionCall.name)
      const lacksSignature = isFirst && demandsSignatures(model)
      sent.push({
        ...(lacksSignature && { thoughtSignature: UNSIGNED }),
        ...call,
        ...toSignature(part),
      })
      isFirst = false
    } else sent.push(...toSaid(part))
  }
  return sent
}

/** An empty text is sent where it is signed: a stream may send the signature in a last, empty part. */
function toSaid(part: Part): readonly WirePart[] {
  if (part.type === 'thinking' || part.type === 'redacted' || part.type === 'reasoning') return []
  const signature = toSignature(part)
  if (part.type === 'text' && part.text === '' && signature) return [{ text: '', ...signature }]
  return toPart(part).map((one) => (signature ? { ...one, ...signature } : one))
}

function toSignature(part: Part): { readonly thoughtSignature: string } | undefined {
  const signature = 'signature' in part ? part.signature : undefined
  return typeof signature === 'object' && signature.origin.family === 'gemini'
    ? { thoughtSignature: signature.data }
    : undefined
}

const toCall = (
  { id = '', name = '', namespace, arguments: text }: CallPart,
  names: ToolNames,
) => ({
  functionCall: { id, name: name && names.toWire(name, namespace), args: toArgs(text) },
})

/** Gemini requires an object; anything else becomes its member `input`. */
function toArgs(text: string): Record<string, unknown> {
  const value = parse(text)
  if (isObject(value)) return value
  return value === null || value === '' ? {} : { input: value }
}

function parse(text: string): unknown {
  try {
    return parseExactly(text)
  } catch {
    return text
  }
}
