/** Theirs → ours: a whole answer of the Responses API, and what it shares with a stream: failure, ending, usage. */
import type { ChatEvent, FinishReason, JsonObject } from '#domain/chat.ts'
import { isObject, readObject, readText } from '#domain/json.ts'
import type { Origin } from '#domain/thought.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { completionTokens, NO_CALLS, promptTokens, type ServerCalls } from '#domain/usage.ts'
import { readCount } from '../../read-json.ts'
import type { Scrub } from '../../scrub.ts'
import type { Translated } from '../../whole-answer.ts'
import { fromErrorInside } from '../from-error.ts'
import { broken } from '../from-response.ts'
import { toUsageEvent } from '../from-usage.ts'
import { OutputItems } from './output-items.ts'

/** Translates the body of a 200. `origin` is null for a client that gets its text. */
export function fromResponse(
  body: unknown,
  text: string,
  scrub: Scrub,
  origin: Origin | null,
): Translated {
  if (!isObject(body)) return broken('its answer is not a JSON object')
  const events: ChatEvent[] = []
  const items = new OutputItems(origin)
  const failure = failureOf(body, scrub)
  if (failure === null) {
    if (!Array.isArray(body['output'])) return broken('its answer holds no output')
    for (const [at, item] of body['output'].entries()) items.close(at, readObject(item), events)
  }
  noteEnd(body, items, failure === null, events.length > 0, events)
  if (failure === null && origin === null) events.push({ type: 'native', text, holds: 'end' })
  return { events, failure }
}

/** Of an answer that says that it failed, or that it is not complete. */
export function failureOf(answer: JsonObject, scrub: Scrub): UpstreamFailure | null {
  const { error, status } = answer
  if (error !== null && error !== undefined) return fromErrorInside({ error }, scrub)
  return status === 'failed' || UNFINISHED.has(status)
    ? new UpstreamFailure('failed', `it answered with the status ${String(status)}`)
    : null
}

const UNFINISHED: ReadonlySet<unknown> = new Set(['queued', 'in_progress', 'cancelled'])

/** Appends why the answer ended, if it did, what was served, and the provider's count. */
export function noteEnd(
  answer: JsonObject,
  items: OutputItems,
  isWhole: boolean,
  hasContent: boolean,
  into: ChatEvent[],
): void {
  if (isWhole) {
    items.conclude(into)
    into.push(toFinish(answer, items.hasCalls))
    const tier = readText(answer['service_tier'])
    if (tier !== undefined) into.push({ type: 'answer-fields', fields: { service_tier: tier } })
  }
  noteUsage(answer, items, hasContent, into)
}

function toFinish(answer: JsonObject, calls: boolean): ChatEvent {
  const why = readText(readObject(answer['incomplete_details'])['reason'])
  const isWhole = answer['status'] !== 'incomplete'
  const reason: FinishReason = isWhole ? (calls ? 'tool_calls' : 'stop') : toReason(why)
  const native = isWhole ? (readText(answer['status']) ?? 'completed') : (why ?? 'incomplete')
  return { type: 'finish', choice: 0, reason, native }
}

const toReason = (why: string | undefined): FinishReason =>
  why === 'content_filter' ? 'content_filter' : 'length'

/** Zeros beside content are no count. Calls of the vendor's tools are in the output where the provider does not count them. */
function noteUsage(
  answer: JsonObject,
  { serverCalls }: OutputItems,
  hasContent: boolean,
  into: ChatEvent[],
): void {
  const event = toUsageEvent(answer['usage'])
  if (event === undefined) return
  const { usage } = event
  if (usage === null) {
    into.push(event)
    return
  }
  const isEmpty = promptTokens(usage) + completionTokens(usage) === 0
  if (isEmpty && hasContent) return
  const calls = usage.serverCalls ?? withBilled(answer['tool_usage'], serverCalls ?? NO_CALLS)
  into.push({ ...event, usage: { ...usage, serverCalls: calls } })
}

/** OpenAI states how many of its searches are billed, which may be fewer than there are. */
function withBilled(stated: unknown, calls: ServerCalls): ServerCalls {
  const searches = readCount(readObject(readObject(stated)['web_search'])['num_requests'])
  return searches === undefined ? calls : { ...calls, web_search: searches }
}
