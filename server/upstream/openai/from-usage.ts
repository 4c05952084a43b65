/** Theirs → ours: a provider's usage in disjoint classes, so that each token is priced exactly once; and the cost that it states. */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject } from '#domain/json.ts'
import { addUsd, readUsdNumber, type UsdNanos } from '#domain/money.ts'
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import { isImpossible, MAX_TOKENS, readCount, readPart } from '../read-json.ts'
import { readServerCalls } from '../server-calls.ts'

/** Counts that are charged; when one of them is impossible, the whole usage is ignored. */
const CHARGED = [
  'prompt_tokens',
  'input_tokens',
  'completion_tokens',
  'output_tokens',
  'total_tokens',
  'citation_tokens',
  'reasoning_tokens',
] as const

/**
 * The usage of an answer or of a chunk: beside its choices, or in Groq's place. Moonshot puts it within the choice, where it is that of the
 * whole answer only if there is no other choice.
 */
export function findUsage(body: JsonObject, hasOneChoice = true): unknown {
  const stated = body['usage'] ?? readObject(body['x_groq'])['usage']
  if (stated !== undefined && stated !== null) return stated
  const choices = readList(body['choices'])
  return hasOneChoice && choices.length === 1 ? readObject(choices[0])['usage'] : undefined
}

/**
 * The event for a usage, a stated cost, or both; undefined when there is neither. A usage of only the prompt or only the
 * completion is partial: the other side is estimated and charged.
 */
export function toUsageEvent(stated: unknown, usage = fromUsage(stated)): StatedUsage | undefined {
  const statedCost = fromCost(stated)
  if (usage === undefined && statedCost === undefined) return undefined
  const event: UsageEvent = { type: 'usage', usage: usage ?? null }
  if (statedCost !== undefined) event.statedCost = statedCost
  if (usage !== undefined && isOneSided(stated)) event.partial = true
  if (usage !== undefined && usage.cacheWriteTokens > 0 && !tellsLongWrites(stated)) {
    event.isUnsplit = true
  }
  return event
}

/** Of what has no answer in tokens: its prompt is all of it, be it stated as such or as the total alone. */
export const toPromptEvent = (stated: unknown): StatedUsage | undefined =>
  toUsageEvent(isObject(stated) ? { ...stated, completion_tokens: 0 } : stated)

type UsageEvent = { -readonly [Field in keyof StatedUsage]: StatedUsage[Field] }
type StatedUsage = Extract<ChatEvent, { type: 'usage' }>

/** Whether only the prompt or only the completion was counted, and no total. */
function isOneSided(stated: unknown): boolean {
  const usage = readObject(stated)
  if (readCount(usage['total_tokens']) !== undefined) return false
  return (statedPrompt(usage) === undefined) !== (statedCompletion(usage) === undefined)
}

const statedPrompt = (usage: JsonObject): number | undefined =>
  readCount(usage['prompt_tokens']) ?? readCount(usage['input_tokens'])

const statedCompletion = (usage: JsonObject): number | undefined =>
  readCount(usage['completion_tokens']) ?? readCount(usage['output_tokens'])

/**
 * Undefined when there is no count or an impossible one; zero is a count. Images are counted by the meter, not here.
 * @example prompt 1144 of which 1024 cached, completion 2 → input 120, cache read 1024, output 2
 */
export function fromUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  for (const name of CHARGED) if (isImpossible(value[name])) return undefined
  const total = readCount(value['total_tokens'])
  const prompt = statedPrompt(value)
  const stated = statedCompletion(value)
  // A total alone does not tell what of it was the answer.
  if (prompt === undefined && stated === undefined) return undefined
  const input = prompt ?? Math.max(0, (total ?? 0) - (stated ?? 0))
  const completion = stated ?? Math.max(0, (total ?? 0) - input)
  const research = readResearch(value)
  const counted: Counted = { ...NO_USAGE, serverCalls: readCalls(value) }
  notePrompt(counted, value, Math.min(input + research.read, MAX_TOKENS))
  noteCompletion(counted, value, completion, (total ?? 0) - input - completion, research.thought)
  return counted
}

interface Research {
  readonly read: number
  readonly thought: number
}

const NO_RESEARCH: Research = { read: 0, thought: 0 }

/**
 * What Perplexity's research read and thought is in none of its counts, nor in their total. Its cost says whether both are billed; until
 * the last chunk, where that is zero, only this model counts thoughts. (SGLang counts them there too, within the completion.)
 */
function readResearch(usage: JsonObject): Research {
  const { citation_tokens: read, reasoning_tokens: thought, num_search_queries: searched } = usage
  if (searched === undefined || (read === undefined && thought === undefined)) return NO_RESEARCH
  const cost = readObject(usage['cost'])
  const isBilled = (part: string): boolean =>
    Number(cost['total_cost']) > 0 ? Number(cost[part]) > 0 : thought !== undefined
  return {
    read: isBilled('citation_tokens_cost') ? (readCount(read) ?? 0) : 0,
    thought: isBilled('reasoning_tokens_cost') ? (readCount(thought) ?? 0) : 0,
  }
}

