/** A whole answer of a provider that speaks another wire, made of its events. */
import type { AnswerHead, ChatEvents } from '#domain/chat.ts'
import type { Charge } from '#domain/ledger.ts'
import type { Work } from '#domain/work.ts'
import type { Seals } from '../../../seals.ts'
import { toEnding } from '../ending.ts'
import { renderUsage } from '../render-usage.ts'
import { Output } from './output.ts'
import { renderEcho, renderResponse, toUnique } from './render-response.ts'

export function renderTranslated(
  head: AnswerHead,
  charge: Charge,
  work: Work,
  events: ChatEvents,
  seals: Seals,
): string {
  const { id, provider, model } = head
  const output = new Output({
    unique: toUnique(id),
    thinker: { provider, model },
    tools: work.body['tools'],
    seals,
  })
  for (const event of events) output.note(event, UNSAID)
  output.close(UNSAID)
  const { type: _, ...how } = toEnding(output.finish)
  const usage = renderUsage(charge, work.includeUsage)
  return renderResponse(head, renderEcho(work), { ...how, output: output.render(), usage })
}

const UNSAID = (): void => {}
