/** Keeps the tool calls of one choice apart while their pieces arrive, also where a provider numbers them badly. */
import type { JsonObject, ToolCallDelta } from '#domain/chat.ts'
import { isObject, readObject, readText, readUnknownFields } from '../read-json.ts'

interface Slot {
  readonly index: number
  readonly id: string | undefined
  readonly kind: ToolCallDelta['kind']
  named: boolean
}

/** The calls of one choice so far. */
export interface ToolCalls {
  /** The event for one entry of `tool_calls`; undefined for what is none. */
  note(choice: number, entry: unknown): ToolCallDelta | undefined
  readonly any: boolean
}

const KNOWN_FIELDS: ReadonlySet<string> = new Set(['index', 'id', 'type', 'function', 'custom'])

const isCustom = (entry: JsonObject): boolean =>
  entry['type'] === 'custom' || isObject(entry['custom'])

/** Starts with none. */
export function startToolCalls(): ToolCalls {
  const slots: Slot[] = []
  const latest = new Map<number, Slot>()

  const open = (entry: JsonObject, number: number | undefined, id: string | undefined): Slot => {
    const kind = isCustom(entry) ? 'custom' : 'function'
    const slot: Slot = { index: slots.length, id, kind, named: false }
    slots.push(slot)
    latest.set(number ?? slot.index, slot)
    return slot
  }

  // Some number every call 0 and tell them apart by id alone; some send a fresh id with every piece; some number nothing.
  const find = (entry: JsonObject, named: boolean): Slot => {
    const stated = entry['index']
    const number = typeof stated === 'number' ? stated : undefined
    const id = readText(entry['id'])
    const same = id === undefined ? undefined : slots.find((slot) => slot.id === id)
    if (same) return same
    if (named && (id !== undefined || number === undefined)) return open(entry, number, id)
    const continued = number === undefined ? slots.at(-1) : latest.get(number)
    return continued ?? open(entry, number, id)
  }

  return {
    note(choice, entry) {
      if (!isObject(entry)) return undefined
      const body = readObject(isCustom(entry) ? entry['custom'] : entry['function'])
      const name = readText(body['name'])
      const before = slots.length
      const slot = find(entry, name !== undefined)
      const fields = readUnknownFields(entry, KNOWN_FIELDS)
      const first = slots.length > before && slot.id !== undefined
      const delta: ToolCallDelta = {
        type: 'tool-call-delta',
        choice,
        index: slot.index,
        ...(first && { id: slot.id }),
        ...(name !== undefined && !slot.named && { name }),
        kind: slot.kind,
        arguments: toArguments(body['arguments'] ?? body['input']),
        ...(fields && { fields }),
      }
      slot.named ||= name !== undefined
      return delta
    },
    get any() {
      return slots.length > 0
    },
  }
}

/** Text as a rule; a provider that sends the object itself means the same. */
function toArguments(value: unknown): string {
  if (typeof value === 'string') return value
  return isObject(value) ? JSON.stringify(value) : ''
}
