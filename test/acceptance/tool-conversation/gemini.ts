/** The scene on Gemini's wire: parts without ids, and signatures on the first call of a turn or on its text. */
import { expect } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import { sse } from '#test/upstream/fixtures.ts'
import type { Wire } from './actor.ts'
import { COUNTS, FOLLOW_UP, halves, QUESTION, resultsOf, STEPS, SYSTEM, TOOLS } from './scene.ts'

const user = (...parts: readonly JsonObject[]) => ({ role: 'user', parts })
const AN_ID = expect.stringMatching(/^call_\w+$/)

const signatureOf = (step: number): JsonObject => {
  const { thought } = STEPS[step] ?? {}
  return thought ? { thoughtSignature: thought.signature } : {}
}

/** The calls of a step; only the first of those made together is signed. */
const callsOf = (step: number, id?: unknown): readonly JsonObject[] =>
  (STEPS[step]?.calls ?? []).map(({ name, args }, place) => ({
    functionCall: { ...(id !== undefined && { id }), name, args },
    ...(place === 0 && signatureOf(step)),
  }))

const thoughtOf = (step: number): readonly JsonObject[] => {
  const { thought } = STEPS[step] ?? {}
  return thought ? [{ text: thought.text, thought: true }] : []
}

/** A whole text is signed; a streamed one is followed by an empty part that is. */
function wordsOf(step: number, stream: boolean): readonly JsonObject[] {
  const { text } = STEPS[step] ?? {}
  if (text === undefined) return []
  const signature = signatureOf(step)
  if (!stream || !('thoughtSignature' in signature)) return [{ text, ...signature }]
  return [{ text }, { text: '', ...signature }]
}

/** The turn of a step as it must come back, without its thought, and the client's turn behind it. */
function after(step: number, stream: boolean): readonly JsonObject[] {
  const results = resultsOf(STEPS[step] ?? {}).map((result, place) => ({
    functionResponse: {
      id: AN_ID,
      name: STEPS[step]?.calls?.[place]?.name,
      response: result.startsWith('{') ? JSON.parse(result) : { result },
    },
  }))
  return [
    { role: 'model', parts: [...wordsOf(step, stream), ...callsOf(step, AN_ID)] },
    results.length > 0 ? user(...results) : user({ text: FOLLOW_UP }),
  ]
}

/** Each result under the id of its own call, and no id twice. */
function expectPaired(contents: readonly { parts: readonly JsonObject[] }[]): void {
  const idsOf = (kind: string) =>
    contents
      .flatMap(({ parts }) => parts)
      .flatMap((part) => (part[kind] as { id: string } | undefined)?.id ?? [])
  expect(idsOf('functionResponse')).toEqual(idsOf('functionCall'))
  expect(new Set(idsOf('functionCall')).size).toBe(idsOf('functionCall').length)
}

const usageOf = (step: number) => {
  const { prompt = 0, cached, output = 0, thinking = 0 } = COUNTS[step] ?? {}
  return {
    promptTokenCount: prompt,
    cachedContentTokenCount: cached,
    candidatesTokenCount: output - thinking,
    thoughtsTokenCount: thinking,
    totalTokenCount: prompt + output,
  }
}

const said = (parts: readonly JsonObject[], more: JsonObject = {}) => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
})
const STOP = { finishReason: 'STOP' }

export const GEMINI: Wire = {
  check({ path, headers, body }, step, stream) {
    const operation = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
    expect(path).toBe(`/models/gemini-3-flash-preview:${operation}`)
    expect(headers['x-goog-api-key']).toBe('sk-gemini')
    expect(body).toEqual({
      systemInstruction: { parts: [{ text: SYSTEM }] },
      contents: [
        user({ text: QUESTION }),
        ...Array.from({ length: step }, (_, before) => after(before, stream)).flat(),
      ],
      tools: [
        {
          functionDeclarations: TOOLS.map(({ name, description, parameters }) => ({
            name,
            description,
            // A function that takes nothing has no schema here.
            ...(name !== 'today' && { parametersJsonSchema: parameters }),
          })),
        },
      ],
      generationConfig: {
        maxOutputTokens: 4_000,
        thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: true },
      },
    })
    expectPaired(body.contents)
  },
  whole: (step) => ({
    ...said([...thoughtOf(step), ...wordsOf(step, false), ...callsOf(step)], STOP),
    usageMetadata: usageOf(step),
  }),
  stream(step) {
    const [words, ...rest] = wordsOf(step, true)
    const parts = [
      ...thoughtOf(step),
      ...halves(String(words?.['text'] ?? '')).map((text) => ({ text })),
      ...rest,
      ...callsOf(step),
    ]
    const chunks = parts.map((part, place) =>
      place < parts.length - 1
        ? said([part])
        : { ...said([part], STOP), usageMetadata: usageOf(step) },
    )
    return sse(...chunks).replaceAll('\n', '\r\n')
  },
}
