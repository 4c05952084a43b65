/**
 * A streamed answer of a provider that speaks another wire, as the events of this API, in their order (contract §7). The last waits
 * for the receipt. Whatever happens, the stream ends in one of the three that say how.
 */
import type { ChatEvents, JsonObject } from '#domain/chat.ts'
import type { GatewayError } from '#domain/errors.ts'
import type { Charge } from '#domain/ledger.ts'
import type { Work } from '#domain/work.ts'
import { toErrorFields } from '../../../render-error.ts'
import type { Seals } from '../../../seals.ts'
import type { StreamHead, StreamRenderer } from '../../surface.ts'
import { brokenOff, type Ending, toEnding, toFailure } from '../ending.ts'
import { renderUsage } from '../render-usage.ts'
import { Output } from './output.ts'
import { type ResponseState, renderEcho, renderResponse, toUnique } from './render-response.ts'

/** A class, because there are thousands of streams at once. */
export class TranslatedStream implements StreamRenderer {
  private readonly head: StreamHead
  private readonly showsCost: boolean
  private readonly echo: string
  private readonly output: Output
  /** Null until something went wrong. */
  private failure: Ending | null = null
  private frames = ''
  private next = 0
  private readonly emit = (type: string, fields: JsonObject): void => {
    if (this.next === 0) this.begin()
    this.push(type, JSON.stringify(fields).slice(1, -1))
  }

  constructor(head: StreamHead, work: Work, seals: Seals) {
    const { id, model, provider = '' } = head
    this.head = head
    this.showsCost = work.includeUsage
    this.echo = renderEcho(work)
    this.output = new Output({
      unique: toUnique(id),
      thinker: { provider, model },
      tools: work.body['tools'],
      seals,
    })
  }

  events(events: ChatEvents): string {
    for (const event of events) this.output.note(event, this.emit)
    return this.take()
  }

  error(error: GatewayError): string {
    this.fail(error)
    return this.take()
  }

  end(charge: Charge | null): string {
    const { output } = this
    if (this.failure === null) {
      if (this.next === 0) this.begin()
      if (output.finish === null) output.close(this.emit)
      else if (output.finish === 'error') this.fail(brokenOff())
    }
    const { type, ...how } = this.failure ?? toEnding(output.finish)
    const usage = charge && renderUsage(charge, this.showsCost)
    this.pushResponse(type, { ...how, output: output.render(), usage })
    return this.take()
  }

  private fail(error: GatewayError): void {
    const { message, type, code, param } = toErrorFields(error)
    this.failure = toFailure(error, message)
    // Without this one, OpenAI's SDKs report no failure.
    this.push('error', `"error":${JSON.stringify({ type, code, message, param })}`)
  }

  private begin(): void {
    this.pushResponse('response.created', BEGUN)
    this.pushResponse('response.in_progress', BEGUN)
  }

  private pushResponse(type: string, state: ResponseState): void {
    this.push(type, `"response":${renderResponse(this.head, this.echo, state)}`)
  }

  /** `members`: JSON. */
  private push(type: string, members: string): void {
    const number = this.next++
    this.frames += `event: ${type}\ndata: {"type":"${type}",${members},"sequence_number":${number}}\n\n`
  }

  private take(): string {
    const { frames } = this
    this.frames = ''
    return frames
  }
}

const BEGUN: ResponseState = {
  status: 'in_progress',
  output: [],
  error: null,
  incomplete_details: null,
  usage: null,
}
