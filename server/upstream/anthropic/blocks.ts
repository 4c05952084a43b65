/** Theirs → ours: the content blocks of one message, from a stream or a whole answer. */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { isObject, readText } from '#domain/json.ts'
import type { Thought } from '#domain/thought.ts'
import { CallIds } from '../call-id.ts'

export interface Blocks {
  open(index: number, block: JsonObject, into: ChatEvent[]): void
  /** A delta for a block that was never opened, or of an unknown type, is ignored. */
  extend(index: number, delta: JsonObject, into: ChatEvent[]): void
  close(index: number, into: ChatEvent[]): void
  /** Closes open blocks. */
  conclude(into: ChatEvent[]): void
}

interface Tool {
  readonly index: number
  readonly input: unknown
  any: boolean
}

interface Thinking {
  text: string
  signature: string
}

export function startBlocks(): Blocks {
  const tools = new Map<number, Tool>()
  const thinking = new Map<number, Thinking>()
  const ids = new CallIds()
  let toolCount = 0

  const continueTool = (tool: Tool, text: string, into: ChatEvent[]): void => {
    if (text === '') return
    tool.any = true
    into.push({
      type: 'tool-call-delta',
      choice: 0,
      index: tool.index,
      kind: 'function',
      arguments: text,
    })
  }

  const openTool = (index: number, block: JsonObject, into: ChatEvent[]): void => {
    const tool: Tool = { index: toolCount++, input: block['input'], any: false }
    tools.set(index, tool)
    const id = ids.idFor(readText(block['id']))
    const name = readText(block['name'])
    into.push({
      type: 'tool-call-delta',
      choice: 0,
      index: tool.index,
      id,
      ...(name !== undefined && { name }),
      kind: 'function',
      arguments: '',
    })
  }

  const think = (index: number, text: unknown, signature: unknown, into: ChatEvent[]): void => {
    const thought = thinking.get(index) ?? { text: '', signature: '' }
    thinking.set(index, thought)
    if (typeof signature === 'string') thought.signature += signature
    if (typeof text !== 'string' || text === '') return
    thought.text += text
    into.push({ type: 'reasoning-delta', choice: 0, text })
  }

  const close = (index: number, into: ChatEvent[]): void => {
    const tool = tools.get(index)
    tools.delete(index)
    // A tool call without arguments sends an empty text, which means an empty object.
    if (tool && !tool.any) continueTool(tool, toArguments(tool.input), into)
    const thought = thinking.get(index)
    thinking.delete(index)
    if (thought && thought.signature !== '') {
      const { text, signature } = thought
      into.push(toThought({ type: 'thinking', text, signature, origin: ORIGIN }))
    }
  }

  return {
    open(index, block, into) {
      const { type, text, data } = block
      if (type === 'tool_use') openTool(index, block, into)
      else if (type === 'thinking') think(index, block['thinking'], block['signature'], into)
      else if (type === 'redacted_thinking' && typeof data === 'string') {
        into.push(toThought({ type: 'redacted', data, origin: ORIGIN }))
      } else if (type === 'text' && typeof text === 'string' && text !== '') {
        into.push({ type: 'text-delta', choice: 0, text })
      }
    },
    extend(index, delta, into) {
      const { type, text, partial_json: json } = delta
      if (type === 'text_delta' && typeof text === 'string' && text !== '') {
        into.push({ type: 'text-delta', choice: 0, text })
      } else if (type === 'thinking_delta') think(index, delta['thinking'], undefined, into)
      else if (type === 'signature_delta') think(index, undefined, delta['signature'], into)
      else if (type === 'input_json_delta' && typeof json === 'string') {
        const tool = tools.get(index)
        if (tool) continueTool(tool, json, into)
      }
    },
    close,
    conclude(into) {
      for (const index of [...tools.keys(), ...thinking.keys()]) close(index, into)
    },
  }
}

const ORIGIN = { family: 'anthropic' } as const

const toThought = (thought: Thought): ChatEvent => ({ type: 'thought', choice: 0, thought })

const toArguments = (input: unknown): string => JSON.stringify(isObject(input) ? input : {})
