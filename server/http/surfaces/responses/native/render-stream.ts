/** A streamed answer: the provider's own frames. The last waits for the receipt; where the provider's are missing, the gateway's end it. */
import type { ChatEvents, JsonObject, NativeEvent } from '#domain/chat.ts'
import type { GatewayError } from '#domain/errors.ts'
import type { Charge } from '#domain/ledger.ts'
import type { Work } from '#domain/work.ts'
import { toErrorFields } from '../../../render-error.ts'
import { insertCostInFrame } from '../../insert-cost.ts'
import type { StreamHead, StreamRenderer } from '../../surface.ts'
import { AT_BOUND, type Ending, toFailure } from '../ending.ts'
import { renderUsage } from '../render-usage.ts'

/** A class, because there are thousands of streams at once. */
export class NativeStream implements StreamRenderer {
  private readonly head: StreamHead
  private readonly showsCost: boolean
  /** The provider's first frames, in which it names the answer. */
  private first: string | null = null
  /** Its last frames so far, whose number those of the gateway follow. */
  private last = ''
  private held = ''
  /** How the gateway ends an answer that its provider has not ended. */
  private ending: Ending | null = null

  constructor(head: StreamHead, { includeUsage }: Work) {
    this.head = head
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
    // The gateway ends an answer that costs more than is held.
    if (isFinished && !isNative && this.held === '') this.ending = AT_BOUND
    return text
  }

  error(error: GatewayError): string {
    const { message, type, code, param } = toErrorFields(error)
    this.ending = toFailure(error, message)
    // Without this one, OpenAI's SDKs report no failure.
    return this.frame({ type: 'error', error: { type, code, message, param } })
  }

  end(charge: Charge | null): string {
    const { held, ending } = this
    if (ending !== null) {
      const { type, ...fields } = ending
      const response = {
        ...this.answer(),
        ...fields,
        usage: charge && renderUsage(charge, this.showsCost),
      }
      return this.frame({ type, response })
    }
    return this.showsCost && charge !== null
      ? insertCostInFrame(held, ['response', 'usage'], charge)
      : held
  }

  private take({ text, holds }: NativeEvent): string {
    if (holds === 'end') {
      this.held += text
      this.ending = null
      return ''
    }
    this.first ??= text
    this.last = text
    return text
  }

  /** The answer as its provider began it, else as the gateway knows it. */
  private answer(): JsonObject {
    const { id, createdUnixSeconds, model } = this.head
    return (
      beginningOf(this.first ?? '') ?? {
        id: `resp_${id}`,
        object: 'response',
        created_at: createdUnixSeconds,
        model,
        output: [],
        parallel_tool_calls: true,
        tool_choice: 'auto',
        tools: [],
      }
    )
  }

  private frame(event: JsonObject & { readonly type: string }): string {
    const sequence_number = lastNumber(this.last) + 1
    this.last = `"sequence_number":${sequence_number}`
    return `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`
  }
}

/** The `response` of the first frame that has one. */
function beginningOf(frames: string): JsonObject | null {
  const data = /^data: ?(\{.*"type": ?"response\.created".*\})\r?$/m.exec(frames)?.[1]
  if (data === undefined) return null
  try {
    const { response } = JSON.parse(data) as { readonly response?: unknown }
    return typeof response === 'object' && response !== null ? (response as JsonObject) : null
  } catch {
    return null
  }
}

/** -1 where no frame has a number. */
function lastNumber(frames: string): number {
  const numbers = [...frames.matchAll(/"sequence_number": ?(\d{1,15})/g)]
  return Number(numbers.at(-1)?.[1] ?? -1)
}
