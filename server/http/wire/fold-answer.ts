/** Folds the events of a walk into one whole answer in OpenAI's shape (contract §7), as text in pieces. */
import type { AnswerHead, ChatEvent, ChatEvents, FinishReason, JsonObject } from '#domain/chat.ts'
import type { Charge } from '#domain/ledger.ts'
import { mergeLogprobs } from './merge-logprobs.ts'
import { renderImage } from './render-image.ts'
import { renderToolCall, type ToolCall } from './render-tool-call.ts'
import { renderUsage } from './render-usage.ts'

interface Choice {
  readonly index: number
  text: string
  reasoning: string
  refusal: string
  readonly toolCalls: Map<number, ToolCall>
  readonly images: string[]
  fields: JsonObject
  logprobs: JsonObject | null
  finish: { readonly reason: FinishReason; readonly native: string | null }
}

export interface Fold {
  note(events: ChatEvents): void
  /**
   * The JSON of the `chat.completion`, in pieces that follow each other: a picture is megabytes, and is not copied into one
   * text with the rest.
   */
  render(head: AnswerHead, charge: Charge): readonly string[]
}

export function startFold(): Fold {
  const choices = new Map<number, Choice>()
  let fields: JsonObject = {}

  const choiceAt = (index: number): Choice => {
    let choice = choices.get(index)
    if (!choice) {
      choice = emptyChoice(index)
      choices.set(index, choice)
    }
    return choice
  }

  return {
    note(events) {
      for (const event of events) {
        if (event.type === 'usage') continue
        if (event.type === 'answer-fields') fields = { ...fields, ...event.fields }
        else noteChoice(choiceAt(event.choice), event)
      }
    },
    render(head, charge) {
      if (choices.size === 0) choiceAt(0)
      const inOrder = [...choices.values()].sort((a, b) => a.index - b.index)
      const label = { ...fields, ...toLabel(head) }
      const usage = renderUsage(charge)
      const isText = inOrder.every(({ images }) => images.length === 0)
      if (!isText) return renderInPieces(label, inOrder, usage)
      return [JSON.stringify({ ...label, choices: inOrder.map(toWords), usage })]
    },
  }
}

const toLabel = ({ id, createdUnixSeconds, model, provider }: AnswerHead): JsonObject => ({
  id,
  object: 'chat.completion',
  created: createdUnixSeconds,
  model,
  provider,
})

const emptyChoice = (index: number): Choice => ({
  index,
  text: '',
  reasoning: '',
  refusal: '',
  toolCalls: new Map(),
  images: [],
  fields: {},
  logprobs: null,
  finish: { reason: 'stop', native: null },
})

type ChoiceEvent = Exclude<ChatEvent, { type: 'usage' | 'answer-fields' }>

function noteChoice(choice: Choice, event: ChoiceEvent): void {
  switch (event.type) {
    case 'text-delta':
      choice.text += event.text
      choice.logprobs = mergeLogprobs(choice.logprobs, event.logprobs)
      break
    case 'refusal-delta':
      choice.refusal += event.text
      choice.logprobs = mergeLogprobs(choice.logprobs, event.logprobs)
      break
    case 'reasoning-delta':
      choice.reasoning += event.text
      break
    case 'image':
      choice.images.push(event.url)
      break
    case 'message-fields':
      choice.fields = { ...choice.fields, ...event.fields }
      break
    case 'finish':
      choice.finish = { reason: event.reason, native: event.native }
      break
    case 'tool-call-delta': {
      const call = choice.toolCalls.get(event.index)
      if (call) {
        call.id ??= event.id
        call.name ??= event.name
        call.arguments += event.arguments
        call.fields = { ...call.fields, ...event.fields }
      } else {
        const { index, kind, id, name } = event
        const fields = event.fields ?? {}
        choice.toolCalls.set(index, { index, kind, id, name, arguments: event.arguments, fields })
      }
    }
  }
}

const toWords = (choice: Choice): JsonObject => ({
  index: choice.index,
  message: toMessage(choice),
  ...toEnding(choice),
})

/** All of it but the pictures. */
function toMessage({ fields, text, refusal, reasoning, toolCalls }: Choice): JsonObject {
  const calls = [...toolCalls.values()].sort((a, b) => a.index - b.index)
  return {
    ...fields,
    role: 'assistant',
    // OpenAI leaves null beside tool calls alone; anything else is a string, if an empty one.
    content: text === '' && calls.length > 0 ? null : text,
    ...(refusal !== '' && { refusal }),
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls.map(renderToolCall) }),
  }
}

const toEnding = ({ logprobs, finish }: Choice): JsonObject => ({
  logprobs,
  finish_reason: finish.reason,
  native_finish_reason: finish.native,
})

/** What `JSON.stringify` would make of it, with the pictures left as they are. */
function renderInPieces(
  label: JsonObject,
  choices: readonly Choice[],
  usage: JsonObject,
): readonly string[] {
  const opening = JSON.stringify({ ...label, choices: undefined, usage: undefined })
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
  const { images } = choice
  const message = JSON.stringify({ ...toMessage(choice), ...(images.length > 0 && NO_IMAGES) })
  into.push(`${before}{"index":${choice.index},"message":${message.slice(0, -1)}`)
  for (const [index, url] of images.entries()) {
    into.push(index === 0 ? ',"images":[' : ',', ...renderImage(url, index))
  }
  into.push(`${images.length > 0 ? ']' : ''}},${JSON.stringify(toEnding(choice)).slice(1)}`)
}

/** Whatever the provider called so beside them would be said twice. */
const NO_IMAGES = { images: undefined }
