/** What a recording says, read in the plainest way and by none of the gateway's code: the answer, its count, or its error. */
import type { RecordedResponse } from '#test/support/replay.ts'

// biome-ignore lint/suspicious/noExplicitAny: a naive reading of whatever a provider sent.
export type Wire = any

/** What an application must be able to see of an answer. */
export interface Said {
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly calls: readonly { readonly name: string; readonly arguments: string }[]
  readonly images: readonly string[]
}

/** A provider's count in classes that do not overlap; `completion` has the reasoning that some count beside it. */
export interface Count {
  readonly prompt: number
  readonly cached: number
  readonly written: number
  readonly completion: number
  readonly imageTokens: number
  readonly reasoning: number
}

export interface Truth {
  readonly said: Said
  readonly finish: string | null
  readonly count: Count | null
  /** The status of an error, whether it came as one or inside a 200; null where all went well. */
  readonly errorStatus: number | null
  readonly errorText: string
}

export function truthOf(response: RecordedResponse): Truth {
  const wire = wireOf(response)
  const said = saidBy(wire)
  const errors = response.status === 200 ? wire.filter(({ error }) => error) : [wire[0]]
  const usage = wire.map((one) => one?.usage ?? one?.x_groq?.usage).findLast((one) => one)
  return {
    said,
    finish: choicesOf(wire).find(({ finish_reason }) => finish_reason)?.finish_reason ?? null,
    count: usage ? countOf(usage) : null,
    errorStatus: errors.length === 0 ? null : statusOf(response.status, errors[0]?.error),
    errorText: textOf(errors[0] ?? response.text),
  }
}

/** Whether anything of it is content that somebody pays for. */
export const saysAnything = ({ text, reasoning, refusal, calls, images }: Said): boolean =>
  text + reasoning + refusal !== '' || calls.length > 0 || images.length > 0

function wireOf({ sse, body, text }: RecordedResponse): Wire[] {
  if (sse === undefined) return text === undefined ? [body] : []
  return sse
    .split(/\r\n|\n|\r/)
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)))
}

const choicesOf = (wire: Wire[]): Wire[] => wire.flatMap((one) => one?.choices ?? [])

function saidBy(wire: Wire[]): Said {
  const pieces = choicesOf(wire).map(({ delta, message }) => delta ?? message ?? {})
  const calls: { name: string; arguments: string }[] = []
  for (const [place, piece] of pieces.flatMap((one) => one.tool_calls ?? []).entries()) {
    const at = piece.index ?? place
    calls[at] ??= { name: '', arguments: '' }
    calls[at].name ||= piece.function.name ?? ''
    calls[at].arguments += piece.function.arguments ?? ''
  }
  const parts = pieces.flatMap(({ content }) => (Array.isArray(content) ? content : []))
  const thoughts = parts.flatMap(({ thinking }) => thinking ?? []).map(({ text }) => text)
  return {
    text: pieces
      .map(({ content }) =>
        Array.isArray(content) ? content.map(({ text }) => text ?? '').join('') : (content ?? ''),
      )
      .join(''),
    reasoning:
      pieces.map((one) => one.reasoning_content ?? one.reasoning ?? '').join('') +
      thoughts.join(''),
    refusal: pieces.map(({ refusal }) => refusal ?? '').join(''),
    calls,
    images: [
      ...pieces.flatMap((one) => one.images ?? []).map((image) => image.image_url.url),
      ...wire
        .flatMap((one) => one?.data ?? [])
        .map(({ b64_json }) => `data:image/png;base64,${b64_json}`),
    ],
  }
}

function countOf(usage: Wire): Count {
  const prompt = usage.prompt_tokens ?? usage.input_tokens
  const stated = usage.completion_tokens ?? usage.output_tokens
  const details = usage.completion_tokens_details ?? usage.output_tokens_details ?? {}
  const reasoning = details.reasoning_tokens ?? 0
  const before = usage.prompt_tokens_details ?? usage.input_tokens_details ?? {}
  return {
    prompt,
    cached: before.cached_tokens ?? 0,
    written: before.cache_write_tokens ?? 0,
    // xAI: 288 + 27 + 350 = 665.
    completion: usage.total_tokens === prompt + stated + reasoning ? stated + reasoning : stated,
    imageTokens: details.image_tokens ?? 0,
    reasoning: Math.min(reasoning, usage.total_tokens - prompt),
  }
}

/** Inside a 200 the error says its status itself. */
const statusOf = (status: number, error: Wire): number =>
  status === 200 ? (error.status ?? error.status_code ?? error.code) : status

function textOf(body: Wire): string {
  if (typeof body === 'string') return body
  const { error = body, detail } = body ?? {}
  if (Array.isArray(detail)) return detail[0].msg
  return typeof error === 'string' ? error : (detail ?? error?.message ?? '')
}
