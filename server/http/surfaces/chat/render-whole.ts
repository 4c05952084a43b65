/** Folds the events of a walk into one answer in OpenAI's shape (contract §7), as pieces of text; and its usage, with the cost in both currencies. */
import type {
  AnswerHead,
  ChatEvent,
  ChatEvents,
  FinishReason,
  JsonObject,
  ToolCallDelta,
} from '#domain/chat.ts'
import type { Charge } from '#domain/ledger.ts'
import { FREE, renderPrice, renderRub, renderRubPerUsd, renderUsdNumber } from '#domain/money.ts'
import { cacheWriteTokens, completionTokens, promptTokens, type Usage } from '#domain/usage.ts'
import { renderImage } from './render-image.ts'
import { Thoughts } from './render-thoughts.ts'
import { renderToolCall, type ToolCall } from './render-tool-call.ts'

/** Fields that most answers lack are null until needed. */
class Choice {
  readonly index: number
  text = ''
  reasoning = ''
  refusal = ''
  toolCalls: Map<number, ToolCall> | null = null
  images: string[] | null = null
  thoughts: Thoughts | null = null
  fields: JsonObject | null = null
  /** Beside the message. */
  choiceFields: JsonObject | null = null
  logprobs: JsonObject | null = null
  reason: FinishReason = 'stop'
  native: string | null = null

  constructor(index: number) {
    this.index = index
  }
}

export const startFold = (): AnswerFold => new AnswerFold()

/** Folds the answer to one request. A class instead of closures, because every non-streamed answer has one. */
export class AnswerFold {
  private readonly choices: Choice[] = []
  private fields: JsonObject | null = null

  note(events: ChatEvents): void {
    for (const event of events) {
      if (!isOfChat(event)) continue
      if (event.type === 'answer-fields') this.fields = merge(this.fields, event.fields)
      else noteChoice(this.choiceAt(event.choice), event)
    }
  }

  /**
   * The JSON of the `chat.completion` in consecutive pieces, so that an image of megabytes is not copied into one string with
   * the rest.
   */
  render(head: AnswerHead, charge: Charge): readonly string[] {
    const { choices } = this
    if (choices.length === 0) choices.push(new Choice(0))
    choices.sort((one, other) => one.index - other.index)
    const usage = renderUsage(charge)
    // The provider's unknown fields are overridden by the gateway's own.
    const answer = {
      ...this.fields,
      id: head.id,
      object: 'chat.completion',
      created: head.createdUnixSeconds,
      model: head.model,
      provider: head.provider,
      choices: choices.map(toChoice),
      usage,
    }
    return choices.some(hasImages)
      ? renderInPieces({ ...answer, choices: undefined, usage: undefined }, choices, usage)
      : [JSON.stringify(answer)]
  }

  private choiceAt(index: number): Choice {
    for (const known of this.choices) if (known.index === index) return known
    const choice = new Choice(index)
    this.choices.push(choice)
    return choice
  }
}

const hasImages = ({ images }: Choice): boolean => images !== null

const merge = (known: JsonObject | null, more: JsonObject): JsonObject =>
  known === null ? more : { ...known, ...more }

/** The events that a chat answer shows. */
export type RenderedEvent = Exclude<
  ChatEvent,
  { type: 'usage' | 'call-signature' | 'native' | 'vectors' | 'ranking' }
>

const BESIDE_CHAT: ReadonlySet<ChatEvent['type']> = new Set([
  'usage',
  'call-signature',
  'native',
  'vectors',
  'ranking',
])

export const isOfChat = (event: ChatEvent): event is RenderedEvent => !BESIDE_CHAT.has(event.type)

type ChoiceEvent = Exclude<RenderedEvent, { type: 'answer-fields' }>

function noteChoice(choice: Choice, event: ChoiceEvent): void {
  switch (event.type) {
    case 'text-delta':
      choice.text += event.text
      if (event.logprobs) choice.logprobs = mergeLogprobs(choice.logprobs, event.logprobs)
      break
    case 'refusal-delta':
      choice.refusal += event.text
      if (event.logprobs) choice.logprobs = mergeLogprobs(choice.logprobs, event.logprobs)
      break
    case 'reasoning-delta':
      choice.reasoning += event.text
      break
    case 'thought':
      choice.thoughts ??= new Thoughts()
      choice.thoughts.note(
        event.thought,
        Number(choice.text !== '') + (choice.toolCalls?.size ?? 0),
      )
      break
    case 'image':
      choice.images ??= []
      choice.images.push(event.url)
      break
    case 'message-fields':
      choice.fields = merge(choice.fields, event.fields)
      break
    case 'choice-fields':
      choice.choiceFields = merge(choice.choiceFields, event.fields)
      break
    case 'finish':
      choice.reason = event.reason
      choice.native = event.native
      break
    case 'tool-call-delta':
      choice.toolCalls ??= new Map()
      noteToolCall(choice.toolCalls, choice.thoughts?.attachTo(event) ?? event)
  }
}

function noteToolCall(calls: Map<number, ToolCall>, delta: ToolCallDelta): void {
  const call = calls.get(delta.index)
  if (call) {
    call.id ??= delta.id
    call.name ??= delta.name
    call.arguments += delta.arguments
    call.fields = { ...call.fields, ...delta.fields }
  } else {
    const { index, kind, id, name, fields = {} } = delta
    calls.set(index, { index, kind, id, name, arguments: delta.arguments, fields })
  }
}

