/** How a translated answer ended, in Anthropic's words. */
import type { ChatEvent, FinishReason, JsonObject } from '#domain/chat.ts'
import { readList } from '#domain/json.ts'
import type { Work } from '#domain/work.ts'

export class Ending {
  /** The client's own. */
  private readonly stops: readonly unknown[]
  private reason: FinishReason | null = null
  private hasRefused = false
  private stopped: string | null = null

  constructor({ body }: Pick<Work, 'body'>) {
    this.stops = readList(body['stop_sequences'])
  }

  note(event: ChatEvent): void {
    if (event.type === 'finish') this.reason ??= event.reason
    else if (event.type === 'refusal-delta') this.hasRefused = true
    else if (event.type === 'choice-fields') this.stopped ??= this.findStop(event.fields)
  }

  /** `called`: whether the answer calls a tool. */
  render(called: boolean): {
    readonly stop_reason: string | null
    readonly stop_sequence: string | null
  } {
    const stop_reason = this.toStopReason(called)
    return { stop_reason, stop_sequence: stop_reason === 'stop_sequence' ? this.stopped : null }
  }

  /** Null where the provider says that it broke. A call is to be carried out, even if the provider says that it has stopped. */
  private toStopReason(called: boolean): string | null {
    const { reason } = this
    if (reason === 'error') return null
    if (reason === 'content_filter' || this.hasRefused) return 'refusal'
    if (reason === 'length') return 'max_tokens'
    if (called) return 'tool_use'
    return this.stopped === null ? 'end_turn' : 'stop_sequence'
  }

  /** vLLM and SGLang say at which sequence an answer stopped. */
  private findStop({ stop_reason, matched_stop }: JsonObject): string | null {
    const found = [stop_reason, matched_stop].find((one) => this.stops.includes(one))
    return typeof found === 'string' ? found : null
  }
}
