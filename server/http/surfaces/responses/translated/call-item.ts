/** A call of a tool, as the client declared the tool: a function's JSON, a custom tool's text, or what the others are asked to do. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject } from '#domain/json.ts'
import type { ClientTool, ClientToolKind } from '../client-tools.ts'
import type { Emit, Item, ItemStatus } from './emit.ts'
import { InputReader } from './input-reader.ts'

/** What is known of a call when its item begins. */
export interface Call {
  readonly callId: string
  readonly tool: Pick<ClientTool, 'kind' | 'name' | 'namespace'>
  /** Where the provider has custom tools too, its own text; else JSON. */
  readonly isRaw: boolean
}

/** How the ids of its items begin, by the kind of tool. */
const PREFIXES: Readonly<Record<ClientToolKind, string>> = {
  function: 'fc',
  custom: 'ctc',
  local_shell: 'lsh',
  shell: 'sh',
  apply_patch: 'apc',
}

export class CallItem implements Item {
  private readonly id: string
  private readonly index: number
  private readonly call: Call
  private readonly input: InputReader | null
  /** The JSON, as it came. */
  private json = ''
  /** The text of a custom tool so far. */
  private text = ''
  private status: ItemStatus = 'in_progress'
  private isClosed = false

  /** `unique`: the rest of its id. */
  constructor(unique: string, index: number, call: Call, emit: Emit) {
    const { kind } = call.tool
    this.id = `${PREFIXES[kind]}_${unique}`
    this.index = index
    this.call = call
    this.input = kind === 'custom' && !call.isRaw ? new InputReader() : null
    emit('response.output_item.added', { output_index: index, item: this.render() })
  }

  /** Whether nothing can follow: an object is complete. */
  get isWhole(): boolean {
    return !this.call.isRaw && isObject(parse(this.json))
  }

  add(delta: string, emit: Emit): void {
    if (delta === '' || this.isClosed) return
    this.json += delta
    const { kind } = this.call.tool
    if (kind === 'function') this.emitDelta('function_call_arguments', delta, emit)
    else if (kind === 'custom') this.addText(this.input?.feed(delta) ?? delta, emit)
  }

  close(emit: Emit, status: ItemStatus): void {
    if (this.isClosed) return
    const { kind } = this.call.tool
    if (kind === 'function') this.endArguments(emit, status)
    else if (kind === 'custom') this.endText(emit)
    this.isClosed = true
    this.status = status
    emit('response.output_item.done', { output_index: this.index, item: this.render() })
  }

  render(): JsonObject {
    const { id, status, json, text } = this
    const { callId: call_id, tool } = this.call
    const { kind, name, namespace } = tool
    const own = namespace === undefined ? { name } : { name, namespace }
    switch (kind) {
      case 'function':
        return { id, type: 'function_call', status, arguments: json, call_id, ...own }
      case 'custom':
        return { id, type: 'custom_tool_call', status, call_id, input: text, ...own }
      case 'local_shell': {
        const action = { type: 'exec', ...toLocalAction(parse(json)) }
        return { id, type: 'local_shell_call', status, call_id, action }
      }
      case 'shell': {
        const action = toShellAction(parse(json))
        return { id, type: 'shell_call', status, call_id, action, environment: null }
      }
      case 'apply_patch':
        return {
          id,
          type: 'apply_patch_call',
          status: status === 'incomplete' ? 'in_progress' : status,
          call_id,
          operation: toOperation(parse(json)),
        }
    }
  }

  /** A call without arguments has an empty object. */
  private endArguments(emit: Emit, status: ItemStatus): void {
    if (this.json.trim() === '' && status === 'completed') this.add('{}', emit)
    const { name } = this.call.tool
    emit('response.function_call_arguments.done', {
      ...this.place(),
      name,
      arguments: this.json,
    })
  }

  private endText(emit: Emit): void {
    if (this.input !== null) this.addText(this.input.end().slice(this.text.length), emit)
    emit('response.custom_tool_call_input.done', { ...this.place(), input: this.text })
  }

  private addText(delta: string, emit: Emit): void {
    if (delta === '') return
    this.text += delta
    this.emitDelta('custom_tool_call_input', delta, emit)
  }

  private emitDelta(what: string, delta: string, emit: Emit): void {
    emit(`response.${what}.delta`, { ...this.place(), delta })
  }

  private place(): JsonObject {
    return { item_id: this.id, output_index: this.index }
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return null
  }
}

const strings = (value: unknown): readonly string[] =>
  readList(value).filter((one) => typeof one === 'string')

/** A model may write a command as it would be typed. */
function toLocalAction(stated: unknown): JsonObject {
  const { command, env, ...others } = readObject(stated)
  return {
    ...others,
    command: typeof command === 'string' ? ['bash', '-lc', command] : strings(command),
    env: readObject(env),
  }
}

function toShellAction(stated: unknown): JsonObject {
  const { commands, command, timeout_ms, max_output_length } = readObject(stated)
  const one = commands ?? command
  return {
    commands: typeof one === 'string' ? [one] : strings(one),
    timeout_ms: typeof timeout_ms === 'number' ? timeout_ms : null,
    max_output_length: typeof max_output_length === 'number' ? max_output_length : null,
  }
}

function toOperation(stated: unknown): JsonObject {
  const { type, path, diff } = readObject(stated)
  const kind = typeof type === 'string' && OPERATIONS.has(type) ? type : 'update_file'
  return {
    type: kind,
    path: typeof path === 'string' ? path : '',
    ...(kind !== 'delete_file' && { diff: typeof diff === 'string' ? diff : '' }),
  }
}

const OPERATIONS: ReadonlySet<string> = new Set(['create_file', 'update_file', 'delete_file'])
