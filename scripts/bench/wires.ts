/** The same words as three families say them: OpenAI's chunks, Anthropic's events, Gemini's responses. */
import type { Events } from './answer.ts'

/** Of a long stream. */
export const CHUNKS = 2_000
/** Of one whose chunks leave back to back, each in a write of its own. */
export const BURST_CHUNKS = 200
/** Of one that says a word each fiftieth of a second, as a model does. */
export const PACED_CHUNKS = 5
/** Of one that says a word each tenth of a second. */
export const TRICKLE_CHUNKS = 20
/** Of an agent that says a sentence, and calls a tool. */
export const TURN_CHUNKS = 100

const words = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => `word ${i} `)
/** Stands in the first of them. */
export const FIRST_TOKEN = 'word 0 '

const usage = { prompt_tokens: 250, completion_tokens: 60, total_tokens: 310 }
const head = { id: 'chatcmpl-bench', created: 1_700_000_000, model: 'bench' }

export const openAiWhole = {
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'All work and no play. '.repeat(40) },
      finish_reason: 'stop',
    },
  ],
  usage,
}

/** `before` stands in front of every chunk's word. */
export function openAiStream(count: number, before = ''): Events {
  const event = (rest: object): string =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...rest })}\n\n`
  const delta = (content: object, finish: string | null = null): string =>
    event({ choices: [{ index: 0, delta: content, finish_reason: finish }] })
  return {
    first: delta({ role: 'assistant', content: '' }),
    chunks: words(count).map((word) => delta({ content: before + word })),
    last: `${delta({}, 'stop')}${event({ choices: [], usage })}data: [DONE]\n\n`,
  }
}

/** Of a provider that says who speaks together with the first word, so that the first token waits for no clock. */
export function withoutPrelude({ first, chunks: [word = '', ...chunks], last }: Events): Events {
  return { first: first + word, chunks, last }
}

export function anthropicStream(count: number): Events {
  const event = (type: string, rest: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
  const message = {
    id: 'msg_bench',
    type: 'message',
    role: 'assistant',
    model: 'bench',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 250, output_tokens: 1 },
  }
  return {
    first:
      event('message_start', { message }) +
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    chunks: words(count).map((text) =>
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    ),
    last:
      event('content_block_stop', { index: 0 }) +
      event('message_delta', {
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { input_tokens: 250, output_tokens: 60 },
      }) +
      event('message_stop', {}),
  }
}

export function geminiStream(count: number): Events {
  const event = (text: string, candidatesTokenCount: number, finish?: string): string => {
    const candidate = {
      content: { parts: [{ text }], role: 'model' },
      ...(finish && { finishReason: finish }),
      index: 0,
    }
    const usageMetadata = {
      promptTokenCount: 250,
      candidatesTokenCount,
      totalTokenCount: 250 + candidatesTokenCount,
    }
    const rest = { usageMetadata, modelVersion: 'bench', responseId: 'bench' }
    return `data: ${JSON.stringify({ candidates: [candidate], ...rest })}\r\n\r\n`
  }
  return {
    first: event('Well, ', 1),
    chunks: words(count).map((text, place) => event(text, place + 2)),
    last: event('done.', count + 3, 'STOP'),
  }
}
