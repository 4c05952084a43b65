/** Anthropic's wire, read in the plainest way: a stream is put together to the message that it spells. */
import type { Count, Heard, Heardable, Wire } from './heard.ts'

const FINISHES: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  refusal: 'content_filter',
}

export function hearAnthropic({ wire }: Heardable): Heard {
  const message = wire[0]?.type === 'message' ? wire[0] : spelled(wire)
  const { content, stop_reason: word, stop_details: details, usage } = message
  const of = (type: string): Wire[] => content.filter((block: Wire) => block?.type === type)
  const join = (type: string): string =>
    of(type)
      .map((block) => block[type])
      .join('')
  return {
    said: {
      text: join('text'),
      reasoning: join('thinking'),
      refusal: word === 'refusal' ? (details?.explanation ?? '') : '',
      calls: of('tool_use').map(({ id, name, input, spelling }) => ({
        id,
        name,
        arguments: spelling ?? JSON.stringify(input),
      })),
      images: [],
    },
    finish: word ? (FINISHES[word] ?? 'unknown') : null,
    hasEnded: Boolean(word),
    count: usage ? countOf(usage) : null,
    error: null,
  }
}

function spelled(events: readonly Wire[]): Wire {
  const start = events.find(({ type }) => type === 'message_start')?.message
  const message = structuredClone(start ?? { content: [] })
  for (const { type, index, content_block: block, delta, usage } of events) {
    if (type === 'content_block_start') {
      message.content[index] = block.type === 'tool_use' ? { ...block, spelling: '' } : { ...block }
    }
    if (type === 'content_block_delta') {
      const { type: _, partial_json: spelling, ...pieces } = delta
      for (const [name, piece] of Object.entries({ ...pieces, ...(spelling && { spelling }) }))
        message.content[index][name] += piece
    }
    // A tool without arguments spells nothing, and means an empty object.
    if (type === 'content_block_stop' && message.content[index].spelling === '')
      message.content[index].spelling = '{}'
    if (type === 'message_delta') {
      Object.assign(message, delta)
      Object.assign(message.usage, usage)
    }
  }
  return message
}

/** Cache reads and writes stand beside `input_tokens`. */
function countOf(usage: Wire): Count {
  const cached = usage.cache_read_input_tokens ?? 0
  const written = usage.cache_creation_input_tokens ?? 0
  return {
    prompt: usage.input_tokens + cached + written,
    cached,
    written,
    completion: usage.output_tokens,
    imageTokens: 0,
    reasoning: usage.output_tokens_details?.thinking_tokens ?? 0,
  }
}
