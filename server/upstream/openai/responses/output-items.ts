/**
 * Theirs → ours: the items of an answer's output, from a stream or a whole answer. A client that speaks the API itself gets the
 * provider's text, and these events are only counted; one of another dialect gets these.
 */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { readList, readObject, readText } from '#domain/json.ts'
import type { Origin } from '#domain/thought.ts'
import { NO_CALLS, type ServerCalls } from '#domain/usage.ts'
import { CallIds } from '../../call-id.ts'

/** What has been told of an item. */
interface Item {
  /** Some of its words came piece by piece; its end only repeats them. */
  isTold: boolean
  /** Its place among the calls that the client carries out; -1: it is none of them. */
  call: number
  /** The part of a summary that came last. */
  part: unknown
}

/** A class because there may be thousands of streams at once. */
export class OutputItems {
  /** Whether the client is to carry out a call. */
  hasCalls = false
  /** How often the vendor called its own tools; null where it did not. */
  serverCalls: ServerCalls | null = null
  private readonly items = new Map<unknown, Item>()
  private readonly ids = new CallIds()
  private readonly annotations: JsonObject[] = []
  private readonly origin: Origin | null
  private calls = 0

  /** `origin` is whose thoughts these are; null where the client gets the provider's own text. */
  constructor(origin: Origin | null) {
    this.origin = origin
  }

  /** An item begins. A call's name comes with it; what else it says is said again at its end. */
  open(at: unknown, item: JsonObject, into: ChatEvent[]): void {
    const { type } = item
    // Where neither index nor id tells them apart, one follows the other.
    if (at === undefined) this.items.delete(at)
    if (type === 'function_call' || type === 'custom_tool_call') this.openCall(at, item, into)
  }

  /** The next piece of an item's words. */
  extend(at: unknown, type: string, chunk: JsonObject, into: ChatEvent[]): void {
    const { delta: text } = chunk
    if (typeof text !== 'string' || text === '') return
    const item = this.itemAt(at)
    switch (type) {
      case 'response.output_text.delta':
        into.push({ type: 'text-delta', choice: 0, text, ...this.toLogprobs(chunk) })
        break
      case 'response.refusal.delta':
        into.push({ type: 'refusal-delta', choice: 0, text })
        break
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        this.think(item, chunk['summary_index'] ?? chunk['content_index'], text, into)
        break
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        // Of a call that has not begun all words come with its end.
        if (item.call < 0 && this.origin !== null) return
        this.say(item, type.includes('custom') ? 'custom' : 'function', text, into)
        break
      default:
        this.sayUnheard(type === 'response.audio.delta' ? '' : text, into)
    }
    item.isTold = true
  }

  /** All words of a call, should they not have come piece by piece. */
  complete(at: unknown, words: unknown, kind: 'function' | 'custom', into: ChatEvent[]): void {
    const item = this.itemAt(at)
    if (item.isTold || item.call < 0 || typeof words !== 'string' || words === '') return
    this.say(item, kind, words, into)
    item.isTold = true
  }

  /** An item ends, or came whole. */
  close(at: unknown, item: JsonObject, into: ChatEvent[]): void {
    const { isTold } = this.itemAt(at)
    switch (item['type']) {
      case 'message':
        for (const part of readList(item['content'])) this.closePart(readObject(part), isTold, into)
        break
      case 'reasoning':
        this.closeReasoning(at, item, into)
        break
      case 'function_call':
        this.openCall(at, item, into)
        this.complete(at, item['arguments'], 'function', into)
        break
      case 'custom_tool_call':
        this.openCall(at, item, into)
        this.complete(at, item['input'], 'custom', into)
        break
      // Drawn by another model, whose tokens nobody counts: no client of another dialect can ask for it.
      case 'image_generation_call':
        break
      default:
        this.hasCalls ||= this.origin === null && CLIENT_CALLS.has(item['type'])
        this.noteServerCall(item)
        if (!isTold) this.sayUnheard(wordsOf(item), into)
    }
  }

  /** The output has ended: a list of a message comes once. */
  conclude(into: ChatEvent[]): void {
    const { annotations } = this
    if (annotations.length === 0) return
    into.push({ type: 'message-fields', choice: 0, fields: { annotations } })
  }

  private itemAt(at: unknown): Item {
    let item = this.items.get(at)
    if (item === undefined) {
      item = { isTold: false, call: -1, part: undefined }
      this.items.set(at, item)
    }
    return item
  }

