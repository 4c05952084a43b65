/** Chat completions, as OpenAI and everybody who speaks like it answers them. */
import { type Counted, type Json, pieces, type Saying } from '../turn.ts'
import { callId, list, type Round, sse, type Wire, words } from './wire.ts'

export const CHAT: Wire = {
  type: 'openai-compatible',
  model: 'local/llama',
  alias: 'claude-haiku-4-5',
  flags: [],
  base: '/v1',
  hear: (body) => ({
    stream: body['stream'] === true,
    tools: list(body['tools']).map((tool) => String((tool['function'] as Json)?.['name'])),
    ...roundsOf(list(body['messages'])),
  }),
  whole: (saying, counted, { model }) => ({
    ...head(model),
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: saying.text ?? null, ...callsOf(saying) },
        logprobs: null,
        finish_reason: saying.calls ? 'tool_calls' : 'stop',
      },
    ],
    usage: usageOf(counted),
  }),
  stream(saying, counted, { model }) {
    const chunk = (delta: Json, finish_reason: string | null = null): Json => ({
      ...head(model),
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    })
    const calls = callsOf(saying).tool_calls ?? []
    return sse([
      chunk({ role: 'assistant', content: '' }),
      ...pieces(saying.text ?? '').map((content) => chunk({ content })),
      ...calls.flatMap(({ function: { name, arguments: args }, ...call }, index) => [
        chunk({ tool_calls: [{ index, ...call, function: { name, arguments: '' } }] }),
        ...pieces(args).map((piece) =>
          chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
        ),
      ]),
      chunk({}, saying.calls ? 'tool_calls' : 'stop'),
      { ...head(model), object: 'chat.completion.chunk', choices: [], usage: usageOf(counted) },
      '[DONE]',
    ])
  },
}

function roundsOf(messages: readonly Json[]) {
  const rounds: Round[] = []
  const faults: string[] = []
  let open: string[] = []
  for (const { role, content, tool_calls, tool_call_id } of messages) {
    if (role === 'tool') {
      const call = String(tool_call_id)
      if (!open.includes(call)) faults.push(`a result of ${call}, which is not called just before`)
      open = open.filter((one) => one !== call)
      rounds.at(-1)?.results.push({ call, text: words(content) })
      continue
    }
    if (open.length > 0) faults.push(`no result of ${open} before a message of ${role}`)
    open = list(tool_calls).map(({ id }) => String(id))
    if (open.length > 0) rounds.push({ calls: open, results: [] })
  }
  if (open.length > 0) faults.push(`no result of ${open}`)
  return { rounds, faults }
}

const callsOf = ({ calls }: Saying) =>
  calls
    ? {
        tool_calls: calls.map(({ tool, args }, place) => ({
          id: callId('call_', place),
          type: 'function',
          function: { name: tool, arguments: JSON.stringify(args) },
        })),
      }
    : {}

const head = (model: unknown): Json => ({ id: 'chatcmpl-standin', created: 1_795_000_000, model })

const usageOf = ({ input, cached, output }: Counted): Json => ({
  prompt_tokens: input + cached,
  completion_tokens: output,
  total_tokens: input + cached + output,
  prompt_tokens_details: { cached_tokens: cached },
})
