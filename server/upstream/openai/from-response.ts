/** Theirs → ours: a whole answer, and what it shares with a chunk of a stream: message or delta, tool calls, unknown fields, errors. */
import type { ChatEvent, FinishReason, JsonObject, ToolCallDelta } from '#domain/chat.ts'
import { isObject, readList, readObject, readText } from '#domain/json.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { CallIds } from '../call-id.ts'
import { type IsPassed, parseText, readChoiceIndex, readUnknownFields } from '../read-json.ts'
import type { Scrub } from '../scrub.ts'
import type { Translated } from '../whole-answer.ts'
import { fromErrorInside } from './from-error.ts'
import { fromAnyImagePart, fromImagePart, type ImageReader } from './from-image.ts'
import { findUsage, toUsageEvent } from './from-usage.ts'

/** Translates the body of a 200. An image may still be a remote URL. */
export function fromResponse(body: unknown, scrub: Scrub): Translated {
  if (!isObject(body)) return broken('its answer is not a JSON object')
  const events: ChatEvent[] = []
  const usage = toUsageEvent(findUsage(body))
  const failure = findError(body, scrub)
  if (!failure) {
    const choices = readList(body['choices'])
    if (choices.length === 0) return broken('its answer holds no choices')
    for (let position = 0; position < choices.length; position++)
      fromChoice(choices[position], position, events)
    noteAnswerFields(body, events)
  }
  if (usage) events.push(usage)
  return { events, failure }
}

/** A failure without events. */
export const broken = (message: string): Translated => ({
  events: [],
  failure: new UpstreamFailure('failed', message),
})

function fromChoice(value: unknown, position: number, into: ChatEvent[]): void {
  const choice = readObject(value)
  const index = readChoiceIndex(choice['index'], position)
  const toolCalls: ToolCalls = { begun: null }
  noteChoiceFields(choice, index, into)
  fromMessage(
    readObject(choice['message']),
    index,
    choice['logprobs'],
    toolCalls,
    into,
    fromAnyImagePart,
  )
  const word =
    readText(choice['finish_reason']) ?? (toolCalls.begun === null ? 'stop' : 'tool_calls')
  const native = readText(choice['native_finish_reason']) ?? word
  into.push({ type: 'finish', choice: index, reason: fromFinish(word), native })
}

const KNOWN_OF_MESSAGE: ReadonlySet<string> = new Set([
  'role',
  'content',
  'reasoning',
  'reasoning_content',
  'refusal',
  'tool_calls',
  'images',
])

/**
 * Appends the events of one message or delta. `logprobs` belongs to its text. With `fromAnyImagePart` remote images pass, and
 * the caller must fetch them.
 */
export function fromMessage(
  message: JsonObject,
  choice: number,
  logprobs: unknown,
  toolCalls: ToolCalls,
  into: ChatEvent[],
  readImageUrl: ImageReader = fromImagePart,
): void {
  const reasoning = readText(message['reasoning_content']) ?? readText(message['reasoning'])
  if (reasoning !== undefined) into.push({ type: 'reasoning-delta', choice, text: reasoning })

  const refusal = readText(message['refusal'])
  const about = hasLogprobs(logprobs) ? logprobs : undefined
  fromContent(
    message['content'],
    choice,
    refusal === undefined ? about : undefined,
    into,
    readImageUrl,
  )
  if (refusal !== undefined) {
    into.push({ type: 'refusal-delta', choice, text: refusal, ...(about && { logprobs: about }) })
  }

  const { images, tool_calls: calls } = message
  if (images !== undefined) fromImages(images, choice, into, readImageUrl)
  if (calls !== undefined) {
    const entries = readList(calls)
    for (const [place, entry] of entries.entries()) {
      const delta = noteToolCall(toolCalls, choice, entry, entries.length > 1 ? place : undefined)
      if (delta) into.push(delta)
    }
  }
  const fields = readUnknownFields(message, KNOWN_OF_MESSAGE)
  if (fields) into.push({ type: 'message-fields', choice, fields })
}

