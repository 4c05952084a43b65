/** A whole answer: the provider's own text where it speaks the dialect, else a message of ours. */
import type { AnswerHead, ChatEvents } from '#domain/chat.ts'
import type { Charge } from '#domain/ledger.ts'
import type { Work } from '#domain/work.ts'
import type { WholeRenderer } from '../surface.ts'
import { NativeFold } from './native/render-whole.ts'
import { TranslatedFold } from './translated/render-whole.ts'

/** Which of them it is, only the head tells, at the end. */
export class MessageFold implements WholeRenderer {
  private readonly work: Work
  private readonly batches: ChatEvents[] = []

  constructor(work: Work) {
    this.work = work
  }

  note(events: ChatEvents): void {
    this.batches.push(events)
  }

  render(head: AnswerHead, charge: Charge): readonly string[] {
    const fold = head.isNative ? new NativeFold(this.work) : new TranslatedFold(this.work)
    for (const events of this.batches) fold.note(events)
    return fold.render(head, charge)
  }
}