  private openCall(at: unknown, { type, call_id, name }: JsonObject, into: ChatEvent[]): void {
    const item = this.itemAt(at)
    if (item.call >= 0) return
    this.hasCalls = true
    item.call = this.calls++
    const named = readText(name)
    into.push({
      type: 'tool-call-delta',
      choice: 0,
      index: item.call,
      id: this.ids.idFor(readText(call_id)),
      ...(named !== undefined && { name: named }),
      kind: type === 'custom_tool_call' ? 'custom' : 'function',
      arguments: '',
    })
  }

  private say(item: Item, kind: 'function' | 'custom', text: string, into: ChatEvent[]): void {
    const index = Math.max(0, item.call)
    into.push({ type: 'tool-call-delta', choice: 0, index, kind, arguments: text })
  }

  /** Words of a tool that only a client of this API has: counted there. */
  private sayUnheard(text: string, into: ChatEvent[]): void {
    if (this.origin !== null || text === '') return
    into.push({ type: 'tool-call-delta', choice: 0, index: 0, kind: 'function', arguments: text })
  }

  /** The parts of a summary are paragraphs. */
  private think(item: Item, part: unknown, text: string, into: ChatEvent[]): void {
    const isNext = this.origin !== null && item.isTold && part !== item.part
    item.part = part
    into.push({ type: 'reasoning-delta', choice: 0, text: isNext ? `\n\n${text}` : text })
  }

  private closePart(part: JsonObject, isTold: boolean, into: ChatEvent[]): void {
    const text = readText(part['text'])
    const refusal = readText(part['refusal'])
    if (text !== undefined && !isTold) {
      into.push({ type: 'text-delta', choice: 0, text, ...this.toLogprobs(part) })
    }
    if (refusal !== undefined && !isTold) {
      into.push({ type: 'refusal-delta', choice: 0, text: refusal })
    }
    if (this.origin !== null)
      this.annotations.push(...readList(part['annotations']).flatMap(toChat))
  }

  private closeReasoning(at: unknown, reasoning: JsonObject, into: ChatEvent[]): void {
    const item = this.itemAt(at)
    const summary = textsOf(reasoning['summary'])
    if (!item.isTold) {
      for (const [part, text] of [...summary, ...textsOf(reasoning['content'])].entries()) {
        this.think(item, part, text, into)
        item.isTold = true
      }
    }
    const encrypted = readText(reasoning['encrypted_content'])
    if (this.origin === null || encrypted === undefined) return
    const id = readText(reasoning['id']) ?? ''
    const thought = { type: 'reasoning', id, summary, encrypted, origin: this.origin } as const
    into.push({ type: 'thought', choice: 0, thought })
  }

  private noteServerCall({ type, action }: JsonObject): void {
    const tool = SERVER_TOOLS.get(type)
    // Opening a page that a search has found is not billed.
    const { type: done = 'search' } = readObject(action)
    if (tool === undefined || done !== 'search') return
    const calls = this.serverCalls ?? NO_CALLS
    this.serverCalls = { ...calls, [tool]: (calls[tool] ?? 0) + 1 }
  }

  private toLogprobs({ logprobs }: JsonObject): { logprobs?: unknown } {
    const content = this.origin === null ? NONE : readList(logprobs)
    return content.length > 0 ? { logprobs: { content, refusal: null } } : {}
  }
}

const NONE: readonly never[] = []

/** Calls of tools that only this API has, and that the client carries out. */
const CLIENT_CALLS: ReadonlySet<unknown> = new Set([
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
  'computer_call',
])

/** What the vendor bills by the call. */
const SERVER_TOOLS: ReadonlyMap<unknown, keyof ServerCalls> = new Map([
  ['web_search_call', 'web_search'],
  ['file_search_call', 'file_search'],
])

/** What a call of any tool is made of, by the names that the tools have for it. */
const SPOKEN = ['name', 'arguments', 'input', 'action', 'operation', 'code', 'queries'] as const

const wordsOf = (item: JsonObject): string => SPOKEN.map((field) => toWords(item[field])).join('')

function toWords(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : ''
}

const textsOf = (parts: unknown): readonly string[] =>
  readList(parts).flatMap((part) => readText(readObject(part)['text']) ?? [])

/** Citations of the web, as chat shows them. */
function toChat(annotation: unknown): readonly JsonObject[] {
  const { type, ...cited } = readObject(annotation)
  return type === 'url_citation' ? [{ type, url_citation: cited }] : []
}
