/** The meter: counts an answer as it passes, so that its usage is known however it ends. */
import type { ChatEvent, ChatEvents, ChatRequest } from './chat.ts'
import { likelyDrawnTokens } from './drawn-tokens.ts'
import type { UsageSource } from './ledger.ts'
import type { ModelCard } from './model-card.ts'
import type { UsdNanos } from './money.ts'
import { ANY_IMAGE, type ImageChoice } from './pricing.ts'
import { seenTokensOf } from './seen-tokens.ts'
import { NO_USAGE, promptTokens, type Usage } from './usage.ts'

export interface Reading {
  readonly usage: Usage
  readonly source: UsageSource
}

export interface Meter {
  note(events: ChatEvents): void
  /** Whether any content or any complete count of the provider's has come. */
  readonly produced: boolean
  /** Whether any content has come; a count is none. */
  readonly hasContent: boolean
  readonly images: number
  /** What the provider said that it drew. */
  readonly drawn: ImageChoice
  /** What the provider said that it charges; null while it says nothing. */
  readonly statedCost: UsdNanos | null
  readonly finishReason: string | null
  /**
   * The provider's count if it came whole, else an estimate from the bytes that passed (contract §7). Where only a partial
   * count came, the prompt is the provider's and the output is whichever is larger.
   */
  read(): Reading
  /**
   * The same for a client that left: pictures that it did not wait for are drawn and billed all the same, so that each one
   * asked for counts where none has come (contract §7).
   */
  readLeft(): Reading
}

/** What English text takes in common tokenizers; an estimate is marked as one wherever it is charged. */
const BYTES_PER_TOKEN = 4
/** Of a file or a sound in base64: pages and seconds take tokens, not bytes. */
const BYTES_PER_FILE_TOKEN = 100

/** A provider's count as a whole number of tokens: a broken one must neither stop a settlement nor earn money. */
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

/** Up to about here, a word of a stream, a text is counted sooner than it is handed to the runtime's encoder. */
const SHORT_CHARS = 24

/** Bytes of `text` in UTF-8. Half a surrogate pair, whose other half a stream may bring yet, is no text to the encoder. */
const utf8Bytes = (text: string): number =>
  text.length > SHORT_CHARS && text.isWellFormed() ? encodedBytes(text) : countedBytes(text)

const encoder = new TextEncoder()
/** Written over and never read: how far it was filled is all that is wanted. */
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

/** Of a call as it was before `tool_calls`: passed on as a field that the gateway does not know, and paid for all the same. */
function calledBytes(call: unknown): number {
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

/** Without making them. */
function countedBytes(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    // A surrogate pair is two units and four bytes; any other unit from U+0800 on is three.
    if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2
  }
  return bytes
}

/** The provider's prompt counts, unless it has yet to count any, and of each kind of output the larger of the two. */
function atLeast(stated: Usage | null, estimated: Usage): Usage {
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
  const { likely, isRead } = seenTokensOf(card)
  const pictures = inputImages * likely
  if (!isRead) return { inputTokens: Math.min(most, words), imageInputTokens: pictures }
  const imageInputTokens = Math.min(most, pictures)
  return { inputTokens: Math.min(most - imageInputTokens, words), imageInputTokens }
}

/** Each picture asked for counts, where none has come and no provider has counted. */
function withPicturesAsked(
  reading: Reading,
  { wantsImages, choices, image }: ChatRequest,
): Reading {
  const { usage, source } = reading
  if (!wantsImages || usage.outputImages > 0 || source === 'provider') return reading
  const imageOutputTokens = Math.max(usage.imageOutputTokens, choices * likelyDrawnTokens(image))
  return { usage: { ...usage, imageOutputTokens, outputImages: choices }, source }
}

/** What an estimate goes by; no estimate of a prompt is larger than the context, which bounds its hold too. */
export type MeteredCard = Pick<ModelCard, 'id' | 'upstreamName' | 'contextLength'>

/** Starts a meter for one request at one model. */
export const startMeter = (request: ChatRequest, card: MeteredCard): Meter =>
  new EventMeter(request, card)

/** A class, because every attempt has one: closures over as many counters would be a dozen objects. */
class EventMeter implements Meter {
  produced = false
  hasContent = false
  images = 0
  drawn = ANY_IMAGE
  statedCost: UsdNanos | null = null
  finishReason: string | null = null
  private readonly request: ChatRequest
  private readonly card: MeteredCard
  private stated: Usage | null = null
  private partial = false
  private bytes = 0
  private reasoningBytes = 0

  constructor(request: ChatRequest, card: MeteredCard) {
    this.request = request
    this.card = card
  }

  note(events: ChatEvents): void {
    for (const event of events) this.noteEvent(event)
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
        // What a provider has only begun to count is not yet an answer that somebody pays for.
        if (!this.partial) this.produced = true
        break
      case 'message-fields': {
        const bytes = calledBytes(event.fields['function_call'])
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
    const { stated, partial } = this
    const usage = stated !== null && !partial ? stated : atLeast(stated, this.estimate())
    return {
      usage: withPictures(usage, this.request.inputImages, this.images),
      source: stated === null || partial ? 'estimated' : 'provider',
    }
  }

  readLeft(): Reading {
    return withPicturesAsked(this.read(), this.request)
  }

  private estimate(): Usage {
    const { request, bytes, reasoningBytes, images, drawn } = this
    return {
      ...NO_USAGE,
      ...estimatePrompt(request, this.card),
      outputTokens: Math.ceil((bytes + reasoningBytes) / BYTES_PER_TOKEN),
      reasoningTokens: Math.floor(reasoningBytes / BYTES_PER_TOKEN),
      imageOutputTokens:
        images * likelyDrawnTokens(drawn.quality === undefined ? request.image : drawn),
    }
  }
}

const withPictures = (usage: Usage, inputImages: number, outputImages: number): Usage =>
  usage.inputImages === inputImages && usage.outputImages === outputImages
    ? usage
    : { ...usage, inputImages, outputImages }
