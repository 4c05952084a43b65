/** Theirs → ours: the parts of one candidate as events, in order. */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { isObject, readList, readText } from '#domain/json.ts'
import { CallIds } from '../call-id.ts'
import { fromInlineData } from './from-image.ts'
import { type SignedPart, toCallFields, toDetail } from './signatures.ts'

export interface Parts {
  /** Appends the events of a chunk of the candidate's content. `logprobs` belongs to its text. */
  note(content: unknown, logprobs: JsonObject | undefined, into: ChatEvent[]): void
  /** Appends the signatures that the client must send back, once: a second list would replace the first. */
  conclude(into: ChatEvent[]): void
  /** Whether a tool was called. */
  readonly called: boolean
}

export function startParts(choice: number): Parts {
  const signed = new Map<SignedPart, string>()
  const ids = new CallIds()
  let calls = 0
  let imageCount = 0

  const keep = (part: SignedPart, { thoughtSignature }: JsonObject): string | undefined => {
    const signature = readText(thoughtSignature)
    if (signature !== undefined) signed.set(part, signature)
    return signature
  }

  const noteCall = (call: JsonObject, part: JsonObject, into: ChatEvent[]): void => {
    const id = ids.idFor(readText(call['id']))
    const signature = keep(`call:${id}`, part)
    if (signature !== undefined) into.push(toSignature(choice, id, signature))
    into.push({
      type: 'tool-call-delta',
      choice,
      index: calls++,
      id,
      name: readText(call['name']) ?? '',
      kind: 'function',
      arguments: JSON.stringify(isObject(call['args']) ? call['args'] : {}),
      ...(signature !== undefined && { fields: toCallFields(signature) }),
    })
  }

  const noteImage = (part: JsonObject, into: ChatEvent[]): void => {
    const url = fromInlineData(part['inlineData'])
    // An image made while thinking is not the requested one.
    if (url === undefined || part['thought'] === true) return
    keep(`image:${imageCount++}`, part)
    into.push({ type: 'image', choice, url })
  }

  const noteText = (part: JsonObject, into: ChatEvent[]): void => {
    const text = readText(part['text'])
    const isThought = part['thought'] === true
    // Thoughts are not sent back, so their signatures are not needed.
    if (!isThought) keep(text === undefined ? 'end' : 'text', part)
    if (text === undefined) return
    into.push({ type: isThought ? 'reasoning-delta' : 'text-delta', choice, text })
  }

  const notePart = (part: JsonObject, into: ChatEvent[]): void => {
    const call = part['functionCall']
    if (isObject(call)) noteCall(call, part, into)
    else if (isObject(part['inlineData'])) noteImage(part, into)
    else noteText(part, into)
  }

  return {
    note(content, logprobs, into) {
      const parts = isObject(content) ? readList(content['parts']) : []
      const batch: ChatEvent[] = logprobs ? [] : into
      for (const part of parts) if (isObject(part)) notePart(part, batch)
      if (logprobs) into.push(...withLogprobs(batch, choice, logprobs))
    },
    conclude(into) {
      if (signed.size === 0) return
      const details = [...signed].map(([part, signature], index) =>
        toDetail(part, signature, index),
      )
      into.push({ type: 'message-fields', choice, fields: { reasoning_details: details } })
    },
    get called() {
      return calls > 0
    },
  }
}

const toSignature = (choice: number, callId: string, data: string): ChatEvent => ({
  type: 'call-signature',
  choice,
  signature: { type: 'call-signature', callId, data, origin: { family: 'gemini' } },
})

/** Attaches the log probabilities to the chunk's last text, where OpenAI clients expect them. */
function withLogprobs(
  batch: readonly ChatEvent[],
  choice: number,
  logprobs: JsonObject,
): readonly ChatEvent[] {
  const last = batch.findLastIndex(({ type }) => type === 'text-delta')
  if (last < 0) return [...batch, { type: 'text-delta', choice, text: '', logprobs }]
  return batch.map((event, index) =>
    index === last && event.type === 'text-delta' ? { ...event, logprobs } : event,
  )
}
