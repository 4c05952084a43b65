/** Assembles the streamed tool calls of one choice, also when a provider numbers them wrongly. */
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

/** The calls of one choice so far; both are null until the first, because most answers have none. */
export interface ToolCalls {
  slots: Slot[] | null
  /** The latest call by the provider's `index`. */
  latest: Latest | null
}

export const startToolCalls = (): ToolCalls => ({ slots: null, latest: null })

const KNOWN_FIELDS: ReadonlySet<string> = new Set(['index', 'id', 'type', 'function', 'custom'])

const isCustom = (entry: JsonObject): boolean =>
  entry['type'] === 'custom' || isObject(entry['custom'])

/** The event for one entry of `tool_calls`; undefined when it is not an object. */
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

/** Some providers send index 0 for every call and only distinct ids; some a new id with every piece; some no index at all. */
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
  // Clients refer to a call by its id, and providers refuse a conversation with a call without one.
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

/** Whether a call has its name and complete arguments, so that another name begins another call, whatever its index. */
function isDone(slot: Slot | undefined): boolean {
  return slot?.named === true && slot.kind === 'function' && isObject(parseText(slot.arguments))
}

/** Usually text; some providers send the object itself. */
function toArguments(value: unknown): string {
  if (typeof value === 'string') return value
  return isObject(value) ? JSON.stringify(value) : ''
}
