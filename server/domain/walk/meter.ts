/** The meter counts an answer as it streams, so that its usage is known however it ends. */
import type { ChatEvent, ChatEvents, JsonObject } from '../chat.ts'
import { asksForLongCaching, type Extra, estimateCalls } from '../extras.ts'
import {
  estimatedOutputImageTokens,
  inputImageTokensOf,
  LEAST_OUTPUT_IMAGE_TOKENS,
} from '../image-tokens.ts'
import type { UsageSource } from '../ledger.ts'
import type { ModelCard } from '../model-card.ts'
import { ANY_IMAGE, type Prices } from '../model-card.ts'
import { FREE, type UsdNanos } from '../money.ts'
import { estimatePrompt, reasons } from '../offer-cost.ts'
import { denseBytesOf, tokensOf, tokensWithin, utf8Bytes } from '../text-size.ts'
import { completionTokens, NO_CALLS, NO_USAGE, promptTokens, type Usage } from '../usage.ts'
import type { Embed, Rerank, Work } from '../work.ts'

export interface Reading {
  readonly usage: Usage
  readonly source: UsageSource
}

/** A provider's count that is not one must neither prevent settlement nor produce a negative charge. */
function toUsage(stated: Usage): Usage {
  for (const name in stated) if (!isCount(stated[name as keyof Usage])) return sanitise(stated)
  return stated
}

const isCount = (value: Usage[keyof Usage]): boolean =>
  value === null || value === NO_CALLS || (Number.isSafeInteger(value) && Number(value) >= 0)

const sanitise = ({ serverCalls, ...counts }: Usage): Usage => ({
  ...NO_USAGE,
  ...toCounts(counts),
  serverCalls: serverCalls && toCounts(serverCalls),
})

const toCounts = (stated: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(stated).map(([name, count]) => [name, toCount(count)]))

const toCount = (stated: number): number =>
  Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.ceil(stated) || 0))

/** Written for an hour, where the request asks for that and the provider does not tell what is. */
const asWrittenForLong = (usage: Usage): Usage => ({
  ...usage,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: usage.cacheWriteTokens + usage.cacheWrite1hTokens,
})

/** The bytes of a legacy `function_call`, which is passed through as an unknown field but must be counted. */
function functionCallBytes(call: unknown): number {
  if (typeof call !== 'object' || call === null) return 0
  const { name, arguments: text } = call as {
    readonly name?: unknown
    readonly arguments?: unknown
  }
  return [name, text].reduce<number>(
    (sum, one) => sum + (typeof one === 'string' ? utf8Bytes(one) : 0),
    0,
  )
}

/** No tokenizer has fewer tokens than this for a text; what is fewer than this is not a proof. */
const MAX_BYTES_PER_TOKEN = 10

/**
 * The provider's prompt counts, if there are any, and the larger of the two counts for each kind of output. Thoughts that were counted
 * and not seen stand beside what was seen, within the bound.
 */
function mergePartialCount(stated: Usage | null, estimated: Usage, paidTokens: number): Usage {
  if (stated === null) return estimated
  const unseen = Math.max(0, stated.reasoningTokens - estimated.reasoningTokens)
  const produced = Math.min(paidTokens, estimated.outputTokens + unseen)
  return {
    ...(promptTokens(stated) > 0 ? stated : estimated),
    outputTokens: Math.max(stated.outputTokens, produced),
    reasoningTokens: Math.max(stated.reasoningTokens, estimated.reasoningTokens),
    imageOutputTokens: Math.max(stated.imageOutputTokens, estimated.imageOutputTokens),
    serverCalls: stated.serverCalls,
  }
}

/** The prices that decide what must be counted: of a result, and of images that have one by the token. */
export type MeteredPrices = Pick<Prices, 'prompt' | 'searchUnit' | 'imageOutputToken'>

const UNPRICED: MeteredPrices = { prompt: FREE, searchUnit: FREE, imageOutputToken: null }

/** The count of what generates nothing; an estimate where the provider states no count of what has a price. */
function readResult(
  request: Embed | Rerank,
  counted: Usage | null,
  partial: boolean,
  { prompt, searchUnit }: MeteredPrices,
  estimated: Usage,
): Reading {
  const stated = counted ?? NO_USAGE
  const tokens = promptTokens(stated)
  const isByUnits = request.kind === 'rerank' && searchUnit !== FREE
  const lacksUnits = isByUnits && stated.searchUnits === 0
  // A model of two prices is charged both.
  const lacksTokens = tokens === 0 && (prompt !== FREE || !isByUnits)
  const usage = {
    ...stated,
    ...(lacksTokens && { inputTokens: estimated.inputTokens }),
    ...(lacksUnits && { searchUnits: request.searchUnits }),
    outputTokens: 0,
    reasoningTokens: 0,
    imageOutputTokens: 0,
  }
  const isEstimated = counted === null || partial || lacksTokens || lacksUnits
  return { usage, source: isEstimated ? 'estimated' : 'provider' }
}

