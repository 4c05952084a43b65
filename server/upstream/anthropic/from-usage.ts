/** Theirs → ours: usage in disjoint classes. This API's classes are disjoint; only thinking tokens are part of the output. */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject, readText } from '#domain/json.ts'
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import { isImpossible, MAX_TOKENS, readCount, readPart } from '../read-json.ts'
import { readServerCalls } from '../server-calls.ts'

/** Counts that are charged; when one of them is impossible, the whole usage is ignored. */
const CHARGED = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const

/**
 * Undefined when there is no count or an impossible one. Counts are cumulative, so a later usage replaces an earlier one; counts
 * that it omits keep their value of `before`, and so does a prompt whose counts are all zero, as the last event of many servers
 * has it. Beside another count a zero is one: what a server took for new before may have been read from its cache. Calls of the
 * vendor's tools are null until they are stated: the first event of a stream does not.
 * @example input 4, cache read 1163, output 202 → a prompt of 1167 tokens
 */
export function fromUsage(value: unknown, before?: Usage): Usage | undefined {
  if (!isObject(value)) return undefined
  if ([value, ...stepsOf(value)].some(hasImpossible)) return undefined
  const counted = toCounted(value)
  const input = readCount(counted['input_tokens'])
  const output = readCount(counted['output_tokens'])
  if (input === undefined && output === undefined) return undefined
  const known = before ?? NO_USAGE
  const outputTokens = output ?? known.outputTokens
  const thinking = readCount(readObject(value['output_tokens_details'])['thinking_tokens'])
  return {
    ...known,
    ...readPrompt(counted, known),
    outputTokens,
    reasoningTokens: Math.min(thinking ?? known.reasoningTokens, outputTokens),
    serverCalls: readServerCalls(value['server_tool_use']) ?? known.serverCalls,
  }
}

/** The sides that a usage counts, the prompt where it was cached too: of what it leaves out, nothing is known. */
export function readSides(value: unknown): { readonly prompt: boolean; readonly output: boolean } {
  const counted = toCounted(readObject(value))
  const [input, output, read, written] = CHARGED.map((name) => readCount(counted[name]))
  return {
    prompt: input !== undefined || Boolean(read || written),
    output: output !== undefined,
  }
}

const stepsOf = (usage: JsonObject): readonly JsonObject[] =>
  readList(usage['iterations']).filter(isObject)

function toCounted(usage: JsonObject): JsonObject {
  const steps = stepsOf(usage)
  return steps.length === 0 ? usage : sumOf(steps)
}

const hasImpossible = (usage: JsonObject): boolean =>
  CHARGED.some((name) => isImpossible(usage[name]))

/** The steps of a request that the vendor repeated or compacted on its own: each is billed, and the totals may lack some. */
function sumOf(iterations: readonly JsonObject[]): JsonObject {
  const sum = (read: (one: JsonObject) => unknown): number | undefined => {
    const counts = iterations.map((one) => readCount(read(one))).filter((one) => one !== undefined)
    return counts.length === 0 ? undefined : counts.reduce((total, one) => total + one)
  }
  const splits = iterations.some((one) => isObject(one['cache_creation']))
  return {
    ...Object.fromEntries(CHARGED.map((name) => [name, sum((one) => one[name])])),
    ...(splits && {
      cache_creation: {
        [FOR_AN_HOUR]: sum(readForAnHour),
        [FOR_FIVE_MINUTES]: sum(readForFiveMinutes),
      },
    }),
  }
}

const FOR_AN_HOUR = 'ephemeral_1h_input_tokens'
const FOR_FIVE_MINUTES = 'ephemeral_5m_input_tokens'

const readForAnHour = (usage: JsonObject): unknown =>
  readObject(usage['cache_creation'])[FOR_AN_HOUR]

const readForFiveMinutes = (usage: JsonObject): number =>
  readPart(readObject(usage['cache_creation'])[FOR_FIVE_MINUTES], MAX_TOKENS)

type Prompt = Pick<
  Usage,
  'inputTokens' | 'cacheReadTokens' | 'cacheWriteTokens' | 'cacheWrite1hTokens'
>

function readPrompt(usage: JsonObject, known: Prompt): Partial<Prompt> {
  const input = readCount(usage['input_tokens'])
  const read = readCount(usage['cache_read_input_tokens'])
  const stated = readCount(usage['cache_creation_input_tokens'])
  const forAnHour = readPart(readForAnHour(usage), stated || MAX_TOKENS)
  const written = stated || forAnHour + readForFiveMinutes(usage)
  if (!(input || read || written)) return {}
  return {
    inputTokens: input ?? known.inputTokens,
    cacheReadTokens: read ?? known.cacheReadTokens,
    ...(stated === undefined && written === 0 ? {} : splitWrites(usage, written, forAnHour, known)),
  }
}

/** What was written for an hour is part of the count of writes. */
function splitWrites(
  usage: JsonObject,
  written: number,
  forAnHour: number,
  known: Prompt,
): Pick<Prompt, 'cacheWriteTokens' | 'cacheWrite1hTokens'> {
  // A later count may repeat the sum without its parts.
  const repeats = written === known.cacheWriteTokens + known.cacheWrite1hTokens
  const long = isUnsplit(usage) && repeats ? known.cacheWrite1hTokens : forAnHour
  return { cacheWriteTokens: written - long, cacheWrite1hTokens: long }
}

const isUnsplit = (usage: JsonObject): boolean => !isObject(usage['cache_creation'])

/** The event for a count, with what else the usage says of its price. */
export function toUsageEvent(stated: unknown, usage: Usage, isPartial: boolean): ChatEvent {
  const fields = readObject(stated)
  const served = readServed(fields)
  const unsplit =
    usage.cacheWriteTokens > 0 &&
    usage.cacheWrite1hTokens === 0 &&
    readCount(fields['cache_creation_input_tokens']) !== undefined &&
    readList(fields['iterations']).length === 0 &&
    isUnsplit(fields)
  return {
    type: 'usage',
    usage,
    ...(isPartial && { partial: true }),
    ...(served && { served }),
    ...(unsplit && { isUnsplit: true }),
  }
}

/** Undefined where it says nothing of speed and region. */
function readServed({ speed, inference_geo }: JsonObject): JsonObject | undefined {
  const region = readText(inference_geo)
  const known = region === 'not_available' ? undefined : region
  if (readText(speed) === undefined && known === undefined) return undefined
  return { ...(speed !== null && { speed }), ...(known && { inference_geo: known }) }
}
