/** The meter counts an answer as it streams, so that its usage is known however it ends. */
import type { ChatEvent, ChatEvents, ChatRequest } from './chat.ts'
import { inputImageTokensOf } from './input-image-tokens.ts'
import type { UsageSource } from './ledger.ts'
import type { ModelCard } from './model-card.ts'
import type { UsdNanos } from './money.ts'
import { estimatedOutputImageTokens } from './output-image-tokens.ts'
import { ANY_IMAGE, type ImageChoice } from './pricing.ts'
import { NO_USAGE, promptTokens, type Usage } from './usage.ts'

export interface Reading {
  readonly usage: Usage
  readonly source: UsageSource
}

export interface Meter {
  /** Counts them, and answers those to deliver: images beyond those that the request holds are withheld (contract §8). */
  note(events: ChatEvents): ChatEvents
  /** Whether any content, or a complete count from the provider, has arrived. */
  readonly produced: boolean
  /** Whether any content has arrived that is delivered. */
  readonly hasContent: boolean
  /** Images delivered. */
  readonly images: number
  /** Size and quality of the generated image as the provider states them. */
  readonly drawn: ImageChoice
  /** The cost that the provider states; null if it states none. */
  readonly statedCost: UsdNanos | null
  readonly finishReason: string | null
  /**
   * The provider's count if it is complete, else an estimate from the streamed bytes (contract §7). With a partial count,
   * the prompt is the provider's and the output the larger of the two.
   */
  read(): Reading
  /** The same with the images that were withheld, which the provider bills all the same; null where there were none. */
  readWithheld(): Usage | null
  /**
   * The same as `read` for a client that disconnected: the provider generates and bills the images anyway, so that if none has
   * arrived, each requested image counts (contract §7).
   */
  readAfterDisconnect(): Reading
}

/** Typical for English text; an estimated charge is always marked as estimated. */
const BYTES_PER_TOKEN = 4
/** Base64 of a file or audio: its tokens depend on pages or seconds, so far more bytes make one token. */
const BYTES_PER_FILE_TOKEN = 100

/** Sanitises a provider's count: an invalid one must neither prevent settlement nor produce a negative charge. */
const toCount = (stated: number): number =>
  Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.ceil(stated) || 0))

const toUsage = (stated: Usage): Usage => ({
  inputTokens: toCount(stated.inputTokens),
  cacheReadTokens: toCount(stated.cacheReadTokens),
  cacheWriteTokens: toCount(stated.cacheWriteTokens),
  imageInputTokens: toCount(stated.imageInputTokens),
  outputTokens: toCount(stated.outputTokens),
  reasoningTokens: toCount(stated.reasoningTokens),
  imageOutputTokens: toCount(stated.imageOutputTokens),
  inputImages: toCount(stated.inputImages),
  outputImages: toCount(stated.outputImages),
})

/** Up to about this length, counting by hand is faster than calling the encoder. */
const SHORT_CHARS = 24

/** UTF-8 bytes of `text`. A stream may split a surrogate pair between two events; the encoder cannot encode half a pair. */
const utf8Bytes = (text: string): number =>
  text.length > SHORT_CHARS && text.isWellFormed() ? encodedBytes(text) : countedBytes(text)

const encoder = new TextEncoder()
/** Only the number of bytes written is used, never the content. */
const scratch = new Uint8Array(16_384)

function encodedBytes(text: string): number {
  let bytes = 0
  for (let at = 0; at < text.length; ) {
    const { read, written } = encoder.encodeInto(at === 0 ? text : text.slice(at), scratch)
    at += read
    bytes += written
  }
  return bytes
}

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

/** Counts UTF-8 bytes without encoding. */
function countedBytes(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    // A surrogate pair is two units and four bytes; any other unit from U+0800 on is three.
    if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2
  }
  return bytes
}

/** The provider's prompt counts, if there are any, and the larger of the two counts for each kind of output. */
function mergePartialCount(stated: Usage | null, estimated: Usage): Usage {
  if (stated === null) return estimated
  return {
    ...(promptTokens(stated) > 0 ? stated : estimated),
    outputTokens: Math.max(stated.outputTokens, estimated.outputTokens),
    reasoningTokens: Math.max(stated.reasoningTokens, estimated.reasoningTokens),
    imageOutputTokens: Math.max(stated.imageOutputTokens, estimated.imageOutputTokens),
  }
}

function estimatePrompt({ textBytes, fileBytes = 0, inputImages }: ChatRequest, card: MeteredCard) {
  const most = card.contextLength ?? Number.MAX_SAFE_INTEGER
  const words =
    Math.ceil((textBytes - fileBytes) / BYTES_PER_TOKEN) +
    Math.ceil(fileBytes / BYTES_PER_FILE_TOKEN)
  if (inputImages === 0) return { inputTokens: Math.min(most, words), imageInputTokens: 0 }
  const { estimate, countsAsContext } = inputImageTokensOf(card)
  const images = inputImages * estimate
  if (!countsAsContext) return { inputTokens: Math.min(most, words), imageInputTokens: images }
  const imageInputTokens = Math.min(most, images)
  return { inputTokens: Math.min(most - imageInputTokens, words), imageInputTokens }
}