/** The estimate, within the catalogue's context: no provider counts more. */
function estimatePromptUsage(request: Work, card: MeteredCard) {
  // Each entry of a list, and each document, has the context for itself.
  if (request.kind !== 'generate') {
    return { inputTokens: estimatePrompt(request, card).words, imageInputTokens: 0 }
  }
  const most = (card.isCatalogued ? card.contextLength : null) ?? Number.MAX_SAFE_INTEGER
  const { words, images } = estimatePrompt(request, card)
  const countsAsContext = images > 0 && inputImageTokensOf(card).countsAsContext
  const imageInputTokens = countsAsContext ? Math.min(most, images) : images
  const room = countsAsContext ? most - imageInputTokens : most
  return { inputTokens: Math.min(room, words), imageInputTokens }
}

/** Counts every requested image, where none has arrived and the provider has not counted. */
function withRequestedImages(reading: Reading, { wantsImages, choices, image }: Work): Reading {
  const { usage, source } = reading
  if (!wantsImages || usage.outputImages > 0 || source === 'provider') return reading
  const imageOutputTokens = Math.max(
    usage.imageOutputTokens,
    choices * estimatedOutputImageTokens(image),
  )
  return { usage: { ...usage, imageOutputTokens, outputImages: choices }, source }
}

type UsageEvent = Extract<ChatEvent, { type: 'usage' }>

const NOTHING_SERVED: JsonObject = {}

/** The card fields that an estimate needs. */
export type MeteredCard = Pick<
  ModelCard,
  | 'id'
  | 'upstreamName'
  | 'contextLength'
  | 'isCatalogued'
  | 'imagesPerAnswer'
  | 'supportedParameters'
>

/**
 * Counts the answer to one request at one model. An estimate of the answer is `paidTokens` at most: it proves no more. A class,
 * because every attempt has one, and closures over these counters would allocate a dozen objects.
 */
export class Meter {
  /** Whether any content, or a complete count from the provider, has arrived. */
  produced = false
  /** Whether any content has arrived that is delivered. */
  hasContent = false
  /** Images delivered. */
  images = 0
  /** Size and quality of the generated image as the provider states them. */
  drawn = ANY_IMAGE
  /** The cost that the provider states; null if it states none. */
  statedCost: UsdNanos | null = null
  finishReason: string | null = null
  /** What the provider says it served, under the names of the request's fields. */
  served: JsonObject = NOTHING_SERVED
  private readonly request: Work
  private readonly card: MeteredCard
  /** The images that the request holds. */
  private readonly mostImages: number
  private withheld = 0
  private stated: Usage | null = null
  private partial = false
  private readonly paidTokens: number
  private readonly prices: MeteredPrices
  private bytes = 0
  private dense = 0
  private reasoningBytes = 0
  private reasoningDense = 0
  /** The choices that have finished. */
  private readonly finished: number[] = []

  constructor(
    request: Work,
    card: MeteredCard,
    paidTokens: number,
    prices: MeteredPrices = UNPRICED,
  ) {
    this.request = request
    this.card = card
    this.mostImages = request.wantsImages ? request.choices * card.imagesPerAnswer : 0
    this.paidTokens = paidTokens
    this.prices = prices
  }

  /** Counts them, and answers those to deliver: images beyond those that the request holds are withheld (contract §8). */
  note(events: ChatEvents): ChatEvents {
    const { images, withheld } = this
    for (const event of events) this.noteEvent(event)
    return this.withheld === withheld ? events : withoutSurplus(events, this.images - images)
  }

