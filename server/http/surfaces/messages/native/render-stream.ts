/** A streamed answer: the provider's own frames. The last waits for the receipt; one of ours is added only where the provider's are missing. */
import type { ChatEvent, ChatEvents } from '#domain/chat.ts'
import type { GatewayError } from '#domain/errors.ts'
import type { Charge } from '#domain/ledger.ts'
import type { Work } from '#domain/work.ts'
import { insertCost, insertCostInFrame } from '../../insert-cost.ts'
import type { StreamRenderer } from '../../surface.ts'
import { frame, STOP } from '../frame.ts'
import { renderError } from '../render-error.ts'
import { renderUsage } from '../render-usage.ts'

/** A class, because there are thousands of streams at once. */
export class NativeStream implements StreamRenderer {
  private readonly showsCost: boolean
  /** What waits for the receipt, in order; the frame with the last usage among them only where it is to show the cost. */
  private held: string[] = []
  /** The last frame that is no ping and no count, for what it leaves open. */
  private last = ''
  private isOver = false
  /** By the gateway: the answer has cost more than is held. The provider's own ending has its text beside it. */
  private isCut = false
  private hasFailed = false

  constructor({ includeUsage }: Work) {
    this.showsCost = includeUsage
  }

  events(events: ChatEvents): string {
    let text = ''
    let isNative = false
    let isFinished = false
    for (const event of events) {
      if (event.type === 'native') {
        isNative = true
        text += this.take(event)
      } else if (event.type === 'finish') isFinished = true
    }
    if (isFinished && !isNative) this.isCut = true
    return text
  }

  error(error: GatewayError, requestId: string): string {
    this.hasFailed = true
    return frame('error', renderError(error, requestId))
  }

  /** After an error comes nothing: a client that saw one must not take the answer for complete. */
  end(charge: Charge | null): string {
    if (this.hasFailed) return ''
    if (this.isCut && charge !== null) return this.held.join('') + this.ending(charge) + STOP
    const [first = '', ...rest] = this.held
    const shown =
      this.showsCost && charge !== null ? insertCostInFrame(first, ['usage'], charge) : first
    return shown + rest.join('') + (this.isOver ? '' : STOP)
  }

  /** Behind what waits for the receipt, it waits too. */
  private take({ text, holds }: Extract<ChatEvent, { type: 'native' }>): string {
    if (holds === 'end') this.isOver = true
    if (holds === undefined && !text.startsWith('event: ping')) this.last = text
    const waits = this.held.length > 0 || holds === 'end' || (holds === 'usage' && this.showsCost)
    if (!waits) return text
    this.held.push(text)
    return ''
  }

  /** Closes the block that is open, and says that the answer has reached its bound, and what is charged. */
  private ending(charge: Charge): string {
    const index = openBlock(this.last)
    const stop =
      index === null
        ? ''
        : frame('content_block_stop', `{"type":"content_block_stop","index":${index}}`)
    const delta = JSON.stringify({
      type: 'message_delta',
      delta: { stop_reason: 'max_tokens', stop_sequence: null },
      usage: renderUsage(charge),
    })
    return (
      stop + frame('message_delta', this.showsCost ? insertCost(delta, ['usage'], charge) : delta)
    )
  }
}

const DATA = /^data: ?(\{.*\})/m
const OPENING = new Set<unknown>(['content_block_start', 'content_block_delta'])

/** The index of the block that this frame leaves open. Blocks follow one another. */
function openBlock(text: string): number | null {
  const data = DATA.exec(text)?.[1]
  if (data === undefined) return null
  const { type, index } = JSON.parse(data) as { readonly type?: unknown; readonly index?: unknown }
  return OPENING.has(type) && typeof index === 'number' ? index : null
}
