/** Anthropic's Messages API, by a model that thinks where it is asked to. */
import { type Counted, type Json, pieces, type Saying } from '../turn.ts'
import { callId, list, type Round, sse, type Wire, words } from './wire.ts'

export const ANTHROPIC: Wire = {
  type: 'anthropic',
  model: 'anthropic/claude-sonnet-4-5',
  alias: 'claude-sonnet-4-5',
  flags: [],
  base: '/v1',
  hear: (body) => ({
    stream: body['stream'] === true,
    tools: list(body['tools']).map(({ name }) => String(name)),
    ...roundsOf(list(body['messages'])),
  }),
  whole: (saying, counted, body) => ({
    ...head(body),
    content: blocksOf(saying, body),
    ...endOf(saying),
    usage: usageOf(counted),
  }),
  stream(saying, counted, body) {
    const started = { ...usageOf(counted), output_tokens: 1 }
    return sse([
      {
        type: 'message_start',
        message: {
          ...head(body),
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: started,
        },
      },
      { type: 'ping' },
      ...blocksOf(saying, body).flatMap(spell),
      { type: 'message_delta', delta: endOf(saying), usage: usageOf(counted) },
      { type: 'message_stop' },
    ])
  },
}

function roundsOf(messages: readonly Json[]) {
  const rounds: Round[] = []
  const faults: string[] = []
  let open: readonly string[] = []
  for (const { role, content } of messages) {
    const blocks = list(content)
    if (blocks.some(({ type, text }) => type === 'text' && text === ''))
      faults.push('an empty text block')
    const results = blocks.flatMap(({ type, tool_use_id, content: inner }) =>
      type === 'tool_result' ? [{ call: String(tool_use_id), text: words(inner) }] : [],
    )
    const missing = open.filter((call) => !results.some((one) => one.call === call))
    if (missing.length > 0) faults.push(`no result of ${missing} just after its call`)
    if (results.length > open.length) faults.push('a result of what is not called just before')
    rounds.at(-1)?.results.push(...results)
    open = blocks.flatMap(({ type, id }) => (type === 'tool_use' ? [String(id)] : []))
    if (open.length > 0) rounds.push({ calls: open, results: [] })
    if (!['user', 'assistant', 'system'].includes(String(role))) faults.push(`a role ${role}`)
  }
  if (open.length > 0) faults.push(`no result of ${open}`)
  return { rounds, faults }
}

function blocksOf({ calls, text }: Saying, { thinking }: Json): readonly Json[] {
  if (!calls) return [{ type: 'text', text }]
  const { type } = (thinking ?? {}) as Json
  const thought = { type: 'thinking', thinking: 'Two tools are needed.', signature: 'c3RhbmRpbg==' }
  return [
    ...(type === 'enabled' || type === 'adaptive' ? [thought] : []),
    { type: 'text', text: 'I ask both.' },
    ...calls.map(({ tool, args }, place) => ({
      type: 'tool_use',
      id: callId('toolu_', place),
      name: tool,
      input: args,
    })),
  ]
}

/** A block as a stream opens it, continues it and closes it. */
function spell(block: Json, index: number): readonly Json[] {
  const [empty, deltas] = piecesOf(block)
  return [
    { type: 'content_block_start', index, content_block: { ...block, ...empty } },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

function piecesOf({ type, text, thinking, signature, input }: Json): [Json, readonly Json[]] {
  if (type === 'text')
    return [
      { text: '' },
      pieces(String(text)).map((piece) => ({ type: 'text_delta', text: piece })),
    ]
  if (type === 'thinking')
    return [
      { thinking: '', signature: '' },
      [
        { type: 'thinking_delta', thinking },
        { type: 'signature_delta', signature },
      ],
    ]
  const spelled = pieces(JSON.stringify(input))
  return [
    { input: {} },
    ['', ...spelled].map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  ]
}

const head = ({ model }: Json): Json => ({
  id: 'msg_standin',
  type: 'message',
  role: 'assistant',
  model,
})

const endOf = ({ calls }: Saying): Json => ({
  stop_reason: calls ? 'tool_use' : 'end_turn',
  stop_sequence: null,
})

const usageOf = ({ input, cached, output }: Counted): Json => ({
  input_tokens: input,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: cached,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: output,
  service_tier: 'standard',
})
