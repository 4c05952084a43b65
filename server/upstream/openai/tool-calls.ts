/** Keeps the tool calls of one choice apart while their pieces arrive, also where a provider numbers them badly. */
import type { JsonObject, ToolCallDelta } from '#domain/chat.ts'
import { newCallId } from '../call-id.ts'
import { parseText } from '../parse-json.ts'
import { isObject, readObject, readText, readUnknownFields } from '../read-json.ts'

interface Slot {
  readonly index: number
  readonly id: string
  readonly kind: ToolCallDelta['kind']
  named: boolean
  arguments: string
}

type Latest = Map<number, Slot>

/** The calls of one choice so far: most answers have none, and both stay null. */
export interface ToolCalls {
  slots: Slot[] | null
  /** By the provider's own numbers. */
  latest: Latest | null
}

/** Starts with none. */
export const startToolCalls = (): ToolCalls => ({ slots: null, latest: null })

const KNOWN_FIELDS: ReadonlySet<string> = new Set(['index', 'id', 'type', 'function', 'custom'])

const isCustom = (entry: JsonObject): boolean =>
  entry['type'] === 'custom' || isObject(entry['custom'])

/** The event for one entry of `tool_calls`; undefined for what is none. */
export function noteToolCall(
  toolCalls: ToolCalls,
  choice: number,
  entry: unknown,
): ToolCallDelta | undefined {
  if (!isObject(entry)) return undefined
  toolCalls.slots ??= []
  toolCalls.latest ??= new Map()
  const { slots, latest } = toolCalls
  const body = readObject(isCustom(entry) ? entry['custom'] : entry['function'])
  const name = readText(body['name'])
  const before = slots.length
  const slot = find(slots, latest, entry, name !== undefined)
  const pieces = toArguments(body['arguments'] ?? body['input'])
  const fields = readUnknownFields(entry, KNOWN_FIELDS)
  const first = slots.length > before
  const delta: ToolCallDelta = {
    type: 'tool-call-delta',
    choice,
    index: slot.index,
    ...(first && { id: slot.id }),
    ...(name !== undefined && !slot.named && { name }),
    kind: slot.kind,
    arguments: pieces,
    ...(fields && { fields }),
  }
  slot.named ||= name !== undefined
  slot.arguments += pieces
  return delta
}

/** Some number every call 0 and tell them apart by id alone; some send a fresh id with every piece; some number nothing. */
function find(slots: Slot[], latest: Latest, entry: JsonObject, named: boolean): Slot {
  const stated = entry['index']
  const number = typeof stated === 'number' ? stated : undefined
  const id = readText(entry['id'])
  const same = id === undefined ? undefined : slots.find((slot) => slot.id === id)
  if (same) return same
  const continued = number === undefined ? slots.at(-1) : latest.get(number)
  const isNew = named && (id !== undefined || number === undefined || isDone(continued))
  if (continued && !isNew) return continued
  const kind = isCustom(entry) ? 'custom' : 'function'
  // A client answers a call by its id, and one without is refused when the conversation comes back.
  const slot: Slot = {
    index: slots.length,
    id: id ?? newCallId(),
    kind,
    named: false,
    arguments: '',
  }
  slots.push(slot)
  latest.set(number ?? slot.index, slot)
  return slot
}

/** A call that has its name and all of its arguments, so that another name is another call's, whatever its number. */
function isDone(slot: Slot | undefined): boolean {
  return slot?.named === true && slot.kind === 'function' && isObject(parseText(slot.arguments))
}

/** Text as a rule; a provider that sends the object itself means the same. */
function toArguments(value: unknown): string {
  if (typeof value === 'string') return value
  return isObject(value) ? JSON.stringify(value) : ''
}
