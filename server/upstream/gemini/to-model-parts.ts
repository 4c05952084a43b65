/** Ours → theirs: assistant messages as model parts, with the thought signatures that the client kept. */
import type { JsonObject } from '#domain/chat.ts'
import { parseExactly } from '#domain/exact-json.ts'
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
 * Text, images and calls, in this order; thoughts are not sent, only their signatures. Records the function name of each call in
 * `called`. @throws UpstreamFailure `rejected`
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
    // Of parallel calls only the first is signed.
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

/** Gemini requires an object; anything else becomes its member `input`. */
function toArgs(text: unknown): Record<string, unknown> {
  const value = typeof text === 'string' ? parse(text) : text
  if (isObject(value)) return value
  return value === undefined || value === null || value === '' ? {} : { input: value }
}

function parse(text: string): unknown {
  try {
    return parseExactly(text)
  } catch {
    return text
  }
}

/** The signature of a text belongs to its last part. */
const signText = (parts: readonly Part[], signatures: Signatures): readonly Part[] =>
  parts.map((part, index) => (index === parts.length - 1 ? sign(part, 'text', signatures) : part))

/** A stream may send the signature in a last, empty part; signed and unsigned parts must not be merged. */
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