/** `content` is a text, null, or a list of parts (Mistral's thinking). */
function fromContent(
  content: unknown,
  choice: number,
  logprobs: object | undefined,
  into: ChatEvent[],
  readImageUrl: ImageReader,
): void {
  if (Array.isArray(content)) {
    for (const part of content) fromPart(part, choice, into, readImageUrl)
    return
  }
  const text = typeof content === 'string' ? content : ''
  if (logprobs) into.push({ type: 'text-delta', choice, text, logprobs })
  else if (text !== '') into.push({ type: 'text-delta', choice, text })
}

function fromPart(
  part: unknown,
  choice: number,
  into: ChatEvent[],
  readImageUrl: ImageReader,
): void {
  if (typeof part === 'string') {
    if (part !== '') into.push({ type: 'text-delta', choice, text: part })
    return
  }
  if (!isObject(part)) return
  const text = readText(part['text'])
  if (part['type'] === 'thinking') {
    const thought = toThought(part['thinking'])
    if (thought !== '') into.push({ type: 'reasoning-delta', choice, text: thought })
  } else if (text !== undefined) {
    into.push({ type: 'text-delta', choice, text })
  } else {
    fromImages([part], choice, into, readImageUrl)
  }
}

function toThought(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking
  return readList(thinking)
    .map((piece) => (isObject(piece) ? (readText(piece['text']) ?? '') : ''))
    .join('')
}

function fromImages(
  images: unknown,
  choice: number,
  into: ChatEvent[],
  readImageUrl: ImageReader,
): void {
  for (const part of readList(images)) {
    const url = readImageUrl(part)
    if (url !== undefined) into.push({ type: 'image', choice, url })
  }
}

function hasLogprobs(value: unknown): value is JsonObject {
  if (!isObject(value)) return false
  return readList(value['content']).length > 0 || readList(value['refusal']).length > 0
}

interface Slot {
  readonly index: number
  readonly id: string
  readonly kind: ToolCallDelta['kind']
  /** As the provider says them, which may give several calls one of each, or none. */
  readonly statedId: string | undefined
  readonly number: number
  name: string | undefined
  arguments: string
}

/** The calls of one choice so far. */
export interface ToolCalls {
  /** Null until the first, because most answers have none. */
  begun: BegunCalls | null
}

interface BegunCalls {
  readonly ids: CallIds
  readonly slots: Slot[]
  /** The latest call by the provider's `index`. */
  readonly latest: Map<number, Slot>
}

const KNOWN_OF_CALL: ReadonlySet<string> = new Set(['index', 'id', 'type', 'function', 'custom'])

const isCustom = (entry: JsonObject): boolean =>
  entry['type'] === 'custom' || isObject(entry['custom'])

/** The event for one entry of `tool_calls`; undefined when it is not an object. `place` is that among several. */
function noteToolCall(
  toolCalls: ToolCalls,
  choice: number,
  entry: unknown,
  place: number | undefined,
): ToolCallDelta | undefined {
  if (!isObject(entry)) return undefined
  toolCalls.begun ??= { ids: new CallIds(), slots: [], latest: new Map() }
  const { slots } = toolCalls.begun
  const body = readObject(isCustom(entry) ? entry['custom'] : entry['function'])
  const name = readText(body['name'])
  const pieces = toArguments(body['arguments'] ?? body['input'])
  const before = slots.length
  const slot = find(toolCalls.begun, entry, { place, name, pieces })
  const fields = readUnknownFields(entry, KNOWN_OF_CALL)
  const first = slots.length > before
  const delta: ToolCallDelta = {
    type: 'tool-call-delta',
    choice,
    index: slot.index,
    ...(first && { id: slot.id }),
    ...(name !== undefined && slot.name === undefined && { name }),
    kind: slot.kind,
    arguments: pieces,
    ...(fields && { fields }),
  }
  slot.name ??= name
  slot.arguments += pieces
  return delta
}

interface Said {
  readonly place: number | undefined
  readonly name: string | undefined
  readonly pieces: string
}

/**
 * Some providers send index 0 for every call and only distinct ids; some a new id with every piece; some no index, no id, or one id
 * for all. A client needs an id for each.
 */