/**
 * Cached tokens, read or written, are part of the prompt count, and so are image tokens. How many image tokens were cached is
 * unknown: cached tokens are counted as text first, so that no image is charged too little.
 */
function notePrompt(counted: Counted, usage: JsonObject, prompt: number): void {
  const details = promptDetails(usage)
  const hits =
    readCount(details['cached_tokens']) ??
    readCount(usage['prompt_cache_hit_tokens']) ??
    readCount(usage['cached_tokens'])
  counted.cacheReadTokens = readPart(hits, prompt)
  const written = readPart(statedWrites(details), prompt - counted.cacheReadTokens)
  counted.cacheWrite1hTokens = readPart(statedLongWrites(details), written)
  counted.cacheWriteTokens = written - counted.cacheWrite1hTokens
  const uncached = prompt - counted.cacheReadTokens - written
  counted.imageInputTokens = Math.min(readPart(details['image_tokens'], prompt), uncached)
  counted.inputTokens = uncached - counted.imageInputTokens
}

const promptDetails = (usage: JsonObject): JsonObject =>
  readObject(usage['prompt_tokens_details'] ?? usage['input_tokens_details'])

/** In OpenRouter's word and ours, Alibaba's, LiteLLM's. */
const statedWrites = (details: JsonObject): unknown =>
  details['cache_write_tokens'] ??
  details['cache_creation_input_tokens'] ??
  details['cache_creation_tokens']

/** Of these, those written for an hour; most do not tell. */
const statedLongWrites = (details: JsonObject): unknown =>
  details['cache_write_1h_tokens'] ??
  readObject(details['cache_creation'] ?? details['cache_creation_token_details'])[
    'ephemeral_1h_input_tokens'
  ]

const tellsLongWrites = (stated: unknown): boolean =>
  readCount(statedLongWrites(promptDetails(readObject(stated)))) !== undefined

/** Perplexity counts searches; OpenRouter and xAI every tool that they run; most count none. */
function readCalls(usage: JsonObject): Calls {
  const { num_search_queries: searched } = usage
  const run = usage['server_tool_use'] ?? usage['server_side_tool_usage_details']
  if (run === undefined && searched === undefined) return null
  const searches = readCount(searched)
  return readServerCalls(run) ?? (searches === undefined ? null : { web_search: searches })
}

type Calls = Usage['serverCalls']

type Counted = { -readonly [Class in keyof Usage]: Usage[Class] }

/** `beside` is what the total has beyond prompt and completion. */
function noteCompletion(
  counted: Counted,
  usage: JsonObject,
  completion: number,
  beside: number,
  thought: number,
): void {
  const details = readObject(usage['completion_tokens_details'] ?? usage['output_tokens_details'])
  // Some providers bill reasoning in addition to the completion (xAI states it, Google does not); the total shows it.
  const reasoning =
    readCount(details['reasoning_tokens'] ?? usage['reasoning_tokens']) ?? Math.max(0, beside)
  const outside = thought > 0 || (reasoning > 0 && beside === reasoning)
  const produced = outside ? Math.min(completion + reasoning, MAX_TOKENS) : completion
  counted.imageOutputTokens = readPart(details['image_tokens'], produced)
  counted.outputTokens = produced - counted.imageOutputTokens
  counted.reasoningTokens = Math.min(reasoning, counted.outputTokens)
}

/** A tick of xAI is 1e-10 dollars. */
const TICK_PLACES = 10

/**
 * Reads from `usage`: OpenRouter's `cost` (dollars), Perplexity's `cost.total_cost`, or xAI's `cost_in_usd_ticks`. Undefined when
 * there is none or it is invalid.
 */
export function fromCost(usage: unknown): UsdNanos | undefined {
  if (!isObject(usage)) return undefined
  const { cost } = usage
  if (usage['is_byok'] === true) return ofOwnKey(cost, usage['cost_details'])
  // Perplexity's is zero until its last chunk.
  const dollars = isObject(cost) ? cost['total_cost'] || undefined : cost
  return readDollars(dollars) ?? readDollars(usage['cost_in_usd_ticks'], TICK_PLACES)
}

/**
 * When OpenRouter uses the operator's own key with the vendor (BYOK), `cost` is only its fee (often 0) and the vendor bills
 * `upstream_inference_cost`: the operator pays the sum. Undefined when either is missing. Without BYOK that field repeats `cost`
 * or is null.
 */
function ofOwnKey(cost: unknown, details: unknown): UsdNanos | undefined {
  const fee = readDollars(cost)
  const bill = readDollars(readObject(details)['upstream_inference_cost'])
  return fee === undefined || bill === undefined ? undefined : addUsd(fee, bill)
}

const readDollars = (value: unknown, places?: number): UsdNanos | undefined =>
  typeof value === 'number' ? readUsdNumber(value, places) : undefined
