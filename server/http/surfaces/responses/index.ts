/** `POST /v1/responses`: OpenAI's Responses API, which passes as it is where the provider speaks it, and else is translated (contract §7). */

import type { AnswerHead, ChatEvent, ChatEvents } from '#domain/chat.ts'
import type { Charge } from '#domain/ledger.ts'
import type { Work } from '#domain/work.ts'
import type { Seals } from '../../seals.ts'
import { insertCost } from '../insert-cost.ts'
import type { Surface, WholeRenderer } from '../surface.ts'
import { NativeStream } from './native/render-stream.ts'
import { readResponsesRequest } from './read-request.ts'
import { TranslatedStream } from './translated/render-stream.ts'
import { renderTranslated } from './translated/render-whole.ts'

export const responsesSurface = (seals: Seals): Surface => ({
  readRequest: (body, headers) => readResponsesRequest(body, headers, seals),
  startWhole: (work) => new ResponseFold(work, seals),
  startStream: (head, work) =>
    head.isNative ? new NativeStream(head, work) : new TranslatedStream(head, work, seals),
})

/** A whole answer: the provider's own text, or the gateway's, made of the events of another wire. */
class ResponseFold implements WholeRenderer {
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
