/** A whole answer: the provider's own text, or the gateway's, made of the events of another wire. */
import type { AnswerHead, ChatEvent, ChatEvents } from '#domain/chat.ts'
import type { Charge } from '#domain/ledger.ts'
import type { Work } from '#domain/work.ts'
import type { Seals } from '../../seals.ts'
import { insertCost } from '../insert-cost.ts'
import type { WholeRenderer } from '../surface.ts'
import { renderTranslated } from './translated/render-whole.ts'

export class ResponseFold implements WholeRenderer {
  private readonly work: Work
  private readonly seals: Seals
  private text = ''
  private readonly noted: ChatEvent[] = []

  constructor(work: Work, seals: Seals) {
    this.work = work
    this.seals = seals
  }

  note(events: ChatEvents): void {
    for (const event of events) {
      if (event.type === 'native') this.text += event.text
      else this.noted.push(event)
    }
  }

  render(head: AnswerHead, charge: Charge): readonly string[] {
    const { text, work, noted, seals } = this
    if (!head.isNative) return [renderTranslated(head, charge, work, noted, seals)]
    return [work.includeUsage ? insertCost(text, ['usage'], charge) : text]
  }
}
