/** Theirs → ours: a whole answer of the Responses API, and what it shares with a stream: items, ending, usage. */
import type { ChatEvent, FinishReason, JsonObject } from '#domain/chat.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { completionTokens, promptTokens } from '#domain/usage.ts'
import { isObject, readList, readObject, readText } from '../../read-json.ts'
import type { Scrub } from '../../scrub.ts'
import type { Translated } from '../../whole-answer.ts'
import { fromErrorInside } from '../from-error.ts'
import { broken } from '../from-response.ts'
import { toUsageEvent } from '../from-usage.ts'

/** Translates the body of a 200, whose text the client gets. */
export function fromResponse(body: unknown, text: string, scrub: Scrub): Translated {
  if (!isObject(body)) return broken('its answer is not a JSON object')
  const events: ChatEvent[] = []
  const failure = failureOf(body, scrub)
  if (failure === null) {
    if (!Array.isArray(body['output'])) return broken('its answer holds no output')
    for (const [index, item] of body['output'].entries()) noteItem(readObject(item), index, events)
    noteFinish(body, events.some(isCall), events)
  }
  noteUsage(body, events.length > 1, events)
  if (failure === null) events.push({ type: 'native', text, holds: 'end' })
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

/** Appends what the meter counts of an item of the output. */
export function noteItem(item: JsonObject, index: number, into: ChatEvent[]): void {
  switch (item['type']) {
    case 'message':
      for (const part of readList(item['content'])) notePart(readObject(part), into)
      break
    case 'reasoning':
      for (const list of [item['summary'], item['content']]) {
        for (const part of readList(list)) {
          const text = readText(readObject(part)['text'])
          if (text !== undefined) into.push({ type: 'reasoning-delta', choice: 0, text })
        }
      }
      break
    case 'image_generation_call':
      break
    default:
      noteCall(item, index, into)
  }
}

function notePart(part: JsonObject, into: ChatEvent[]): void {
  const text = readText(part['text'])
  const refusal = readText(part['refusal'])
  if (text !== undefined) into.push({ type: 'text-delta', choice: 0, text })
  if (refusal !== undefined) into.push({ type: 'refusal-delta', choice: 0, text: refusal })
}

/** What a call of any tool is made of, by the names that the tools have for it. */
const SPOKEN = ['arguments', 'input', 'action', 'operation', 'code', 'queries'] as const

function noteCall(item: JsonObject, index: number, into: ChatEvent[]): void {
  const name = readText(item['name'])
  const words = SPOKEN.map((field) => toWords(item[field])).join('')
  if (name === undefined && words === '') return
  into.push({
    type: 'tool-call-delta',
    choice: 0,
    index,
    ...(name !== undefined && { name }),
    kind: item['type'] === 'custom_tool_call' ? 'custom' : 'function',
    arguments: words,
  })
}

function toWords(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : ''
}

export const isCall = ({ type }: ChatEvent): boolean => type === 'tool-call-delta'

/** Appends why the answer ended. */
export function noteFinish(answer: JsonObject, calls: boolean, into: ChatEvent[]): void {
  const why = readText(readObject(answer['incomplete_details'])['reason'])
  const isWhole = answer['status'] !== 'incomplete'
  const reason: FinishReason = isWhole ? (calls ? 'tool_calls' : 'stop') : toReason(why)
  const native = isWhole ? (readText(answer['status']) ?? 'completed') : (why ?? 'incomplete')
  into.push({ type: 'finish', choice: 0, reason, native })
}

const toReason = (why: string | undefined): FinishReason =>
  why === 'content_filter' ? 'content_filter' : 'length'

/** Appends the provider's count. Zeros beside content are none. */
export function noteUsage(answer: JsonObject, hasContent: boolean, into: ChatEvent[]): void {
  const event = toUsageEvent(answer['usage'])
  if (event === undefined) return
  const { usage } = event
  const isEmpty = usage !== null && promptTokens(usage) + completionTokens(usage) === 0
  if (!(isEmpty && hasContent)) into.push(event)
}
