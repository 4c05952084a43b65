/** The scene on Anthropic's wire: turns of blocks, a signed thought first among them. */
import { expect } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import type { Wire } from './actor.ts'
import { COUNTS, FOLLOW_UP, halves, QUESTION, resultsOf, STEPS, SYSTEM, TOOLS } from './scene.ts'

const text = (words: string) => ({ type: 'text', text: words })
const user = (content: readonly JsonObject[]) => ({ role: 'user', content })
const callId = (step: number, place: number): string => `toolu_${step}_${place}`

function blocksOf(step: number): readonly JsonObject[] {
  const { thought, calls = [], text: words } = STEPS[step] ?? {}
  return [
    ...(thought
      ? [{ type: 'thinking', thinking: thought.text, signature: thought.signature }]
      : []),
    ...(words ? [text(words)] : []),
    ...calls.map(({ name, args }, place) => ({
      type: 'tool_use',
      id: callId(step, place),
      name,
      input: args,
    })),
  ]
}

/** The turn of a step as it must come back, and the client's turn behind it. */
function after(step: number): readonly JsonObject[] {
  const results = resultsOf(STEPS[step] ?? {}).map((result, place) => ({
    type: 'tool_result',
    tool_use_id: callId(step, place),
    content: [text(result)],
  }))
  return [
    { role: 'assistant', content: blocksOf(step) },
    user(results.length > 0 ? results : [text(FOLLOW_UP)]),
  ]
}

const promptOf = (step: number) => {
  const { prompt = 0, cached = 0 } = COUNTS[step] ?? {}
  return { input_tokens: prompt - cached, cache_read_input_tokens: cached }
}
const outputOf = (step: number) => ({
  output_tokens: COUNTS[step]?.output,
  output_tokens_details: { thinking_tokens: COUNTS[step]?.thinking },
})
const reasonOf = (step: number): string => (STEPS[step]?.calls ? 'tool_use' : 'end_turn')

/** A block as a stream opens it, continues it and closes it. */
function spell(block: JsonObject, index: number): readonly JsonObject[] {
  const [empty, deltas] = piecesOf(block)
  return [
    { type: 'content_block_start', index, content_block: { ...block, ...empty } },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

function piecesOf(block: JsonObject): readonly [JsonObject, readonly JsonObject[]] {
  const { type, text: words, thinking, signature, input } = block
  if (type === 'text') {
    return [{ text: '' }, halves(String(words)).map((half) => ({ type: 'text_delta', text: half }))]
  }
  if (type === 'thinking') {
    return [
      { thinking: '', signature: '' },
      [
        { type: 'thinking_delta', thinking },
        { type: 'signature_delta', signature },
      ],
    ]
  }
  // A tool without arguments spells nothing at all.
  const json = Object.keys(input as JsonObject).length > 0 ? JSON.stringify(input) : ''
  const spelled = [...json].map((partial_json) => ({ type: 'input_json_delta', partial_json }))
  return [{ input: {} }, [{ type: 'input_json_delta', partial_json: '' }, ...spelled]]
}

export const ANTHROPIC: Wire = {
  check({ path, headers, body }, step, stream) {
    expect(path).toBe('/messages')
    expect(headers).toMatchObject({
      'x-api-key': 'sk-anthropic',
      'anthropic-version': '2023-06-01',
    })
    expect(body).toEqual({
      model: 'claude-haiku-4-5',
      max_tokens: 4_000,
      system: [text(SYSTEM)],
      messages: [
        user([text(QUESTION)]),
        ...Array.from({ length: step }, (_, before) => after(before)).flat(),
      ],
      tools: TOOLS.map(({ name, description, parameters }) => ({
        name,
        description,
        input_schema: parameters,
      })),
      thinking: { type: 'enabled', budget_tokens: 2_048 },
      ...(stream && { stream: true }),
    })
  },
  whole: (step) => ({
    type: 'message',
    role: 'assistant',
    content: blocksOf(step),
    stop_reason: reasonOf(step),
    usage: { ...promptOf(step), ...outputOf(step) },
  }),
  stream(step) {
    const start = { content: [], usage: { ...promptOf(step), output_tokens: 1 } }
    const events: readonly JsonObject[] = [
      { type: 'message_start', message: start },
      { type: 'ping' },
      ...blocksOf(step).flatMap(spell),
      { type: 'message_delta', delta: { stop_reason: reasonOf(step) }, usage: outputOf(step) },
      { type: 'message_stop' },
    ]
    // Padded with blanks, as theirs are.
    return events
      .map((event) => `event: ${event['type']}\ndata: ${JSON.stringify(event)}   \n\n`)
      .join('')
  },
}
