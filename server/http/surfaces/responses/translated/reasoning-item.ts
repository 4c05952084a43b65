/** What the model thinks: the text of it as a summary, and the whole as only the model understands it, sealed. */
import type { JsonObject } from '#domain/chat.ts'
import type { Emit, Item, ItemStatus } from './emit.ts'

export class ReasoningItem implements Item {
  readonly id: string
  private readonly index: number
  private summary = ''
  /** Null where the model wants nothing back. */
  private encrypted: string | null = null
  private status: ItemStatus = 'in_progress'

  constructor(id: string, index: number, emit: Emit) {
    this.id = id
    this.index = index
    emit('response.output_item.added', { output_index: index, item: this.render() })
  }

  add(delta: string, emit: Emit): void {
    if (delta === '') return
    if (this.summary === '') {
      emit('response.reasoning_summary_part.added', { ...this.place(), part: toPart('') })
    }
    this.summary += delta
    emit('response.reasoning_summary_text.delta', { ...this.place(), delta })
  }

  seal(encrypted: string): void {
    this.encrypted = encrypted
  }

  close(emit: Emit, status: ItemStatus): void {
    const { summary: text } = this
    if (text !== '') {
      emit('response.reasoning_summary_text.done', { ...this.place(), text })
      emit('response.reasoning_summary_part.done', { ...this.place(), part: toPart(text) })
    }
    this.status = status
    emit('response.output_item.done', { output_index: this.index, item: this.render() })
  }

  render(): JsonObject {
    const { id, status, summary, encrypted } = this
    return {
      id,
      type: 'reasoning',
      status,
      summary: summary === '' ? [] : [toPart(summary)],
      ...(encrypted !== null && { encrypted_content: encrypted }),
    }
  }

  private place(): JsonObject {
    return { item_id: this.id, output_index: this.index, summary_index: 0 }
  }
}

const toPart = (text: string): JsonObject => ({ type: 'summary_text', text })
