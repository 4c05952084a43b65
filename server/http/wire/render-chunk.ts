/** Renders the events of a walk as the chunks of an OpenAI stream, in the order of contract §7. */
import type { ChatEvent, ChatEvents, JsonObject, ToolCallDelta } from '#domain/chat.ts'
import type { GatewayError } from '#domain/errors.ts'
import type { Charge } from '#domain/ledger.ts'
import { toErrorFields } from '../render-error.ts'
import { renderImage } from './render-image.ts'
import { renderToolCallDelta } from './render-tool-call.ts'
import { NOTHING_USED, renderUsage } from './render-usage.ts'

export const KEEP_ALIVE = ': keep-alive\n\n'
const DONE = 'data: [DONE]\n\n'

/** What every chunk of one stream repeats; `provider` is unknown until one has answered. */
export interface StreamHead {
  readonly id: string
  readonly createdUnixSeconds: number
  readonly model: string
  readonly provider?: string
}

export interface ChunkRenderer {
  /** Empty when nothing of it is the client's to see. */
  events(events: ChatEvents): string
  error(error: GatewayError, requestId: string): string
  /** Whatever is still owed: finish reasons, the usage chunk, `[DONE]`. A null charge was for nothing. */
  end(charge: Charge | null): string
}

interface StreamedChoice {
  images: number
  finished: boolean
}

/** One renderer per stream: what its chunks repeat is put into words once. */
export function startChunks(head: StreamHead, includeUsage: boolean): ChunkRenderer {
  const { id, createdUnixSeconds: created, model, provider } = head
  const label = JSON.stringify({ id, object: 'chat.completion.chunk', created, model, provider })
  const open = `data: ${label.slice(0, -1)},"choices":[`
  const choices = new Map<number, StreamedChoice>()
  let fields = ''

  /** Fields beside `choices` ride on the next chunk. */
  const chunk = (inside: string): string => {
    const text = fields === '' ? `${open}${inside}]}\n\n` : `${open}${inside}]${fields}}\n\n`
    fields = ''
    return text
  }
  const choiceChunk = (index: number, delta: string, rest: string): string =>
    chunk(`{"index":${index},"delta":{${delta}}${rest}}`)

  const finish = (index: number, reason: string, native: string | null): string =>
    choiceChunk(
      index,
      '',
      `,"finish_reason":"${reason}","native_finish_reason":${JSON.stringify(native)}`,
    )

  const event = (of: ChatEvent): string => {
    if (of.type === 'usage') return ''
    if (of.type === 'answer-fields') {
      fields += renderFields(of.fields)
      return ''
    }
    let choice = choices.get(of.choice)
    let text = ''
    if (choice === undefined) {
      choice = { images: 0, finished: false }
      choices.set(of.choice, choice)
      text = choiceChunk(of.choice, '"role":"assistant","content":""', UNFINISHED)
    }
    if (of.type !== 'finish') {
      return text + choiceChunk(of.choice, renderDelta(of, choice), renderRest(of))
    }
    // Some providers repeat it; a client is told once.
    if (choice.finished) return text
    choice.finished = true
    return text + finish(of.choice, of.reason, of.native)
  }

  return {
    events(events) {
      let text = ''
      for (const of of events) text += event(of)
      return text
    },
    error(error, requestId) {
      const index = [...choices].find(([, { finished }]) => !finished)?.[0] ?? 0
      for (const choice of choices.values()) choice.finished = true
      fields += `,"error":${JSON.stringify(toErrorFields(error))},"request_id":"${requestId}"`
      return choiceChunk(index, '"content":""', ',"finish_reason":"error"')
    },
    end(charge) {
      let text = ''
      for (const [index, { finished }] of choices) {
        if (!finished) text += finish(index, 'stop', null)
      }
      if (includeUsage) {
        fields += `,"usage":${JSON.stringify(charge ? renderUsage(charge) : NOTHING_USED)}`
      }
      return text + (fields === '' ? '' : chunk('')) + DONE
    },
  }
}

const UNFINISHED = ',"finish_reason":null'

type DeltaEvent = Exclude<ChatEvent, { type: 'usage' | 'answer-fields' | 'finish' }>

function renderDelta(event: DeltaEvent, choice: StreamedChoice): string {
  switch (event.type) {
    case 'text-delta':
      return `"content":${JSON.stringify(event.text)}`
    case 'reasoning-delta':
      return `"reasoning_content":${JSON.stringify(event.text)}`
    case 'refusal-delta':
      return `"refusal":${JSON.stringify(event.text)}`
    case 'tool-call-delta':
      return `"tool_calls":[${JSON.stringify(renderToolCallDelta(event satisfies ToolCallDelta))}]`
    case 'image':
      return `"images":[${renderImage(event.url, choice.images++).join('')}]`
    case 'message-fields':
      return renderFields(event.fields).slice(1)
  }
}

const renderRest = (event: DeltaEvent): string =>
  'logprobs' in event && event.logprobs !== undefined
    ? `,"logprobs":${JSON.stringify(event.logprobs)}${UNFINISHED}`
    : UNFINISHED

/** Names that the gateway says itself. */
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

/** `,"a":1,"b":2`, without what would say a name twice. */
function renderFields(fields: JsonObject): string {
  let text = ''
  for (const name of Object.keys(fields)) {
    const value = OWN_FIELDS.has(name) ? undefined : JSON.stringify(fields[name])
    if (value !== undefined) text += `,${JSON.stringify(name)}:${value}`
  }
  return text
}
