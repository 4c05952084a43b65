/** OpenAI's Responses API, by a model that thinks before it calls. */
import { type Counted, type Json, pieces, type Saying } from '../turn.ts'
import { callId, list, type Round, sse, type Wire, words } from './wire.ts'

export const RESPONSES: Wire = {
  type: 'openai',
  model: 'openai/gpt-5',
  alias: 'claude-opus-4-5',
  flags: ['--wires', 'responses'],
  base: '/v1',
  hear: (body) => ({
    stream: body['stream'] === true,
    tools: list(body['tools']).flatMap(({ name }) => (typeof name === 'string' ? [name] : [])),
    ...roundsOf(list(body['input'])),
  }),
  whole: (saying, counted, body) => response(body, 'completed', itemsOf(saying, body), counted),
  stream(saying, counted, body) {
    const items = itemsOf(saying, body)
    const events: Json[] = [
      { type: 'response.created', response: response(body, 'in_progress') },
      { type: 'response.in_progress', response: response(body, 'in_progress') },
      ...items.flatMap(spell),
      { type: 'response.completed', response: response(body, 'completed', items, counted) },
    ]
    return sse(events.map((event, sequence_number) => ({ ...event, sequence_number })))
  },
}

function roundsOf(input: readonly Json[]) {
  const rounds: Round[] = []
  const faults: string[] = []
  let calls: string[] = []
  let results: Round['results'][number][] = []
  for (const { type, call_id, output, encrypted_content } of input) {
    const call = String(call_id)
    if (type === 'reasoning' && !encrypted_content) faults.push('a thought that nobody stored')
    if (type === 'function_call') {
      if (results.length > 0 || calls.length === 0) {
        calls = []
        results = []
        rounds.push({ calls, results })
      }
      calls.push(call)
    }
    if (type === 'function_call_output') {
      if (!calls.includes(call)) faults.push(`a result of ${call}, which is not called`)
      results.push({ call, text: words(output) })
    }
  }
  const answered = new Set(rounds.flatMap((round) => round.results.map((one) => one.call)))
  const open = rounds.flatMap((round) => round.calls).filter((call) => !answered.has(call))
  if (open.length > 0) faults.push(`no result of ${open}`)
  return { rounds, faults }
}

function itemsOf({ calls, text }: Saying, { include }: Json): readonly Json[] {
  const isAsked = Array.isArray(include) && include.includes('reasoning.encrypted_content')
  const thought = {
    id: 'rs_standin',
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'Two tools are needed.' }],
    ...(isAsked && { encrypted_content: 'gAAAAABstandin==' }),
  }
  if (!calls)
    return [
      {
        id: 'msg_standin',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
      },
    ]
  return [
    thought,
    ...calls.map(({ tool, args }, place) => ({
      id: callId('fc_', place),
      type: 'function_call',
      status: 'completed',
      name: tool,
      call_id: callId('call_', place),
      arguments: JSON.stringify(args),
    })),
  ]
}

/** An item as a stream opens it, continues it and closes it. */
function spell(item: Json, output_index: number): readonly Json[] {
  const at = { item_id: item['id'], output_index }
  const done = { type: 'response.output_item.done', output_index, item }
  const added = (empty: Json): Json => ({
    type: 'response.output_item.added',
    output_index,
    item: { ...item, ...empty },
  })
  switch (item['type']) {
    case 'reasoning': {
      const [part] = list(item['summary'])
      const summary = { ...at, summary_index: 0 }
      const text = part?.['text']
      return [
        added({ summary: [] }),
        {
          type: 'response.reasoning_summary_part.added',
          ...summary,
          part: { ...part, text: '' },
        },
        { type: 'response.reasoning_summary_text.delta', ...summary, delta: text },
        { type: 'response.reasoning_summary_text.done', ...summary, text },
        { type: 'response.reasoning_summary_part.done', ...summary, part },
        done,
      ]
    }
    case 'function_call': {
      const args = String(item['arguments'])
      return [
        added({ status: 'in_progress', arguments: '' }),
        ...pieces(args).map((delta) => ({
          type: 'response.function_call_arguments.delta',
          ...at,
          delta,
        })),
        { type: 'response.function_call_arguments.done', ...at, arguments: args },
        done,
      ]
    }
    default: {
      const [part] = list(item['content'])
      const content = { ...at, content_index: 0 }
      const text = String(part?.['text'])
      return [
        added({ status: 'in_progress', content: [] }),
        { type: 'response.content_part.added', ...content, part: { ...part, text: '' } },
        ...pieces(text).map((delta) => ({
          type: 'response.output_text.delta',
          ...content,
          delta,
          logprobs: [],
        })),
        { type: 'response.output_text.done', ...content, text, logprobs: [] },
        { type: 'response.content_part.done', ...content, part },
        done,
      ]
    }
  }
}

const response = (
  body: Json,
  status: string,
  output: readonly Json[] = [],
  counted?: Counted,
): Json => ({
  id: 'resp_standin',
  object: 'response',
  created_at: 1_795_000_000,
  status,
  background: false,
  error: null,
  incomplete_details: null,
  instructions: body['instructions'] ?? null,
  max_output_tokens: body['max_output_tokens'] ?? null,
  model: body['model'],
  output,
  parallel_tool_calls: body['parallel_tool_calls'] ?? true,
  previous_response_id: null,
  reasoning: body['reasoning'] ?? { effort: null, summary: null },
  service_tier: 'default',
  store: body['store'] ?? true,
  temperature: 1,
  text: body['text'] ?? { format: { type: 'text' } },
  tool_choice: body['tool_choice'] ?? 'auto',
  tools: body['tools'] ?? [],
  top_p: 1,
  truncation: 'disabled',
  user: null,
  metadata: {},
  usage: counted ? usageOf(counted) : null,
})

const usageOf = ({ input, cached, output }: Counted): Json => ({
  input_tokens: input + cached,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: input + cached + output,
})
