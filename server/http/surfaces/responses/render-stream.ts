/** A streamed answer: the provider's own frames. The last waits for the receipt; where the provider's are missing, the gateway's end it. */
import type { ChatEvents, JsonObject, NativeEvent } from '#domain/chat.ts'
import type { GatewayError } from '#domain/errors.ts'
import type { Charge } from '#domain/ledger.ts'
import { completionTokens, promptTokens, type Usage } from '#domain/usage.ts'
import type { Work } from '#domain/work.ts'
import { toErrorFields } from '../../render-error.ts'
import { insertCost } from '../insert-cost.ts'
import type { StreamHead, StreamRenderer } from '../surface.ts'

/** A class, because there are thousands of streams at once. */
export class ResponsesStream implements StreamRenderer {
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
      const response = { ...this.answer(), ...fields, usage: charge && renderUsage(charge.usage) }
      return this.frame({ type, response })
    }
    return this.showsCost && charge !== null ? withCost(held, charge) : held
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

interface Ending {
  readonly type: 'response.incomplete' | 'response.failed'
  readonly status: string
  readonly error: { readonly code: string; readonly message: string } | null
  readonly incomplete_details: { readonly reason: string } | null
}

const AT_BOUND: Ending = {
  type: 'response.incomplete',
  status: 'incomplete',
  error: null,
  incomplete_details: { reason: 'max_output_tokens' },
}

const DEFAULT_WAIT_SECONDS = 1

/** Codex repeats both; how long it waits, it reads in the message. */
function toFailure({ code, details }: GatewayError, message: string): Ending {
  const isLimit = code === 'upstream_overloaded'
  const wait = details.retryAfterSeconds ?? DEFAULT_WAIT_SECONDS
  return {
    type: 'response.failed',
    status: 'failed',
    error: isLimit
      ? { code: 'rate_limit_exceeded', message: `${message}. Please try again in ${wait}s.` }
      : { code: 'server_error', message },
    incomplete_details: null,
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

const renderUsage = (usage: Usage): JsonObject => ({
  input_tokens: promptTokens(usage),
  input_tokens_details: {
    cached_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
  },
  output_tokens: completionTokens(usage),
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: promptTokens(usage) + completionTokens(usage),
})

const DATA = /^data: ?(\{.*\})/m

/** Only the data of the frame changes; spread over several lines, it is left as it is. */
const withCost = (frames: string, charge: Charge): string =>
  frames.replace(DATA, (line, data: string) =>
    line.replace(data, () => insertCost(data, ['response', 'usage'], charge)),
  )
