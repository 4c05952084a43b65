/** Gemini's API, by a model that gives its calls no ids, and wants the signature of its thought back with the first of them. */
import { type Counted, type Json, pieces, type Saying } from '../turn.ts'
import { list, type Round, sse, type Wire } from './wire.ts'

const SIGNATURE = 'c3RhbmRpbi1zaWduYXR1cmU='
/** What the API takes instead, where a client has lost it. */
const LOST = 'skip_thought_signature_validator'

export const GEMINI: Wire = {
  type: 'google',
  model: 'google/gemini-3-flash-preview',
  alias: 'claude-opus-4-1',
  flags: [],
  base: '/v1beta',
  hear: (body, path) => ({
    stream: path.includes(':streamGenerateContent'),
    tools: list(body['tools']).flatMap(({ functionDeclarations }) =>
      list(functionDeclarations).map(({ name }) => String(name)),
    ),
    ...roundsOf(list(body['contents'])),
  }),
  whole: (saying, counted) => ({
    ...said(partsOf(saying), { finishReason: 'STOP' }),
    usageMetadata: usageOf(counted),
  }),
  stream(saying, counted) {
    const parts = saying.calls ? partsOf(saying) : pieces(saying.text).map((text) => ({ text }))
    return sse(
      parts.map((part, place) =>
        place < parts.length - 1
          ? said([part])
          : { ...said([part], { finishReason: 'STOP' }), usageMetadata: usageOf(counted) },
      ),
    )
  },
}

function roundsOf(contents: readonly Json[]) {
  const rounds: Round[] = []
  const faults: string[] = []
  let open: readonly string[] = []
  for (const { role, parts } of contents) {
    if (role !== 'user' && role !== 'model') faults.push(`a role ${role}`)
    const results = list(parts).flatMap(({ functionResponse }) => {
      if (!functionResponse) return []
      const { id, response } = functionResponse as Json
      return [{ call: String(id), text: JSON.stringify(response) }]
    })
    if (results.length !== open.length)
      faults.push(`${results.length} results follow ${open.length} calls`)
    rounds.at(-1)?.results.push(...results)
    const calls = list(parts).filter(({ functionCall }) => functionCall)
    open = calls.map(({ functionCall }) => String((functionCall as Json)['id']))
    if (open.length > 0) rounds.push({ calls: open, results: [] })
    const signature = calls[0]?.['thoughtSignature']
    if (calls[0] && signature !== SIGNATURE && signature !== LOST)
      faults.push('a call without the signature of its thought')
  }
  if (open.length > 0) faults.push(`no result of ${open}`)
  return { rounds, faults }
}

const partsOf = ({ calls, text }: Saying): readonly Json[] =>
  calls?.map(({ tool, args }, place) => ({
    functionCall: { name: tool, args },
    ...(place === 0 && { thoughtSignature: SIGNATURE }),
  })) ?? [{ text }]

const said = (parts: readonly Json[], more: Json = {}): Json => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
  modelVersion: 'm',
  responseId: 'standin',
})

const usageOf = ({ input, cached, output }: Counted): Json => ({
  promptTokenCount: input + cached,
  cachedContentTokenCount: cached,
  candidatesTokenCount: output,
  totalTokenCount: input + cached + output,
})