  private noteEvent(event: ChatEvent): void {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
        this.noteText(event.text)
        break
      case 'reasoning-delta': {
        const bytes = utf8Bytes(event.text)
        this.reasoningBytes += bytes
        if (bytes > event.text.length) this.reasoningDense += denseBytesOf(event.text)
        this.noteContent(0)
        break
      }
      case 'tool-call-delta':
        this.noteText(event.name ?? '')
        this.noteText(event.arguments)
        break
      case 'image':
        if (this.images >= this.mostImages) {
          this.withheld++
          this.produced = true
          break
        }
        this.images++
        this.drawn = event.drawn ?? this.drawn
        this.noteContent(0)
        break
      case 'finish':
        this.finishReason ??= event.reason
        if (!this.finished.includes(event.choice)) this.finished.push(event.choice)
        break
      case 'usage':
        this.noteUsage(event)
        break
      case 'message-fields': {
        const bytes = functionCallBytes(event.fields['function_call'])
        if (bytes > 0) this.noteContent(bytes)
        break
      }
      case 'answer-fields':
        this.noteServed(event.fields)
        break
      case 'vectors':
      case 'ranking':
        this.noteContent(0)
        break
      case 'choice-fields':
      case 'thought':
      case 'call-signature':
      case 'native':
        break
    }
  }

  private noteUsage(event: UsageEvent): void {
    this.statedCost = event.statedCost ?? this.statedCost
    if (event.served !== undefined) this.noteServed(event.served)
    if (event.usage === null) return
    this.stated = toUsage(event.usage)
    if (event.isUnsplit && asksForLongCaching(this.request.extras ?? [])) {
      this.stated = asWrittenForLong(this.stated)
    }
    this.partial = event.partial ?? false
    // A partial count alone is not an answer that can be charged.
    if (!this.partial) this.produced = true
  }

  /** Kept only for a request whose price depends on it. */
  private noteServed(fields: JsonObject): void {
    if (this.request.extras !== undefined) this.served = { ...this.served, ...fields }
  }

  private noteText(text: string): void {
    const bytes = utf8Bytes(text)
    if (bytes > text.length) this.dense += denseBytesOf(text)
    this.noteContent(bytes)
  }

  private noteContent(bytes: number): void {
    this.bytes += bytes
    this.hasContent = true
    this.produced = true
  }

  /**
   * The provider's count if it is complete, else an estimate from the streamed bytes (contract §7). With a partial count,
   * the prompt is the provider's and the output the larger of the two.
   */
  read(): Reading {
    const whole = this.readWhole()
    return this.withheld === 0 ? whole : this.readDelivered(whole)
  }

  /**
   * What is charged with what the provider bills beyond it: images that were withheld, and words that nobody counted and that are
   * surely beyond the bound; null where there are none.
   */
  readUncharged(charged: Usage = this.read().usage): Usage | null {
    const { usage } = this.readWhole()
    const sure = this.isCounted ? 0 : this.sureOutputTokens
    const billed = this.withheld === 0 ? null : usage
    if (sure <= Math.max(usage.outputTokens, charged.outputTokens)) return billed
    return { ...(billed ?? charged), outputTokens: sure }
  }

  /** Everything that arrived. */
  private readWhole(): Reading {
    const { stated, partial, images, withheld, request, paidTokens, prices } = this
    if (request.kind !== 'generate') {
      return readResult(request, stated, partial, prices, this.estimate())
    }
    const { isCounted } = this
    const usage =
      isCounted && stated ? stated : mergePartialCount(stated, this.estimate(), paidTokens)
    const counted = withImageCounts(usage, request.inputImages, images + withheld)
    // One that was drawn unasked is no text to its vendor either.
    const hasDrawn = images > 0 || (withheld > 0 && prices.imageOutputToken !== null)
    const parted = hasDrawn ? this.partImages(counted) : counted
    return {
      usage: request.extras === undefined ? parted : this.withCalls(parted, request.extras),
      source: isCounted && parted === counted ? 'provider' : 'estimated',
    }
  }

  /** Where one count has words and images, what is no words is the images', if it is enough for them. */
  private partImages(usage: Usage): Usage {
    const { outputTokens, imageOutputTokens, outputImages } = usage
    const words = this.wordsIn(usage)
    const beside = outputTokens - words
    if (imageOutputTokens > 0 || beside < outputImages * LEAST_OUTPUT_IMAGE_TOKENS) return usage
    return { ...usage, outputTokens: words, imageOutputTokens: beside }
  }

  /** Of a count that has images too. */
  private wordsIn({ outputTokens, reasoningTokens }: Usage): number {
    return Math.min(outputTokens, Math.max(reasoningTokens, this.estimate().outputTokens))
  }

  /** Whether the provider has counted all of it. */
  private get isCounted(): boolean {
    const { stated, partial } = this
    return stated !== null && !partial && !this.isNoCount(stated)
  }

  /** Zeros alone beside a text, or none for more bytes than a token has: of a server that does not count its answers. */
  private isNoCount(stated: Usage): boolean {
    const bytes = this.bytes + this.reasoningBytes
    if (bytes === 0 || completionTokens(stated) > 0) return false
    return promptTokens(stated) === 0 || bytes > MAX_BYTES_PER_TOKEN
  }

  /** Tools that were asked for have been called, where the provider does not count that. */
  private withCalls(usage: Usage, extras: readonly Extra[]): Usage {
    if (usage.serverCalls !== null || !this.hasContent) return usage
    return { ...usage, serverCalls: estimateCalls(extras, this.request.choices) }
  }

  /** Without the withheld images: their share of the image tokens, or of what is no words where one count has both. */
  private readDelivered({ usage, source }: Reading): Reading {
    const { images, withheld } = this
    const delivered = (tokens: number): number =>
      Math.floor((tokens * images) / (images + withheld))
    const counts = { ...usage, outputImages: images }
    if (usage.imageOutputTokens > 0) {
      const imageOutputTokens = delivered(usage.imageOutputTokens)
      return { usage: { ...counts, imageOutputTokens }, source: images > 0 ? 'estimated' : source }
    }
    const words = this.wordsIn(usage)
    return {
      usage: { ...counts, outputTokens: words + delivered(usage.outputTokens - words) },
      source: 'estimated',
    }
  }

  /**
   * The same as `read` for a client that disconnected: the provider generates and bills the images anyway, so that if none has
   * arrived, each requested image counts (contract §7). Of a list that is asked in parts, `partTokens` were sent.
   */
  readAfterDisconnect(partTokens?: number): Reading {
    if (partTokens !== undefined) {
      return { usage: { ...NO_USAGE, inputTokens: partTokens }, source: 'estimated' }
    }
    return withRequestedImages(this.read(), this.request)
  }

  /** Output tokens that have been produced at least. */
  get sureOutputTokens(): number {
    const counted = this.stated?.outputTokens ?? 0
    return Math.max(counted, Math.floor((this.bytes + this.reasoningBytes) / MAX_BYTES_PER_TOKEN))
  }

  /** Prompt and output that have been used at least. */
  readSurely(): Usage {
    const { stated, request } = this
    const isPromptCounted = stated !== null && promptTokens(stated) > 0
    const inputTokens = Math.floor(request.textBytes / MAX_BYTES_PER_TOKEN)
    return {
      ...(isPromptCounted ? stated : { ...NO_USAGE, inputTokens }),
      outputTokens: this.sureOutputTokens,
    }
  }

  /** Whether thoughts that nobody has counted may be part of the answer, whose content has begun. */
  get lacksThoughts(): boolean {
    const { request, card, stated, partial, hasContent } = this
    return request.stream && hasContent && reasons(card) && (stated === null || partial)
  }

  /** Whether every choice has finished. */
  get isFinished(): boolean {
    return this.finished.length >= this.request.choices
  }

  /** Ends the choices that have not finished, as at their bound; answers the events that say so. */
  cut(): ChatEvents {
    const endings: ChatEvent[] = []
    for (let choice = 0; choice < this.request.choices; choice++) {
      if (this.finished.includes(choice)) continue
      endings.push({ type: 'finish', choice, reason: 'length', native: 'length' })
    }
    this.note(endings)
    return endings
  }

  private estimate(): Usage {
    const {
      request,
      bytes,
      dense,
      reasoningBytes,
      reasoningDense,
      images,
      withheld,
      drawn,
      paidTokens,
    } = this
    const text = { bytes: bytes + reasoningBytes, dense: dense + reasoningDense }
    const reasoning = tokensWithin({ bytes: reasoningBytes, dense: reasoningDense })
    const outputTokens = Math.min(paidTokens, tokensOf(text))
    return {
      ...NO_USAGE,
      ...estimatePromptUsage(request, this.card),
      outputTokens,
      reasoningTokens: Math.min(outputTokens, reasoning),
      imageOutputTokens:
        (images + withheld) *
        estimatedOutputImageTokens(drawn.quality === undefined ? request.image : drawn),
    }
  }
}

const WORDS: ReadonlySet<ChatEvent['type']> = new Set([
  'text-delta',
  'refusal-delta',
  'reasoning-delta',
  'tool-call-delta',
  'message-fields',
])

/** Words that are not passed on any more are paid for where the provider counts them, and are no part of an estimate. */
export const withoutWords = (events: ChatEvents): ChatEvents =>
  events.filter(({ type }) => !WORDS.has(type))

/** Keeps the first `most` images. */
function withoutSurplus(events: ChatEvents, most: number): ChatEvents {
  let images = 0
  return events.filter(({ type }) => type !== 'image' || images++ < most)
}

const withImageCounts = (usage: Usage, inputImages: number, outputImages: number): Usage =>
  usage.inputImages === inputImages && usage.outputImages === outputImages
    ? usage
    : { ...usage, inputImages, outputImages }
