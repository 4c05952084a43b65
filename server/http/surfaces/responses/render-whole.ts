/** A whole answer: the provider's own text, or the gateway's, made of the events of another wire. */
import type { AnswerHead, ChatEvent, ChatEvents } from '#domain/chat.ts'
import type { Charge } from '#domain/ledger.ts'
import type { Work } from '#domain/work.ts'
import type { Seals } from '../../seals.ts'
import { insertCost } from '../insert-cost.ts'
import type { WholeRenderer } from '../surface.ts'
import { toEnding } from './ending.ts'
import { Output } from './output.ts'
import { renderEcho, renderResponse, toUnique } from './render-response.ts'
import { renderUsage } from './render-usage.ts'

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
    const { text, work } = this
    if (!head.isNative) return [this.renderTranslated(head, charge)]
    return [work.includeUsage ? insertCost(text, ['usage'], charge) : text]
  }

  private renderTranslated(head: AnswerHead, charge: Charge): string {
    const { work, seals, noted } = this
    const { id, provider, model } = head
    const output = new Output({
      unique: toUnique(id),
      thinker: { provider, model },
      tools: work.body['tools'],
      seals,
    })
    for (const event of noted) output.note(event, UNSAID)
    output.close(UNSAID)
    const { type: _, ...how } = toEnding(output.finish)
    const usage = renderUsage(charge, work.includeUsage)
    return renderResponse(head, renderEcho(work), { ...how, output: output.render(), usage })
  }
}

const UNSAID = (): void => {}