function toChoice(choice: Choice): JsonObject {
  const { index, logprobs, reason, native, choiceFields } = choice
  return {
    index,
    message: toMessage(choice),
    logprobs,
    finish_reason: reason,
    native_finish_reason: native,
    ...choiceFields,
  }
}

/** The message without its images. */
function toMessage({ fields, text, refusal, reasoning, toolCalls, thoughts }: Choice): JsonObject {
  // As in OpenAI's API, content is null only beside tool calls; otherwise it is a string.
  const content = text === '' && toolCalls !== null ? null : text
  const message = merge(fields, { role: 'assistant', content })
  if (refusal === '' && reasoning === '' && toolCalls === null && thoughts === null) return message
  return {
    ...message,
    ...thoughts?.fields,
    ...(refusal !== '' && { refusal }),
    // Clients read one or the other; none that was tried shows both.
    ...(reasoning !== '' && { reasoning, reasoning_content: reasoning }),
    ...(toolCalls && { tool_calls: renderToolCalls(toolCalls) }),
  }
}

const renderToolCalls = (calls: ReadonlyMap<number, ToolCall>): readonly JsonObject[] =>
  [...calls.values()].sort((a, b) => a.index - b.index).map(renderToolCall)

const toEnding = ({ logprobs, reason, native, choiceFields }: Choice): JsonObject => ({
  logprobs,
  finish_reason: reason,
  native_finish_reason: native,
  ...choiceFields,
})

/** The same as `JSON.stringify`, but without copying images. */
function renderInPieces(
  label: JsonObject,
  choices: readonly Choice[],
  usage: JsonObject,
): readonly string[] {
  const opening = JSON.stringify(label)
  const pieces: string[] = []
  let before = `${opening.slice(0, -1)},"choices":[`
  for (const choice of choices) {
    renderChoice(choice, before, pieces)
    before = ','
  }
  pieces.push(`],"usage":${JSON.stringify(usage)}}`)
  return pieces
}

function renderChoice(choice: Choice, before: string, into: string[]): void {
  const images = choice.images ?? []
  const message = JSON.stringify({ ...toMessage(choice), ...(images.length > 0 && NO_IMAGES) })
  into.push(`${before}{"index":${choice.index},"message":${message.slice(0, -1)}`)
  for (const [index, url] of images.entries()) {
    into.push(index === 0 ? ',"images":[' : ',', ...renderImage(url, index))
  }
  into.push(`${images.length > 0 ? ']' : ''}},${JSON.stringify(toEnding(choice)).slice(1)}`)
}

/** Removes a provider's own `images` field, which would be a duplicate. */
const NO_IMAGES = { images: undefined }

/** Arrays of the same name are concatenated; other values are replaced. */
function mergeLogprobs(known: JsonObject | null, more: unknown): JsonObject | null {
  if (typeof more !== 'object' || more === null) return known
  if (known === null) return more as JsonObject
  const merged: Record<string, unknown> = { ...known }
  for (const [name, value] of Object.entries(more)) {
    const before = merged[name]
    merged[name] = Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value
  }
  return merged
}

/** One object literal without spreads, because it is on the hot path. */
export function renderUsage(charge: Charge) {
  const { usage } = charge
  const prompt = promptTokens(usage)
  const completion = completionTokens(usage)
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    images: usage.outputImages,
    prompt_tokens_details: renderPromptDetails(usage),
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    cost_rub: renderRub(charge.costRub),
    cost: renderUsdNumber(charge.amount),
    cost_details: renderCost(charge),
  }
}

function renderCost({ parts, rubPerUsd, priceVersion, source, modifiers }: Charge): CostDetails {
  const cost: CostDetails = {
    prompt_usd: renderPrice(parts.prompt),
    completion_usd: renderPrice(parts.completion),
    images_usd: renderPrice(parts.images),
    rub_per_usd: renderRubPerUsd(rubPerUsd),
    price_version: priceVersion,
    source,
  }
  if (parts.tools !== FREE) cost.tools_usd = renderPrice(parts.tools)
  if (modifiers.length > 0) cost.modifiers = modifiers
  return cost
}

interface CostDetails {
  readonly prompt_usd: string
  readonly completion_usd: string
  readonly images_usd: string
  readonly rub_per_usd: string
  readonly price_version: Charge['priceVersion']
  readonly source: Charge['source']
  tools_usd?: string
  modifiers?: readonly string[]
}

function renderPromptDetails(usage: Usage): PromptDetails {
  const details: { -readonly [Detail in keyof PromptDetails]: PromptDetails[Detail] } = {
    cached_tokens: usage.cacheReadTokens,
    cache_write_tokens: cacheWriteTokens(usage),
  }
  if (usage.cacheWrite1hTokens > 0) details.cache_write_1h_tokens = usage.cacheWrite1hTokens
  if (usage.imageInputTokens > 0) details.image_tokens = usage.imageInputTokens
  return details
}

interface PromptDetails {
  readonly cached_tokens: number
  readonly cache_write_tokens: number
  readonly cache_write_1h_tokens?: number
  readonly image_tokens?: number
}

/** The usage of a stream that failed before anything was produced. */
export const NOTHING_USED = {
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  images: 0,
  cost_rub: 0,
  cost: 0,
}
