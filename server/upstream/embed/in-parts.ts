/** A list of entries that is longer than a provider takes is asked in parts, one after the other, and answered as one. */
import type { ChatEvent, ChatEvents } from '#domain/chat.ts'
import type { Vector } from '#domain/result.ts'
import { entryTokens, tokensOf, utf8Bytes } from '#domain/text-size.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import { NO_USAGE, promptTokens } from '#domain/usage.ts'
import type { Embed, EmbedInput } from '#domain/work.ts'
import { performCall, type Wire } from '../call.ts'

/** What a provider takes in one request. */
export interface ListLimits {
  readonly entries: number
  /** Of all entries together, by estimate, with room for its error. */
  readonly tokens: number
}

/** The wire for a part of the request; `isWhole`: for all of it. */
export type PartWire = (part: Embed, isWhole: boolean) => Wire

/** The events of all parts, as if it were one. @throws what `performCall` throws for the first part */
export async function askInParts(
  call: UpstreamCall,
  request: Embed,
  { entries, tokens }: ListLimits,
  wireOf: PartWire,
): Promise<AsyncIterable<ChatEvents>> {
  const parts = split(request, entries, tokens)
  if (parts.length === 1) return await performCall(wireOf(request, true), call)
  const sum = new Sum()
  // A client that leaves pays for the parts that were sent.
  const ask = (part: Embed) => {
    call.sending.partTokens = sum.tokens + estimateOf(part)
    return performCall(wireOf(part, false), { ...call, request: part })
  }
  return join(await ask(parts[0] as Embed), parts, ask, sum, call)
}

/** Entries in parts within both limits; one that is too long stands alone, and the provider judges it. */
function split(request: Embed, mostEntries: number, mostTokens: number): readonly Embed[] {
  const { input } = request
  const parts: Embed[] = []
  let from = 0
  let sum = 0
  for (const [at, entry] of input.entries()) {
    const tokens = roomFor(entry)
    const isFull = at - from >= mostEntries || (sum + tokens > mostTokens && at > from)
    if (isFull) {
      parts.push({ ...request, input: input.slice(from, at) as EmbedInput })
      from = at
      sum = 0
    }
    sum += tokens
  }
  parts.push(from === 0 ? request : { ...request, input: input.slice(from) as EmbedInput })
  return parts
}

type Entry = string | readonly number[]

/** Of no script as few tokens as its usual estimate: a part that is too large would be refused. */
const roomFor = (entry: Entry): number =>
  typeof entry === 'string' ? tokensOf({ bytes: utf8Bytes(entry), dense: 0 }) : entry.length

const estimateOf = ({ input }: Embed): number =>
  (input as readonly Entry[]).reduce<number>((sum, one) => sum + entryTokens(one), 0)

/** `opening` is the answer to the first. A part that fails fails all of it; what the others took is the operator's. */
async function* join(
  opening: AsyncIterable<ChatEvents>,
  parts: readonly Embed[],
  ask: (part: Embed) => Promise<AsyncIterable<ChatEvents>>,
  sum: Sum,
  { sending }: UpstreamCall,
): AsyncGenerator<ChatEvents, void> {
  try {
    for (const part of parts) await sum.take(part === parts[0] ? opening : await ask(part), part)
  } catch (thrown) {
    yield [{ ...sum.usage(), partial: false }]
    throw thrown
  }
  sending.partTokens = undefined
  yield [{ type: 'vectors', vectors: sum.vectors }, sum.usage()]
}

type UsageEvent = Extract<ChatEvent, { type: 'usage' }>

/** What the parts so far have brought. */
class Sum {
  readonly vectors: Vector[] = []
  tokens = 0
  private isCounted = true

  async take(events: AsyncIterable<ChatEvents>, part: Embed): Promise<void> {
    let counted: number | null = null
    for await (const batch of events) {
      for (const event of batch) {
        if (event.type === 'vectors' && 'vectors' in event) this.vectors.push(...event.vectors)
        else if (event.type === 'usage' && event.usage) counted = promptTokens(event.usage)
      }
    }
    if (!counted) this.isCounted = false
    this.tokens += counted || estimateOf(part)
  }

  /** Partial where any estimate is in it. */
  usage(): UsageEvent {
    const usage = { ...NO_USAGE, inputTokens: this.tokens }
    return { type: 'usage', usage, partial: !this.isCounted }
  }
}
