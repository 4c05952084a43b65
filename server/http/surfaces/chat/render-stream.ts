/** Renders the events of a walk as the chunks of an OpenAI stream, in the order of contract §7. */
import type { ChatEvent, ChatEvents, JsonObject, ToolCallDelta } from '#domain/chat.ts'
import type { GatewayError } from '#domain/errors.ts'
import type { Charge } from '#domain/ledger.ts'
import { toErrorFields } from '../../render-error.ts'
import type { StreamHead, StreamRenderer } from '../surface.ts'
import { type Numbering, numberEntries } from './number-entries.ts'
import { renderImage } from './render-image.ts'
import { Thoughts } from './render-thoughts.ts'
import { renderToolCallDelta } from './render-tool-call.ts'
import { isOfChat, NOTHING_USED, type RenderedEvent, renderUsage } from './render-whole.ts'

const DONE = 'data: [DONE]\n\n'

interface StreamedChoice {
  readonly index: number
  images: number
  hasText: boolean
  calls: number
  /** Null until a list of unknown fields has come. */
  numbering: Numbering | null
  /** Null until one has come. */
  thoughts: Thoughts | null
  finished: boolean
}

/** One renderer per stream; the repeated fields are serialised once. */
export const startChunks = (head: StreamHead, includeUsage: boolean): StreamRenderer =>
  new StreamChunks(head, includeUsage)

/** A class instead of closures, because there are thousands of streams at once. */
class StreamChunks implements StreamRenderer {
  private readonly opening: string
  private readonly includeUsage: boolean
  private first: StreamedChoice | null = null
  private further: Map<number, StreamedChoice> | null = null
  /** Fields beside `choices`, for the next chunk. */
  private fields = ''
  /** Fields of choices beside their deltas, for the next chunk of each; null where there are none. */
  private choiceFields: Map<number, JsonObject> | null = null

  constructor(head: StreamHead, includeUsage: boolean) {
    const { id, createdUnixSeconds: created, model, provider } = head
    const label = JSON.stringify({ id, object: 'chat.completion.chunk', created, model, provider })
    this.opening = `data: ${label.slice(0, -1)},"choices":[`
    this.includeUsage = includeUsage
  }

  events(events: ChatEvents): string {
    let text = ''
    for (const event of events) text += this.event(event)
    return text
  }

  error(error: GatewayError, requestId: string): string {
    const index = this.unfinished()[0]?.index ?? 0
    for (const choice of this.unfinished()) choice.finished = true
    this.fields += `,"error":${JSON.stringify(toErrorFields(error))},"request_id":"${requestId}"`
    return this.choiceChunk(index, '"content":""', ',"finish_reason":"error"')
  }

  end(charge: Charge | null): string {
    let text = ''
    for (const { index } of this.unfinished()) text += this.finish(index, 'stop', null)
    if (this.includeUsage) {
      this.fields += `,"usage":${JSON.stringify(charge ? renderUsage(charge) : NOTHING_USED)}`
    }
    return text + (this.fields === '' ? '' : this.chunk('')) + DONE
  }

  private event(event: ChatEvent): string {
    if (!isOfChat(event)) return ''
    if (event.type === 'answer-fields') {
      this.fields += renderFields(event.fields)
      return ''
    }
    const index = event.choice
    if (event.type === 'choice-fields') {
      this.choiceFields ??= new Map()
      this.choiceFields.set(index, { ...this.choiceFields.get(index), ...event.fields })
      return ''
    }
    let choice = this.choiceAt(index)
    let text = ''
    if (choice === undefined) {
      choice = this.open(index)
      text = this.choiceChunk(index, '"role":"assistant","content":""', UNFINISHED)
    }
    if (event.type === 'thought') {
      choice.thoughts ??= new Thoughts()
      choice.thoughts.note(event.thought, Number(choice.hasText) + choice.calls)
      return text
    }
    if (event.type !== 'finish') {
      return text + this.choiceChunk(index, renderDelta(event, choice), renderRest(event))
    }
    // Some providers repeat the finish reason; it is sent once.
    if (choice.finished) return text
    choice.finished = true
    return text + this.thoughts(choice) + this.finish(index, event.reason, event.native)
  }

