/** Theirs → ours: an order of documents, in Cohere's shape (`results`) or Voyage's (`data`), and what it was billed by. */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject } from '#domain/json.ts'
import type { Ranked } from '#domain/result.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { NO_USAGE } from '#domain/usage.ts'
import type { Rerank } from '#domain/work.ts'
import { findError } from '../openai/from-response.ts'
import { toPromptEvent } from '../openai/from-usage.ts'
import { isImpossible, readCount } from '../read-json.ts'
import type { Scrub } from '../scrub.ts'
import type { Translated } from '../whole-answer.ts'

/** Translates the body of a 200; `text` is the body as it came. */
export function fromRanking(
  body: unknown,
  text: string,
  request: Rerank,
  scrub: Scrub,
): Translated {
  if (!isObject(body)) return failed('its answer is not a JSON object')
  const usage = toBilled(body)
  // A count that cannot be is not passed on: the client reads what is charged.
  const isSound = usage?.usage != null || !(isObject(body['usage']) || isObject(unitsOf(body)))
  const counted: readonly ChatEvent[] = usage ? [usage] : []
  const failure = findError(body, scrub)
  if (failure) return { events: counted, failure }
  const isCohere = Array.isArray(body['results'])
  const list = readList(isCohere ? body['results'] : body['data'])
  const ranking = readRanking(list, request.documents.length)
  if (ranking === null) return failed('its answer is no order of the documents', counted)
  const { top, shape, returnsDocuments } = request
  const isAsAsked =
    isSound &&
    shape === (isCohere ? 'cohere' : 'voyage') &&
    ranking.length <= top &&
    (!returnsDocuments || list.every((entry) => readObject(entry)['document'] !== undefined))
  const events: ChatEvent[] = [{ type: 'ranking', ranking: ranking.slice(0, top) }, ...counted]
  if (isAsAsked) events.push({ type: 'native', text, holds: 'end' })
  return { events, failure: null }
}

const failed = (problem: string, events: readonly ChatEvent[] = []): Translated => ({
  events,
  failure: new UpstreamFailure('failed', problem),
})

/** Null where it is none: empty, with a document twice, or with one that was not sent. */
function readRanking(list: readonly unknown[], documents: number): readonly Ranked[] | null {
  const seen = new Set<number>()
  const ranking: Ranked[] = []
  for (const entry of list) {
    const { index, relevance_score: score } = readObject(entry)
    const isKnown = typeof index === 'number' && Number.isInteger(index) && index >= 0
    if (!isKnown || index >= documents || seen.has(index) || typeof score !== 'number') return null
    seen.add(index)
    ranking.push({ index, score })
  }
  return ranking.length > 0 ? ranking : null
}

type UsageEvent = Extract<ChatEvent, { type: 'usage' }>

const unitsOf = (body: JsonObject): unknown => readObject(body['meta'])['billed_units']

/** Cohere's `meta.billed_units`, or a `usage` as OpenAI has it. */
function toBilled(body: JsonObject): UsageEvent | undefined {
  const { search_units: units, input_tokens: tokens } = readObject(unitsOf(body))
  if (isImpossible(units) || isImpossible(tokens)) return undefined
  const [searchUnits, inputTokens] = [readCount(units), readCount(tokens)]
  if (searchUnits === undefined && inputTokens === undefined) return toPromptEvent(body['usage'])
  const usage = { ...NO_USAGE, inputTokens: inputTokens ?? 0, searchUnits: searchUnits ?? 0 }
  return { type: 'usage', usage }
}
