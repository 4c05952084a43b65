/** What the model says: texts and refusals, as one message. */
import type { JsonObject } from '#domain/chat.ts'
import type { Emit, Item, ItemStatus } from './emit.ts'

interface Part {
  readonly kind: 'text' | 'refusal'
  text: string
  logprobs: readonly unknown[]
}

export class MessageItem implements Item {
  private readonly id: string
  private readonly index: number
  private readonly parts: Part[] = []
  private status: ItemStatus = 'in_progress'

  constructor(id: string, index: number, emit: Emit) {
    this.id = id
    this.index = index
    emit('response.output_item.added', { output_index: index, item: this.render() })
  }

  add(kind: Part['kind'], text: string, logprobs: readonly unknown[], emit: Emit): void {
    let part = this.parts.at(-1)
    if (part?.kind !== kind) {
      this.closePart(emit)
      part = { kind, text: '', logprobs: [] }
      this.parts.push(part)
      emit('response.content_part.added', { ...this.place(), part: renderPart(part) })
    }
    part.text += text
    if (logprobs.length > 0) part.logprobs = [...part.logprobs, ...logprobs]
    if (kind === 'text') {
      emit('response.output_text.delta', { ...this.place(), delta: text, logprobs })
    } else emit('response.refusal.delta', { ...this.place(), delta: text })
  }

  close(emit: Emit, status: ItemStatus): void {
    this.closePart(emit)
    this.status = status
    emit('response.output_item.done', { output_index: this.index, item: this.render() })
  }

  render(): JsonObject {
    const { id, status, parts } = this
    return { id, type: 'message', status, role: 'assistant', content: parts.map(renderPart) }
  }

  private closePart(emit: Emit): void {
    const part = this.parts.at(-1)
    if (part === undefined) return
    const { kind, text, logprobs } = part
    if (kind === 'text') emit('response.output_text.done', { ...this.place(), text, logprobs })
    else emit('response.refusal.done', { ...this.place(), refusal: text })
    emit('response.content_part.done', { ...this.place(), part: renderPart(part) })
  }

  /** Of its last part. */
  private place(): JsonObject {
    return {
      item_id: this.id,
      output_index: this.index,
      content_index: this.parts.length - 1,
    }
  }
}

const renderPart = ({ kind, text, logprobs }: Part): JsonObject =>
  kind === 'text'
    ? { type: 'output_text', text, annotations: [], logprobs }
    : { type: 'refusal', refusal: text }
