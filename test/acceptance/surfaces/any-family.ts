/** A provider that answers in whichever family it is asked, whole or streamed: `Hello`, at seven tokens for five. */
import type { ServerResponse } from 'node:http'
import type { Asked } from '../traps/scripted-gateway.ts'

interface Told {
  readonly whole: unknown
  /** The frames of the same as a stream; absent where there is none. */
  readonly frames?: readonly object[]
}

/** By the end of the path, without its query. */
const FAMILIES: readonly (readonly [ending: RegExp, tell: (asked: Asked) => Told])[] = [
  [/\/messages$/, () => MESSAGE],
  [/\/count_tokens$/, () => ({ whole: { input_tokens: 7 } })],
  [/\/chat\/completions$/, () => COMPLETION],
  [/\/responses$/, () => RESPONSE],
  [/:(?:streamG|g)enerateContent$/, () => ({ whole: CONTENT, frames: [CONTENT] })],
  [/\/embeddings$/, ({ body }) => ({ whole: toEmbeddings(body) })],
  [/:batchEmbedContents$/, ({ body }) => ({ whole: toBatch(body['requests']) })],
  [/\/rerank$/, ({ body }) => ({ whole: toRanking(body['documents']) })],
]

export function tell(response: ServerResponse, asked: Asked): void {
  const path = asked.path.replace(/\?.*$/s, '')
  const told = FAMILIES.find(([ending]) => ending.test(path))?.[1](asked)
  if (told === undefined) return void response.writeHead(404).end()
  const isStream = asked.body['stream'] === true || path.endsWith(':streamGenerateContent')
  if (!isStream || told.frames === undefined) {
    response.setHeader('content-type', 'application/json')
    return void response.end(JSON.stringify(told.whole))
  }
  response.setHeader('content-type', 'text/event-stream')
  const named = told.frames.map((frame) => {
    const event = 'type' in frame ? `event: ${frame.type}\n` : ''
    return `${event}data: ${JSON.stringify(frame)}\n\n`
  })
  response.end(named.join('') + (told === COMPLETION ? 'data: [DONE]\n\n' : ''))
}

const SAID = 'Hello'

const MESSAGE_HEAD = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' }
const MESSAGE: Told = {
  whole: {
    ...MESSAGE_HEAD,
    content: [{ type: 'text', text: SAID }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 7, output_tokens: 5 },
  },
  frames: [
    {
      type: 'message_start',
      message: { ...MESSAGE_HEAD, content: [], usage: { input_tokens: 7, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: SAID } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 5 },
    },
    { type: 'message_stop' },
  ],
}

const USAGE = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }
const COMPLETION: Told = {
  whole: {
    choices: [{ index: 0, message: { role: 'assistant', content: SAID }, finish_reason: 'stop' }],
    usage: USAGE,
  },
  frames: [
    { choices: [{ index: 0, delta: { content: SAID } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage: USAGE },
  ],
}

const ITEM = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: SAID, annotations: [] }],
}
const RESPONSE_HEAD = { id: 'resp_1', object: 'response', created_at: 1, model: 'm' }
const DONE = {
  ...RESPONSE_HEAD,
  status: 'completed',
  output: [ITEM],
  usage: { input_tokens: 7, output_tokens: 5, total_tokens: 12 },
}
const RESPONSE: Told = {
  whole: DONE,
  frames: [
    { type: 'response.created', sequence_number: 0, response: { ...RESPONSE_HEAD, output: [] } },
    { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: ITEM },
    {
      type: 'response.output_text.delta',
      sequence_number: 2,
      output_index: 0,
      content_index: 0,
      item_id: 'msg_1',
      delta: SAID,
    },
    { type: 'response.output_item.done', sequence_number: 3, output_index: 0, item: ITEM },
    { type: 'response.completed', sequence_number: 4, response: DONE },
  ],
}

const CONTENT = {
  candidates: [
    { index: 0, content: { role: 'model', parts: [{ text: SAID }] }, finishReason: 'STOP' },
  ],
  usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 5, totalTokenCount: 12 },
}

const VECTOR = [0.25, -0.5]

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value])

function toEmbeddings({ input, encoding_format: format }: Asked['body']) {
  const entries = typeof listOf(input)[0] === 'number' ? [input] : listOf(input)
  const embedding =
    format === 'base64' ? Buffer.from(Float32Array.from(VECTOR).buffer).toString('base64') : VECTOR
  return {
    object: 'list',
    data: entries.map((_, index) => ({ object: 'embedding', index, embedding })),
    usage: { prompt_tokens: 7, total_tokens: 7 },
  }
}

const toBatch = (requests: unknown) => ({
  embeddings: listOf(requests).map(() => ({ values: VECTOR })),
})

const toRanking = (documents: unknown) => ({
  id: 'r',
  results: listOf(documents).map((_, index) => ({ index, relevance_score: 1 / (index + 1) })),
  meta: { billed_units: { search_units: 1 } },
})
