/** Ours: the input of a Responses request as turns of a conversation. What follows a model's item of the model's is the same turn. */
import type { JsonObject } from '#domain/chat.ts'
import type { CallPart, Part, ResultPart, Turn } from '#domain/conversation.ts'
import { isObject, readList, readObject, readString, readText } from '#domain/json.ts'
import type { CallSignature } from '#domain/thought.ts'
import type { Seals } from '../../seals.ts'
import { fullNameOf } from './client-tools.ts'
import { openThought } from './thought-items.ts'
import { toParts } from './to-parts.ts'

export function toTurns({ instructions, input }: JsonObject, seals: Seals): readonly Turn[] {
  const turns = typeof input === 'string' ? [toSaid(input)] : fromItems(readList(input), seals)
  const words = readText(instructions)
  if (words === undefined) return turns
  const path = 'instructions'
  return [{ role: 'system', path, parts: [{ type: 'text', path, text: words }] }, ...turns]
}

const toSaid = (text: string): Turn => ({
  role: 'user',
  path: 'input',
  parts: [{ type: 'text', path: 'input', text }],
})

function fromItems(items: readonly unknown[], seals: Seals): readonly Turn[] {
  const turns: Growing[] = []
  const signatures = new Map<string, CallSignature>()
  for (const [i, item] of items.entries()) {
    const turn = toTurn(readObject(item), `input[${i}]`, seals, signatures)
    if (turn === null) continue
    const last = turns.at(-1)
    if (last !== undefined && goesOn(last, turn)) extend(last, turn)
    else turns.push(startGrowing(turn))
  }
  return resultsFirst(turns.map(({ turn, parts }) => signed({ ...turn, parts }, signatures)))
}

/** A turn to which items are appended: copied or searched with each of many, it would hold up all requests. */
interface Growing {
  readonly turn: Turn
  readonly parts: Part[]
  says: boolean
  calls: boolean
}

const says = ({ parts }: Turn): boolean => parts.some(({ type }) => type === 'text')
const calls = ({ parts }: Turn): boolean => parts.some(({ type }) => type === 'call')

const startGrowing = (turn: Turn): Growing => ({
  turn,
  parts: [...turn.parts],
  says: says(turn),
  calls: calls(turn),
})

function extend(last: Growing, next: Turn): void {
  for (const part of next.parts) last.parts.push(part)
  last.says ||= says(next)
  last.calls ||= calls(next)
}

/** A text of the model's after another is its next answer, unless calls stand between: their results are still to come. */
function goesOn(last: Growing, next: Turn): boolean {
  if (last.turn.role !== 'assistant' || next.role !== 'assistant') return false
  return !(last.says && says(next)) || last.calls
}

/** Null for an item that is left out. */
function toTurn(
  item: JsonObject,
  path: string,
  seals: Seals,
  signatures: Map<string, CallSignature>,
): Turn | null {
  const { type = 'message' } = item
  if (type === 'message') return toMessage(item, path)
  if (type === 'reasoning') {
    const thought = openThought(item, seals)
    if (thought?.type !== 'call-signature') return thought && toAssistant(path, thought)
    signatures.set(thought.callId, thought)
    return null
  }
  if (CUT.has(type)) return null
  const call = toCall(item, type, path)
  if (call !== null) return toAssistant(path, call)
  const result = toResult(item, type, path)
  return {
    role: 'user',
    path,
    parts: [result ?? { type: 'unknown', path, word: readText(type) ?? '' }],
  }
}

/** What a vendor's tools did is in the texts that followed, and what they were offered is no part of the conversation. */
const CUT: ReadonlySet<unknown> = new Set([
  'web_search_call',
  'tool_search_call',
  'tool_search_output',
  'mcp_list_tools',
])

const toAssistant = (path: string, ...parts: readonly Part[]): Turn => ({
  role: 'assistant',
  path,
  parts,
})

