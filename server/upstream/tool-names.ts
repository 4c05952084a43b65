/** Names of tools that a dialect allows and a wire does not: shortened on the way up, restored in the answer. */
import { createHash } from 'node:crypto'
import type { ChatEvent, ChatEvents } from '#domain/chat.ts'
import type { Conversation, Part, ToolChoice } from '#domain/conversation.ts'

interface Named {
  readonly name?: string
  readonly namespace?: string | undefined
}

const MAX_CHARS = 64
const HASH_CHARS = 8
const NAME = /^[\w-]{1,64}$/

export class ToolNames {
  private readonly originals = new Map<string, string>()

  /** The same in every turn. One of a namespace is `namespace__name`, as which it comes back. */
  toWire(name: string, namespace?: string): string {
    const full = namespace === undefined ? name : `${namespace}__${name}`
    if (NAME.test(full)) return full
    const hash = createHash('sha256').update(full).digest('hex').slice(0, HASH_CHARS)
    const start = full.replace(/[^\w-]/g, '_').slice(0, MAX_CHARS - HASH_CHARS - 1)
    const short = `${start}_${hash}`
    this.originals.set(short, full)
    return short
  }

  /** With the name of every tool, call and choice as the wire takes it. */
  renamed(conversation: Conversation): Conversation {
    const { tools, turns, toolChoice } = conversation
    const rename = <T extends Named>(one: T): T => {
      const { name, namespace } = one
      if (name === undefined) return one
      const sent = this.toWire(name, namespace)
      return sent === name ? one : { ...one, name: sent, namespace: undefined }
    }
    const renamePart = (part: Part): Part => (part.type === 'call' ? rename(part) : part)
    return {
      ...conversation,
      tools: tools.map((tool) => (tool.type === 'function' ? rename(tool) : tool)),
      turns: turns.map((turn) =>
        turn.role === 'assistant' ? { ...turn, parts: turn.parts.map(renamePart) } : turn,
      ),
      ...(toolChoice && { toolChoice: this.renamedChoice(toolChoice) }),
    }
  }

  private renamedChoice(choice: ToolChoice): ToolChoice {
    switch (choice.mode) {
      case 'tool':
        return { ...choice, name: this.toWire(choice.name) }
      case 'allowed':
        return { ...choice, names: choice.names.map((name) => this.toWire(name)) }
      default:
        return choice
    }
  }

  restore(events: AsyncIterable<ChatEvents>): AsyncIterable<ChatEvents> {
    return this.originals.size === 0 ? events : this.restoreEach(events)
  }

  private async *restoreEach(events: AsyncIterable<ChatEvents>): AsyncGenerator<ChatEvents, void> {
    for await (const batch of events) yield batch.map((event) => this.restoreIn(event))
  }

  private restoreIn(event: ChatEvent): ChatEvent {
    if (event.type !== 'tool-call-delta' || event.name === undefined) return event
    return { ...event, name: this.originals.get(event.name) ?? event.name }
  }
}
