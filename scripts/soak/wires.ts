/** The same answer on every wire that the soak asks for, whole and streamed, with the same count of tokens. */
import type { Events } from '../bench/answer.ts'
import { anthropicStream, geminiStream, openAiStream, openAiWhole } from '../bench/wires.ts'

/** As every wire of the bench counts it, so that each answer costs the same. */
export const PROMPT_TOKENS = 250
export const ANSWER_TOKENS = 60

export interface Wire {
  /** The provider's `--type`. */
  readonly type: string
  readonly whole: object
  stream(chunks: number): Events
  /** Which events of a stream say what it counted. */
  readonly counts: RegExp
}

const anthropicWhole = {
  id: 'msg_soak',
  type: 'message',
  role: 'assistant',
  model: 'soak',
  content: [{ type: 'text', text: 'All work and no play. '.repeat(40) }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: PROMPT_TOKENS, output_tokens: ANSWER_TOKENS },
}

const geminiWhole = {
  candidates: [
    {
      content: { parts: [{ text: 'All work and no play. '.repeat(40) }], role: 'model' },
      finishReason: 'STOP',
      index: 0,
    },
  ],
  usageMetadata: {
    promptTokenCount: PROMPT_TOKENS,
    candidatesTokenCount: ANSWER_TOKENS,
    totalTokenCount: PROMPT_TOKENS + ANSWER_TOKENS,
  },
  modelVersion: 'soak',
  responseId: 'soak',
}

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(30_000, 7)])

/** Drawn by the images API, counted as the texts are. */
const image = {
  created: 1_700_000_000,
  data: [{ b64_json: PNG.toString('base64') }],
  usage: {
    input_tokens: PROMPT_TOKENS,
    output_tokens: ANSWER_TOKENS,
    total_tokens: PROMPT_TOKENS + ANSWER_TOKENS,
  },
}

/** Its last event counts as many tokens as there were chunks; ours are to cost the same. */
function geminiEvents(chunks: number): Events {
  const events = geminiStream(chunks)
  const counted = (n: number): string =>
    `"candidatesTokenCount":${n},"totalTokenCount":${PROMPT_TOKENS + n}`
  return { ...events, last: events.last.replace(counted(chunks + 3), counted(ANSWER_TOKENS)) }
}

/** By the provider's name. */
export const WIRES: Readonly<Record<string, Wire>> = {
  openai: {
    type: 'openai-compatible',
    whole: openAiWhole,
    stream: openAiStream,
    counts: /^data: .*"choices":\[\],"usage".*\n\n/m,
  },
  anthropic: {
    type: 'anthropic',
    whole: anthropicWhole,
    stream: anthropicStream,
    counts: /,"usage":\{[^}]*\}/,
  },
  gemini: {
    type: 'google',
    whole: geminiWhole,
    stream: geminiEvents,
    counts: /,"usageMetadata":\{[^}]*\}/,
  },
  images: { type: 'openai', whole: image, stream: openAiStream, counts: /$^/ },
}