function toMessage({ role, content }: JsonObject, at: string): Turn {
  const path = `${at}.content`
  const parts = toParts(content, path)
  switch (role) {
    case 'assistant':
      return { role, path, parts }
    case 'system':
    case 'developer':
      return { role: 'system', path, parts }
    default:
      return { role: 'user', path, parts }
  }
}

function toCall(item: JsonObject, type: unknown, path: string): CallPart | null {
  switch (type) {
    case 'function_call':
      return toCallPart(item, toArguments(item['arguments']), path)
    case 'custom_tool_call':
      return toCallPart(item, JSON.stringify({ input: readString(item['input']) ?? '' }), path)
    case 'local_shell_call': {
      const { type: _, ...action } = readObject(item['action'])
      return toCallPart({ ...item, name: 'local_shell' }, JSON.stringify(action), path)
    }
    case 'shell_call': {
      const action = readObject(item['action'])
      return toCallPart({ ...item, name: 'shell' }, JSON.stringify(action), path)
    }
    case 'apply_patch_call': {
      const operation = readObject(item['operation'])
      return toCallPart({ ...item, name: 'apply_patch' }, JSON.stringify(operation), path)
    }
    default:
      return null
  }
}

function toCallPart(
  { call_id: id, name, namespace }: JsonObject,
  text: string,
  path: string,
): CallPart {
  const [stated, called] = [readText(id), readText(name)]
  return {
    type: 'call',
    path,
    kind: 'function',
    ...(stated !== undefined && { id: stated }),
    ...(called !== undefined && { name: fullNameOf(called, readText(namespace)) }),
    arguments: text,
    argumentsPath: `${path}.arguments`,
  }
}

/** Some clients send the arguments parsed. */
const toArguments = (stated: unknown): string =>
  typeof stated === 'string' ? stated : stated == null ? '' : JSON.stringify(stated)

function toResult(item: JsonObject, type: unknown, path: string): ResultPart | null {
  const { output, status } = item
  switch (type) {
    case 'function_call_output':
    case 'custom_tool_call_output':
      return toResultPart(item['call_id'], output, path)
    case 'local_shell_call_output':
      // Its id is the call's.
      return toResultPart(item['call_id'] ?? item['id'], output, path)
    case 'shell_call_output':
      return toResultPart(item['call_id'], JSON.stringify(readList(output)), path)
    case 'apply_patch_call_output':
      return {
        ...toResultPart(item['call_id'], readText(output) ?? String(status), path),
        isError: status === 'failed',
      }
    default:
      return null
  }
}

function toResultPart(id: unknown, output: unknown, path: string): ResultPart {
  const callId = readText(id)
  return {
    type: 'result',
    path,
    callIdPath: `${path}.call_id`,
    ...(callId !== undefined && { callId }),
    parts: toParts(isObject(output) ? JSON.stringify(output) : output, `${path}.output`),
    isError: false,
  }
}

function signed(turn: Turn, signatures: ReadonlyMap<string, CallSignature>): Turn {
  if (signatures.size === 0 || turn.role !== 'assistant') return turn
  return {
    ...turn,
    parts: turn.parts.map((part) => {
      const signature = part.type === 'call' ? signatures.get(part.id ?? '') : undefined
      if (signature === undefined) return part
      const { data, origin } = signature
      return { ...part, signature: { data, origin } } as Part
    }),
  }
}

/** On other wires nothing may stand between a call and its result; what does, such as a developer's message, comes after it. */
function resultsFirst(turns: readonly Turn[]): readonly Turn[] {
  const arranged: Turn[] = []
  let between: Turn[] = []
  for (const turn of turns) {
    if (turn.role === 'assistant') {
      for (const one of between) arranged.push(one)
      arranged.push(turn)
      between = []
    } else if (turn.parts.some(({ type }) => type === 'result')) arranged.push(turn)
    else between.push(turn)
  }
  return [...arranged, ...between]
}
