/** A whole answer: the provider's own text. */
import type { AnswerHead, ChatEvents } from '#domain/chat.ts'
import type { Charge } from '#domain/ledger.ts'
import type { Work } from '#domain/work.ts'
import { insertCost } from '../insert-cost.ts'
import type { WholeRenderer } from '../surface.ts'

export class ResponseFold implements WholeRenderer {
  private readonly showsCost: boolean
  private text = ''

  constructor({ includeUsage }: Work) {
    this.showsCost = includeUsage
  }

  note(events: ChatEvents): void {
    for (const event of events) if (event.type === 'native') this.text += event.text
  }

  render(_: AnswerHead, charge: Charge): readonly string[] {
    return [this.showsCost ? insertCost(this.text, ['usage'], charge) : this.text]
  }
}
