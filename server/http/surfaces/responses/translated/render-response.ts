/** A `response` of the gateway's own: the answer, with what was asked of it. */
import type { AnswerHead, JsonObject } from '#domain/chat.ts'
import { readObject } from '#domain/json.ts'
import type { Work } from '#domain/work.ts'

export interface ResponseState {
  readonly status: string
  readonly output: readonly JsonObject[]
  readonly error: JsonObject | null
  readonly incomplete_details: JsonObject | null
  readonly usage: JsonObject | null
}

type Named = Pick<AnswerHead, 'id' | 'createdUnixSeconds' | 'model'>

const toResponseId = (id: string): string => `resp_${toUnique(id)}`

/** What makes the ids of an answer unique. */
export const toUnique = (id: string): string => id.slice(id.indexOf('-') + 1)

/** Its JSON. `echo` is the text of `renderEcho`. */
export function renderResponse(
  { id, createdUnixSeconds, model }: Named,
  echo: string,
  state: ResponseState,
): string {
  const label = { id: toResponseId(id), object: 'response', created_at: createdUnixSeconds, model }
  return `${JSON.stringify({ ...label, ...state }).slice(0, -1)},${echo}}`
}

/** What a response repeats of its request, as members of a JSON object; made once for all the events that have it. */
export function renderEcho({ body }: Pick<Work, 'body'>): string {
  const stated = (field: string, otherwise: unknown): unknown => body[field] ?? otherwise
  const { effort = null, summary = null } = readObject(body['reasoning'])
  const echo = {
    background: false,
    instructions: stated('instructions', null),
    max_output_tokens: stated('max_output_tokens', null),
    metadata: stated('metadata', {}),
    parallel_tool_calls: stated('parallel_tool_calls', true),
    previous_response_id: null,
    prompt_cache_key: stated('prompt_cache_key', null),
    reasoning: { effort, summary },
    safety_identifier: stated('safety_identifier', null),
    service_tier: stated('service_tier', 'default'),
    store: false,
    temperature: stated('temperature', 1),
    text: { format: { type: 'text' }, ...readObject(body['text']) },
    tool_choice: stated('tool_choice', 'auto'),
    tools: stated('tools', []),
    top_logprobs: stated('top_logprobs', 0),
    top_p: stated('top_p', 1),
    truncation: 'disabled',
    user: stated('user', null),
  }
  return JSON.stringify(echo).slice(1, -1)
}
