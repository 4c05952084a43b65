/** How a translated answer ended, in Anthropic's words. */
import type { ChatEvent, FinishReason } from '#domain/chat.ts'

export class Ending {
  private reason: FinishReason | null = null
  private hasRefused = false

  note(event: ChatEvent): void {
    if (event.type === 'finish') this.reason ??= event.reason
    else if (event.type === 'refusal-delta') this.hasRefused = true
  }

  /** Null where the provider says that it broke. A call is to be carried out, even if the provider says that it has stopped. */
  stopReason(called: boolean): string | null {
    const { reason } = this
    if (reason === 'error') return null
    if (reason === 'content_filter' || this.hasRefused) return 'refusal'
    if (reason === 'length') return 'max_tokens'
    return called ? 'tool_use' : 'end_turn'
  }
}
