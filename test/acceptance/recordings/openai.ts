/** OpenAI's wire and what followed it, chat and images, read in the plainest way. */
import type { Call, Count, Heard, Heardable, Said, Wire } from './heard.ts'

export function hearOpenAi({ wire, isDone }: Heardable): Heard {
  const choices: Wire[] = wire.flatMap((one) => one.choices ?? [])
  const finish = choices.find(({ finish_reason }) => finish_reason)?.finish_reason ?? null
  const usage = wire.map((one) => one.usage ?? one.x_groq?.usage).findLast((one) => one)
  const broken = wire.find(({ error }) => error)
  return {
    said: saidBy(wire, choices),
    finish,
    hasEnded: isDone || finish !== null,
    count: usage ? countOf(usage) : null,
    // Inside a 200 the error says its status itself.
    error: broken
      ? {
          status: broken.error.status ?? broken.error.status_code ?? broken.error.code,
          text: broken.error.message,
        }
      : null,
  }
}

function saidBy(wire: readonly Wire[], choices: readonly Wire[]): Said {
  const pieces: Wire[] = choices.map(({ delta, message }) => delta ?? message ?? {})
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
    calls: callsOf(pieces),
    images: [
      ...pieces.flatMap((one) => one.images ?? []).map((image) => image.image_url.url),
      ...wire
        .flatMap((one) => one.data ?? [])
        .map(({ b64_json }) => `data:image/png;base64,${b64_json}`),
    ],
  }
}

function callsOf(pieces: readonly Wire[]): readonly Call[] {
  const calls: { id: string; name: string; arguments: string }[] = []
  for (const [place, piece] of pieces.flatMap((one) => one.tool_calls ?? []).entries()) {
    const at = piece.index ?? place
    calls[at] ??= { id: piece.id, name: piece.function.name, arguments: '' }
    calls[at].arguments += piece.function.arguments ?? ''
  }
  return calls
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
