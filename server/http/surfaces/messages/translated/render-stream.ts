/** A streamed answer of a provider of another dialect, in the events of the Messages API. */
import type { ChatEvent, ChatEvents } from '#domain/chat.ts'
import type { GatewayError } from '#domain/errors.ts'
import type { Charge } from '#domain/ledger.ts'
import type { Work } from '#domain/work.ts'
import { insertCost } from '../../insert-cost.ts'
import type { StreamHead, StreamRenderer } from '../../surface.ts'
import { frame, STOP } from '../frame.ts'
import { showsThinking } from '../read-reasoning.ts'
import { renderError } from '../render-error.ts'
import { renderFirstUsage, renderUsage } from '../render-usage.ts'
import { ContentBlocks } from './content-blocks.ts'
import { Ending } from './ending.ts'
import { renderMessage } from './render-message.ts'

/** A class, because there are thousands of streams at once. */
export class TranslatedStream implements StreamRenderer {
  private readonly head: StreamHead
  private readonly work: Work
  private readonly thinks: boolean
  private readonly blocks = new ContentBlocks()
  private readonly ending: Ending
  private hasBegun = false
  private hasFailed = false

  constructor(head: StreamHead, work: Work) {
    this.head = head
    this.work = work
    this.thinks = showsThinking(work)
    this.ending = new Ending(work)
  }

  /** It begins with the first words: what fails before them still has a status of its own. */
  events(events: ChatEvents): string {
    let text = ''
    for (const event of events) text += this.take(event)
    return text === '' ? '' : this.begin() + text
  }

  error(error: GatewayError, requestId: string): string {
    this.hasFailed = true
    return frame('error', renderError(error, requestId))
  }

  /** Counts and ending, once they are charged. After an error comes nothing. */
  end(charge: Charge | null): string {
    if (this.hasFailed || charge === null) return ''
    const delta = JSON.stringify({
      type: 'message_delta',
      delta: this.ending.render(this.blocks.called),
      usage: renderUsage(charge),
    })
    const shown = this.work.includeUsage ? insertCost(delta, ['usage'], charge) : delta
    return this.begin() + this.blocks.end() + frame('message_delta', shown) + STOP
  }

  private begin(): string {
    if (this.hasBegun) return ''
    this.hasBegun = true
    const { head, work } = this
    const message = renderMessage(head, [], UNENDED, renderFirstUsage(work, head.model))
    return frame('message_start', JSON.stringify({ type: 'message_start', message })) + PING
  }

  private take(event: ChatEvent): string {
    this.ending.note(event)
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
        return this.blocks.say('text', event.text)
      case 'reasoning-delta':
        return this.thinks ? this.blocks.say('thinking', event.text) : ''
      case 'tool-call-delta':
        return this.blocks.call(event)
      case 'finish':
        return this.blocks.end()
      default:
        return ''
    }
  }
}

const UNENDED = { stop_reason: null, stop_sequence: null }
const PING = frame('ping', '{"type":"ping"}')