function find({ ids, slots, latest }: BegunCalls, entry: JsonObject, said: Said): Slot {
  const stated = readNumber(entry['index'])
  const number = stated ?? said.place
  const id = readText(entry['id'])
  const numbered = number === undefined ? slots.at(-1) : latest.get(number)
  const sameId = id === undefined ? undefined : findOfId(slots, numbered, id)
  const continued = sameId ?? numbered
  if (continued && !begins(said, continued, stated, id)) return continued
  const kind = isCustom(entry) ? 'custom' : 'function'
  const slot: Slot = {
    index: slots.length,
    id: ids.idFor(id),
    kind,
    statedId: id,
    number: number ?? slots.length,
    name: undefined,
    arguments: '',
  }
  slots.push(slot)
  latest.set(slot.number, slot)
  return slot
}

const findOfId = (slots: Slot[], numbered: Slot | undefined, id: string): Slot | undefined =>
  numbered?.statedId === id ? numbered : slots.findLast(({ statedId }) => statedId === id)

/** Whether another call begins than the one that its id or its index names: only a name begins one. */
function begins(
  { name, pieces }: Said,
  slot: Slot,
  number: number | undefined,
  id: string | undefined,
): boolean {
  if (name === undefined) return false
  if (id !== undefined && id !== slot.statedId) return true
  if (slot.name === undefined) return false
  if (slot.name !== name) return true
  if (id === undefined) return number === undefined || isDone(slot)
  return (number !== undefined && number !== slot.number) || (isWhole(pieces) && isDone(slot))
}

/** Whether a call has its name and complete arguments, so that another name begins another call, whatever its index. */
const isDone = ({ name, kind, arguments: text }: Slot): boolean =>
  name !== undefined && kind === 'function' && isWhole(text)

const isWhole = (text: string): boolean => text !== '' && isObject(parseText(text))

const readNumber = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : undefined

/** Usually text; some providers send the object itself. */
function toArguments(value: unknown): string {
  if (typeof value === 'string') return value
  return isObject(value) ? JSON.stringify(value) : ''
}

/** Fields that the gateway sets itself or reads elsewhere, and padding. */
const KNOWN_OF_ANSWER: ReadonlySet<string> = new Set([
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

const always: IsPassed = () => true

/** Appends an event when an answer, or a chunk of one, has fields that are not known here. */
export function noteAnswerFields(body: JsonObject, into: ChatEvent[], isPassed = always): void {
  const fields = readUnknownFields(body, KNOWN_OF_ANSWER, isPassed)
  if (fields) into.push({ type: 'answer-fields', fields })
}

/** For the chunks of one stream: a field passes where it is new or has changed. */
export function startChanges(): IsPassed {
  let said: Map<string, unknown> | null = null
  return (value, name) => {
    // Perplexity repeats its lists of citations in every chunk; they are compared as JSON.
    const mark = typeof value === 'object' ? JSON.stringify(value) : value
    said ??= new Map()
    if (said.get(name) === mark) return false
    said.set(name, mark)
    return true
  }
}

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  end_turn: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  stop_sequence: 'stop',
  completed: 'stop',
  length: 'length',
  max_tokens: 'length',
  max_output_tokens: 'length',
  max_completion_tokens: 'length',
  model_length: 'length',
  tool_calls: 'tool_calls',
  tool_call: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  content_filtered: 'content_filter',
  safety: 'content_filter',
  refusal: 'content_filter',
  recitation: 'content_filter',
  prohibited_content: 'content_filter',
  blocklist: 'content_filter',
  spii: 'content_filter',
  image_safety: 'content_filter',
  sensitive: 'content_filter',
  error: 'error',
}

/** An unknown reason is `stop`: the answer is complete. */
export const fromFinish = (word: string): FinishReason => REASONS[word.toLowerCase()] ?? 'stop'

/** The error within a chunk or body of a 200: top-level, in a choice, or in Groq's `x_groq`. Null when there is none. */
export function findError(body: JsonObject, scrub: Scrub): UpstreamFailure | null {
  if (isSet(body['error']) || body['object'] === 'error') return fromErrorInside(body, scrub)
  const groq = body['x_groq']
  if (isObject(groq) && isSet(groq['error'])) return fromErrorInside(groq['error'], scrub)
  const choices = body['choices']
  if (!Array.isArray(choices)) return null
  for (const choice of choices) {
    if (isObject(choice) && isSet(choice['error'])) return fromErrorInside(choice['error'], scrub)
  }
  return null
}

const isSet = (error: unknown): boolean =>
  error !== undefined && error !== null && error !== '' && error !== false