/** Counts every requested image, where none has arrived and the provider has not counted. */
function withRequestedImages(
  reading: Reading,
  { wantsImages, choices, image }: ChatRequest,
): Reading {
  const { usage, source } = reading
  if (!wantsImages || usage.outputImages > 0 || source === 'provider') return reading
  const imageOutputTokens = Math.max(
    usage.imageOutputTokens,
    choices * estimatedOutputImageTokens(image),
  )
  return { usage: { ...usage, imageOutputTokens, outputImages: choices }, source }
}

/** The card fields that an estimate needs. The context length bounds the prompt estimate, as it bounds the hold. */
export type MeteredCard = Pick<
  ModelCard,
  'id' | 'upstreamName' | 'contextLength' | 'imagesPerAnswer'
>

/** Starts a meter for one request at one model. */
export const startMeter = (request: ChatRequest, card: MeteredCard): Meter =>
  new EventMeter(request, card)

/** A class, because every attempt has one, and closures over these counters would allocate a dozen objects. */
class EventMeter implements Meter {
  produced = false
  hasContent = false
  images = 0
  drawn = ANY_IMAGE
  statedCost: UsdNanos | null = null
  finishReason: string | null = null
  private readonly request: ChatRequest
  private readonly card: MeteredCard
  /** The images that the request holds. */
  private readonly mostImages: number
  private withheld = 0
  private stated: Usage | null = null
  private partial = false
  private bytes = 0
  private reasoningBytes = 0

  constructor(request: ChatRequest, card: MeteredCard) {
    this.request = request
    this.card = card
    this.mostImages = request.wantsImages ? request.choices * card.imagesPerAnswer : 0
  }

  note(events: ChatEvents): ChatEvents {
    const { images, withheld } = this
    for (const event of events) this.noteEvent(event)
    return this.withheld === withheld ? events : withoutSurplus(events, this.images - images)
  }

  private noteEvent(event: ChatEvent): void {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
        this.noteContent(utf8Bytes(event.text))
        break
      case 'reasoning-delta':
        this.reasoningBytes += utf8Bytes(event.text)
        this.noteContent(0)
        break
      case 'tool-call-delta':
        this.noteContent(utf8Bytes(event.name ?? '') + utf8Bytes(event.arguments))
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
        break
      case 'usage':
        this.statedCost = event.statedCost ?? this.statedCost
        if (event.usage === null) break
        this.stated = toUsage(event.usage)
        this.partial = event.partial ?? false
        // A partial count alone is not an answer that can be charged.
        if (!this.partial) this.produced = true
        break
      case 'message-fields': {
        const bytes = functionCallBytes(event.fields['function_call'])
        if (bytes > 0) this.noteContent(bytes)
        break
      }
      case 'answer-fields':
        break
    }
  }

  private noteContent(bytes: number): void {
    this.bytes += bytes
    this.hasContent = true
    this.produced = true
  }

  read(): Reading {
    const whole = this.readWhole()
    return this.withheld === 0 ? whole : this.readDelivered(whole)
  }

  readWithheld(): Usage | null {
    return this.withheld === 0 ? null : this.readWhole().usage
  }

  /** Everything that arrived. */
  private readWhole(): Reading {
    const { stated, partial, images, withheld } = this
    const usage = stated !== null && !partial ? stated : mergePartialCount(stated, this.estimate())
    return {
      usage: withImageCounts(usage, this.request.inputImages, images + withheld),
      source: stated === null || partial ? 'estimated' : 'provider',
    }
  }

  /** Without the withheld images: their share of the image tokens, or of all that is not text where one count has both. */
  private readDelivered({ usage, source }: Reading): Reading {
    const { images, withheld } = this
    const delivered = (tokens: number): number =>
      Math.floor((tokens * images) / (images + withheld))
    const counts = { ...usage, outputImages: images }
    if (usage.imageOutputTokens > 0) {
      const imageOutputTokens = delivered(usage.imageOutputTokens)
      return { usage: { ...counts, imageOutputTokens }, source: images > 0 ? 'estimated' : source }
    }
    const { outputTokens, reasoningTokens } = usage
    const text = Math.min(outputTokens, Math.max(reasoningTokens, this.estimate().outputTokens))
    return {
      usage: { ...counts, outputTokens: text + delivered(outputTokens - text) },
      source: 'estimated',
    }
  }

  readAfterDisconnect(): Reading {
    return withRequestedImages(this.read(), this.request)
  }

  private estimate(): Usage {
    const { request, bytes, reasoningBytes, images, withheld, drawn } = this
    return {
      ...NO_USAGE,
      ...estimatePrompt(request, this.card),
      outputTokens: Math.ceil((bytes + reasoningBytes) / BYTES_PER_TOKEN),
      reasoningTokens: Math.floor(reasoningBytes / BYTES_PER_TOKEN),
      imageOutputTokens:
        (images + withheld) *
        estimatedOutputImageTokens(drawn.quality === undefined ? request.image : drawn),
    }
  }
}

/** Keeps the first `most` images. */
function withoutSurplus(events: ChatEvents, most: number): ChatEvents {
  let images = 0
  return events.filter(({ type }) => type !== 'image' || images++ < most)
}

const withImageCounts = (usage: Usage, inputImages: number, outputImages: number): Usage =>
  usage.inputImages === inputImages && usage.outputImages === outputImages
    ? usage
    : { ...usage, inputImages, outputImages }
