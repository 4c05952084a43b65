/** The scene on OpenAI's wire, by a server that signs its thoughts in `reasoning_details`. */
import { expect } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import { sse } from '#test/upstream/fixtures.ts'
import type { Wire } from './actor.ts'
import { COUNTS, FOLLOW_UP, halves, QUESTION, resultsOf, STEPS, SYSTEM, TOOLS } from './scene.ts'

const callId = (step: number, place: number): string => `call_${step}_${place}`

const callsOf = (step: number) =>
  STEPS[step]?.calls?.map(({ name, args }, place) => ({
    id: callId(step, place),
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }))

function thoughtOf(step: number): JsonObject {
  const { thought } = STEPS[step] ?? {}
  if (!thought) return {}
  const { text, signature } = thought
  return {
    reasoning_content: text,
    reasoning_details: [{ type: 'reasoning.text', text, signature, format: 'acme-v1', index: 0 }],
  }
}

/** The answer of a step as it must come back, and the client's words behind it. */
function after(step: number): readonly JsonObject[] {
  const { text } = STEPS[step] ?? {}
  const calls = callsOf(step)
  const answer = {
    role: 'assistant',
    ...thoughtOf(step),
    content: text ?? expect.toBeOneOf([null, '']),
    ...(calls && { tool_calls: calls }),
  }
  const results = resultsOf(STEPS[step] ?? {}).map((content, place) => ({
    role: 'tool',
    tool_call_id: callId(step, place),
    content,
  }))
  return [answer, ...results, ...(text ? [{ role: 'user', content: FOLLOW_UP }] : [])]
}

const usageOf = (step: number) => {
  const { prompt, cached, output, thinking } = COUNTS[step] ?? {}
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: Number(prompt) + Number(output),
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: thinking },
  }
}

const finishOf = (step: number): string => (STEPS[step]?.calls ? 'tool_calls' : 'stop')

export const OPENAI: Wire = {
  check({ path, headers, body }, step, stream) {
    expect(path).toBe('/chat/completions')
    expect(headers['authorization']).toBe('Bearer sk-openai')
    expect(body.model).toBe('gpt-played')
    expect(body.stream ?? false).toBe(stream)
    expect(body.messages).toMatchObject([
      { role: 'system', content: SYSTEM },
      { role: 'user', content: QUESTION },
      ...Array.from({ length: step }, (_, before) => after(before)).flat(),
    ])
    expect(body.tools).toEqual(
      TOOLS.map(({ name, description, parameters }) => ({
        type: 'function',
        function: { name, description, parameters },
      })),
    )
  },
  whole(step) {
    const calls = callsOf(step)
    const message = {
      role: 'assistant',
      content: STEPS[step]?.text ?? null,
      ...thoughtOf(step),
      ...(calls && { tool_calls: calls }),
    }
    return {
      id: 'x',
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: finishOf(step) }],
      usage: usageOf(step),
    }
  },
  stream(step) {
    const { text = '' } = STEPS[step] ?? {}
    const calls = callsOf(step) ?? []
    const opened = calls.map(({ function: called, ...call }, index) => ({
      tool_calls: [{ index, ...call, function: { name: called.name, arguments: '' } }],
    }))
    // Their arguments interleaved, as calls made together are.
    const spelled = [0, 1].flatMap((half) =>
      calls.map(({ function: called }, index) => ({
        tool_calls: [{ index, function: { arguments: halves(called.arguments)[half] ?? '' } }],
      })),
    )
    const deltas: readonly JsonObject[] = [
      { role: 'assistant', content: '' },
      thoughtOf(step),
      ...halves(text).map((content) => ({ content })),
      ...opened,
      ...spelled,
    ]
    const choice = (delta: JsonObject, finish: string | null = null) => ({
      id: 'x',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
    return sse(
      ...deltas.map((delta) => choice(delta)),
      choice({}, finishOf(step)),
      { id: 'x', choices: [], usage: usageOf(step) },
      '[DONE]',
    )
  },
}
