/** Ours → theirs: what the model said in an earlier turn, with the signatures of its thoughts where a client kept them. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject, readText } from '../read-json.ts'
import {
  demandsSignatures,
  readSignatures,
  type Signatures,
  type SignedPart,
  UNSIGNED,
} from './signatures.ts'
import { toImageParts, toParts } from './to-parts.ts'
import type { Part } from './wire.ts'

/**
 * Text, pictures and calls, in this order; thoughts stay at home, their signatures stand for them. Notes the function of
 * each call in `called`. @throws UpstreamFailure `rejected`
 */
export function toModelParts(
  message: JsonObject,
  model: string,
  called: Map<string, string>,
  path: string,
): readonly Part[] {
  const signatures = readSignatures(message)
  const said = toParts(message['content'] ?? message['refusal'], `${path}.content`)
  const images = toImageParts(message['images'], `${path}.images`)
  const calls = readList(message['tool_calls']).map((call) => toCall(readObject(call), signatures))
  for (const { functionCall } of calls) called.set(functionCall.id, functionCall.name)
  const [first, ...others] = calls
  return [
    ...signText(said, signatures),
    ...images.map((part, index) => sign(part, `image:${index}`, signatures)),
    ...signEnd(signatures),
    // Of calls made together only the first is signed; the rest follow as they are.
    ...(first ? [demandsSignatures(model) ? { thoughtSignature: UNSIGNED, ...first } : first] : []),
    ...others,
  ]
}

function toCall(call: JsonObject, signatures: Signatures) {
  const { name, arguments: text, input } = readObject(call['function'] ?? call['custom'])
  const id = readText(call['id']) ?? ''
  const functionCall = { id, name: readText(name) ?? '', args: toArgs(text ?? input) }
  return { functionCall, ...signatureOf(`call:${id}`, signatures) }
}

/** Arguments are an object here. What a client made of them otherwise travels as one member. */
function toArgs(text: unknown): Record<string, unknown> {
  const value = typeof text === 'string' ? parse(text) : text
  if (isObject(value)) return value
  return value === undefined || value === null || value === '' ? {} : { input: value }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A text is signed in its last part. */
const signText = (parts: readonly Part[], signatures: Signatures): readonly Part[] =>
  parts.map((part, index) => (index === parts.length - 1 ? sign(part, 'text', signatures) : part))

/** A stream may sign its text in a last part that holds nothing else; signed and unsigned parts are not to be merged. */
function signEnd(signatures: Signatures): readonly Part[] {
  const signature = signatureOf('end', signatures)
  return signature ? [{ text: '', ...signature }] : []
}

function sign(part: Part, name: SignedPart, signatures: Signatures): Part {
  const signature = signatureOf(name, signatures)
  return signature ? { ...part, ...signature } : part
}

function signatureOf(name: SignedPart, signatures: Signatures) {
  const thoughtSignature = signatures.of(name)
  return thoughtSignature === undefined ? undefined : { thoughtSignature }
}
