/** The items of an answer, made of its events, and what becomes of each: text, thoughts and calls may alternate (contract §7). */
import type { ChatEvent, FinishReason, JsonObject, ToolCallDelta } from '#domain/chat.ts'
import { readList, readObject } from '#domain/json.ts'
import type { Thought } from '#domain/thought.ts'
import type { Seals } from '../../../seals.ts'
import { type ClientTool, toClientTools } from '../client-tools.ts'
import { sealThought, type Thinker, toReasoningId } from '../thought-items.ts'
import { CallItem } from './call-item.ts'
import type { Emit, Item, ItemStatus } from './emit.ts'
import { MessageItem } from './message-item.ts'
import { ReasoningItem } from './reasoning-item.ts'

/** What an output is made with. */
export interface OutputHead {
  /** What makes the ids of its items unique. */
  readonly unique: string
  readonly thinker: Thinker
  readonly tools: unknown
  readonly seals: Seals
}

/** A call whose name has not come. */
interface Unnamed {
  id: string | undefined
  arguments: string
}

/** A class, because there are thousands of answers at once. */
export class Output {
  /** Null before it has finished. */
  finish: FinishReason | null = null
  private readonly head: OutputHead
  private readonly items: Item[] = []
  /** Text or thoughts, of which one is written at a time. */
  private open: MessageItem | ReasoningItem | null = null
  /** By their index among the calls. Several may be written at a time. */
  private readonly calls = new Map<number, CallItem>()
  private readonly unnamed = new Map<number, Unnamed>()
  private tools: ReadonlyMap<string, ClientTool> | null = null

  constructor(head: OutputHead) {
    this.head = head
  }

  note(event: ChatEvent, emit: Emit): void {
    switch (event.type) {
      case 'text-delta':
        if (event.text !== '' || event.logprobs !== undefined) {
          this.message(emit).add('text', event.text, toLogprobs(event.logprobs), emit)
        }
        break
      case 'refusal-delta':
        this.message(emit).add('refusal', event.text, [], emit)
        break
      case 'reasoning-delta':
        this.reasoning(emit).add(event.text, emit)
        break
      case 'thought':
        this.noteThought(event.thought, emit)
        break
      case 'call-signature':
        this.noteThought(event.signature, emit)
        break
      case 'tool-call-delta':
        this.noteCall(event, emit)
        break
      case 'finish':
        this.finish ??= event.reason
        this.close(emit)
        break
    }
  }

  /** Ends what is still open. */
  close(emit: Emit): void {
    for (const index of [...this.unnamed.keys()]) this.begin(index, '', 'function', emit)
    const isCut = this.finish !== null && UNFINISHED.has(this.finish)
    const status: ItemStatus = isCut ? 'incomplete' : 'completed'
    this.closeOpen(emit, status)
    for (const call of this.calls.values()) {
      call.close(emit, isCut && !call.isWhole ? 'incomplete' : 'completed')
    }
  }

  render(): readonly JsonObject[] {
    return this.items.map((item) => item.render())
  }

  private message(emit: Emit): MessageItem {
    if (this.open instanceof MessageItem) return this.open
    this.turn(emit)
    const item = new MessageItem(`msg_${this.nextUnique()}`, this.items.length, emit)
    this.open = item
    this.items.push(item)
    return item
  }

  private reasoning(emit: Emit): ReasoningItem {
    if (this.open instanceof ReasoningItem) return this.open
    this.turn(emit)
    const id = toReasoningId(this.head.thinker, this.nextUnique())
    const item = new ReasoningItem(id, this.items.length, emit)
    this.open = item
    this.items.push(item)
    return item
  }

  /** A thought ends its item: what is thought after it is another, with its own signature. */
  private noteThought(thought: Parameters<typeof sealThought>[0], emit: Emit): void {
    // A thought that has no text of its own must not take that of another.
    if (!isSpoken(thought)) this.closeOpen(emit, 'completed')
    const item = this.reasoning(emit)
    const { thinker, seals } = this.head
    item.seal(sealThought(thought, thinker, item.id, seals))
    this.closeOpen(emit, 'completed')
  }

  private noteCall(delta: ToolCallDelta, emit: Emit): void {
    const { index, id, name, arguments: text, kind } = delta
    const known = this.calls.get(index)
    if (known !== undefined) {
      known.add(text, emit)
      return
    }
    const waiting = this.unnamed.get(index) ?? { id: undefined, arguments: '' }
    waiting.id ??= id
    waiting.arguments += text
    this.unnamed.set(index, waiting)
    if (name !== undefined) this.begin(index, name, kind, emit)
  }

  private begin(index: number, name: string, kind: ToolCallDelta['kind'], emit: Emit): void {
    const { id, arguments: text } = this.unnamed.get(index) ?? { id: undefined, arguments: '' }
    this.unnamed.delete(index)
    this.turn(emit)
    const unique = this.nextUnique()
    const isRaw = kind === 'custom'
    const tool = this.toolOf(name) ?? { kind, name }
    const call = new CallItem(
      unique,
      this.items.length,
      { callId: id ?? `call_${unique}`, tool, isRaw },
      emit,
    )
    this.calls.set(index, call)
    this.items.push(call)
    call.add(text, emit)
  }

  /** Another item begins: what is complete is closed, so that clients can act on it. Calls that are not may go on beside it. */
  private turn(emit: Emit): void {
    this.closeOpen(emit, 'completed')
    for (const call of this.calls.values()) if (call.isWhole) call.close(emit, 'completed')
  }

  private closeOpen(emit: Emit, status: ItemStatus): void {
    this.open?.close(emit, status)
    this.open = null
  }

  private toolOf(name: string): ClientTool | undefined {
    this.tools ??= new Map(toClientTools(this.head.tools).map((tool) => [tool.fullName, tool]))
    return this.tools.get(name)
  }

  private nextUnique(): string {
    return `${this.head.unique}_${this.items.length}`
  }
}

const UNFINISHED: ReadonlySet<FinishReason> = new Set(['length', 'content_filter', 'error'])

const isSpoken = (thought: { readonly type: string }): boolean =>
  thought.type === ('thinking' satisfies Thought['type'])

/** Chat's, whose entries are those of this API. */
const toLogprobs = (logprobs: unknown): readonly unknown[] =>
  readList(readObject(logprobs)['content'])