  private choiceAt(index: number): StreamedChoice | undefined {
    return this.first?.index === index ? this.first : this.further?.get(index)
  }

  private open(index: number): StreamedChoice {
    const choice = {
      index,
      images: 0,
      hasText: false,
      calls: 0,
      numbering: null,
      thoughts: null,
      finished: false,
    }
    if (this.first === null) {
      this.first = choice
    } else {
      this.further ??= new Map()
      this.further.set(index, choice)
    }
    return choice
  }

  /** In order of first appearance. */
  private unfinished(): readonly StreamedChoice[] {
    const all = [...(this.first ? [this.first] : []), ...(this.further?.values() ?? [])]
    return all.filter(({ finished }) => !finished)
  }

  private thoughts({ index, thoughts }: StreamedChoice): string {
    if (thoughts === null) return ''
    return this.choiceChunk(index, renderFields(thoughts.fields).slice(1), UNFINISHED)
  }

  private finish(index: number, reason: string, native: string | null): string {
    const why = `,"finish_reason":"${reason}","native_finish_reason":${JSON.stringify(native)}`
    return this.choiceChunk(index, '', why)
  }

  private choiceChunk(index: number, delta: string, rest: string): string {
    const end = this.choiceFields === null ? rest : rest + this.takeChoiceFields(index)
    return this.chunk(`{"index":${index},"delta":{${delta}}${end}}`)
  }

  private takeChoiceFields(index: number): string {
    const fields = this.choiceFields?.get(index)
    if (fields === undefined) return ''
    this.choiceFields?.delete(index)
    if (this.choiceFields?.size === 0) this.choiceFields = null
    return renderFields(fields)
  }

  private chunk(inside: string): string {
    const { opening, fields } = this
    this.fields = ''
    return fields === '' ? `${opening}${inside}]}\n\n` : `${opening}${inside}]${fields}}\n\n`
  }
}

const UNFINISHED = ',"finish_reason":null'

type DeltaEvent = Exclude<
  RenderedEvent,
  { type: 'answer-fields' | 'choice-fields' | 'thought' | 'finish' }
>

function renderDelta(event: DeltaEvent, choice: StreamedChoice): string {
  switch (event.type) {
    case 'text-delta':
      choice.hasText = true
      return `"content":${JSON.stringify(event.text)}`
    case 'reasoning-delta': {
      // Clients read one or the other; none that was tried shows both.
      const text = JSON.stringify(event.text)
      return `"reasoning":${text},"reasoning_content":${text}`
    }
    case 'refusal-delta':
      return `"refusal":${JSON.stringify(event.text)}`
    case 'tool-call-delta': {
      if (event.id !== undefined) choice.calls++
      const call: ToolCallDelta = choice.thoughts?.attachTo(event) ?? event
      return `"tool_calls":[${JSON.stringify(renderToolCallDelta(call))}]`
    }
    case 'image':
      return `"images":[${renderImage(event.url, choice.images++).join('')}]`
    case 'message-fields':
      choice.numbering ??= new Map()
      return renderFields(numberEntries(event.fields, choice.numbering)).slice(1)
  }
}

const renderRest = (event: DeltaEvent): string =>
  'logprobs' in event && event.logprobs !== undefined
    ? `,"logprobs":${JSON.stringify(event.logprobs)}${UNFINISHED}`
    : UNFINISHED

/** Fields that the gateway sets itself. */
const OWN_FIELDS = new Set([
  'id',
  'object',
  'created',
  'model',
  'provider',
  'choices',
  'usage',
  'error',
])

/** `,"a":1,"b":2`, without names that would be duplicates. */
function renderFields(fields: JsonObject): string {
  let text = ''
  for (const name of Object.keys(fields)) {
    const value = OWN_FIELDS.has(name) ? undefined : JSON.stringify(fields[name])
    if (value !== undefined) text += `,${JSON.stringify(name)}:${value}`
  }
  return text
}
