// Recorded answers of the Responses API, and what each must cost.
import { priced } from '#test/support/appliance.ts'
import { surfaceRecordings } from '#test/support/surface-recordings.ts'
import { CACHED_USD, IN_USD, OUT_USD } from './scripted.ts'

/** Every answer that the API gave. */
export const recordedAnswers = surfaceRecordings('openai-responses').filter(
  ({ path, response }) => /\/responses$/.test(path) && response.status === 200,
)
export const textOf = ({ response: { sse, body } }: (typeof recordedAnswers)[number]): string =>
  sse ?? JSON.stringify(body)

/** What was recorded of an answer that was not to be waited for, and of one that failed. */
const UNFINISHED = new Set(['background', 'function-output', 'error-in-stream-fixture'])
export const finishedAnswers = recordedAnswers.filter(({ name }) => !UNFINISHED.has(name))

const usageOf = (text: string) => {
  const found = [...text.matchAll(/"usage": ?(\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})/g)].at(-1)?.[1]
  return JSON.parse(found ?? '{}')
}

/** By the recorded counts, multiplied first and rounded once. */
export function priceOf(text: string): bigint {
  const usage = usageOf(text)
  const cached = usage.input_tokens_details?.cached_tokens ?? 0
  return priced(
    [usage.input_tokens - cached, IN_USD],
    [cached, CACHED_USD],
    [usage.output_tokens, OUT_USD],
  )
}
