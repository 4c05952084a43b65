/** The messages of a chat as turns of a conversation. */
import type { JsonObject } from '#domain/chat.ts'
import type { CallPart, Part, Turn } from '#domain/conversation.ts'
import { isObject, readList, readObject, readString, readText } from '#domain/json.ts'
import { placeThoughts, readSignatures, type Signatures, signatureOf } from './read-signatures.ts'
import { type ContentPart, toDrawnImages, toParts } from './to-parts.ts'

/** Instructions come first, wherever they were: clients of chat append them, and mean the whole conversation. */
export function toTurns(messages: unknown): readonly Turn[] {
  const turns = readList(messages).map((message, i) =>
    toTurn(readObject(message), `messages[${i}]`),
  )
  const isSystem = ({ role }: Turn): boolean => role === 'system'
  return turns.some(isSystem)
    ? [...turns.filter(isSystem), ...turns.filter((turn) => !isSystem(turn))]
    : turns
}

function toTurn(message: JsonObject, at: string): Turn {
  const { role, content } = message
  const path = `${at}.content`
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', path, parts: toParts(content, path) }
    case 'assistant':
      return { role, path, parts: placeThoughts(message, toAnswer(message, at)) }
    case 'tool':
      return { role: 'user', path, parts: [toResult(message, at)] }
    default:
      return { role: 'user', path, parts: toParts(content, path) }
  }
}

/** Text, images and calls, in this order. */
function toAnswer(message: JsonObject, at: string): readonly Part[] {
  const signatures = readSignatures(message)
  const said = toParts(message['content'], `${at}.content`)
  const isSilent = said.every((part) => part.type === 'text' && part.text.trim() === '')
  const refusal = isSilent ? toParts(message['refusal'], `${at}.refusal`) : []
  const images = toDrawnImages(message['images'], `${at}.images`)
  const calls = readList(message['tool_calls']).map((call, i) =>
    toCall(readObject(call), signatures, `${at}.tool_calls[${i}]`),
  )
  const end = signatureOf('end', signatures)
  return [
    ...signText(refusal.length > 0 ? refusal : said, signatures),
    ...images.map((image, i) => ({ ...image, ...signatureOf(`image:${i}`, signatures) })),
    // A stream may send the signature in a last, empty part; signed and unsigned parts must not be merged.
    ...(end.signature ? [{ type: 'text' as const, path: at, text: '', ...end }] : []),
    ...calls,
  ]
}

/** The signature of a text belongs to its last part that says anything. */
function signText(parts: readonly ContentPart[], signatures: Signatures): readonly ContentPart[] {
  const signed = signatureOf('text', signatures)
  if (!signed.signature) return parts
  const last = parts.findLastIndex((part) => part.type !== 'text' || part.text !== '')
  return parts.map((part, i) => (i === last ? { ...part, ...signed } : part))
}

function toCall(call: JsonObject, signatures: Signatures, path: string): CallPart {
  const { function: called, custom } = call
  const isCustom = called === undefined && isObject(custom)
  const { name, arguments: text, input } = readObject(isCustom ? custom : called)
  const id = readText(call['id'])
  const named = readString(name)
  return {
    type: 'call',
    path,
    kind: isCustom ? 'custom' : 'function',
    ...(id !== undefined && { id }),
    ...(named !== undefined && { name: named }),
    arguments: toArguments(isCustom ? input : text),
    argumentsPath: `${path}.function.arguments`,
    ...signatureOf(id ?? '', signatures),
  }
}

/** Some clients send the arguments parsed. */
const toArguments = (stated: unknown): string =>
  typeof stated === 'string' ? stated : stated === undefined ? '' : JSON.stringify(stated)

function toResult(message: JsonObject, at: string): Part {
  const callId = readText(message['tool_call_id'])
  const name = readText(message['name'])
  const path = `${at}.content`
  return {
    type: 'result',
    path,
    callIdPath: `${at}.tool_call_id`,
    ...(callId !== undefined && { callId }),
    ...(name !== undefined && { name }),
    parts: toParts(message['content'], path),
    isError: false,
  }
}
