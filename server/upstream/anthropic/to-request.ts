/** Ours → theirs: a Messages request. Unsupported fields are refused when they would change the answer, otherwise dropped. */
import type { MessageCreateParamsBase } from '@anthropic-ai/sdk/resources/messages'
import type { UpstreamCall } from '#domain/upstream.ts'
import type { Work } from '#domain/work.ts'
import { isObject, readList, readText } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import { capabilitiesOf } from './model-capabilities.ts'
import { resolveThinking } from './resolve-thinking.ts'
import { toCacheMark } from './to-content.ts'
import { toFormat } from './to-format.ts'
import { toMessages } from './to-messages.ts'
import { type Sampling, toSampling } from './to-sampling.ts'
import { toThinking } from './to-thinking.ts'
import { toTools } from './to-tools.ts'

/** `max_tokens` is required; used when neither the call nor the model card has one. */
const DEFAULT_MAX_TOKENS = 4_096

export type MessagesRequest = MessageCreateParamsBase & Sampling

/** The body to send. @throws UpstreamFailure `rejected` */
export function toRequest({
  request,
  hop: { card },
  maxOutputTokens,
}: Pick<UpstreamCall, 'request' | 'hop' | 'maxOutputTokens'>): MessagesRequest {
  const { body, stream } = request
  refuseUnsupported(request)
  const capabilities = capabilitiesOf(card.upstreamName)
  const maxTokens = maxOutputTokens ?? card.maxCompletionTokens ?? DEFAULT_MAX_TOKENS
  const conversation = toMessages(body['messages'])
  const { tools, tool_choice: choice } = toTools(body, conversation.turns, capabilities)
  const toolForced = choice?.type === 'any' || choice?.type === 'tool'
  const requested = toThinking(body, card.upstreamName, maxTokens, toolForced)
  const { thinking, turns } = resolveThinking(requested, conversation.turns, capabilities)
  const { format, instruction } = toFormat(body['response_format'])
  const system = [...conversation.system, ...instruction]
  const thinks = thinking.thinking !== undefined && thinking.thinking.type !== 'disabled'
  const output = { ...(thinking.effort && { effort: thinking.effort }), ...(format && { format }) }
  return {
    model: card.upstreamName,
    max_tokens: maxTokens,
    ...(system.length > 0 && { system }),
    messages: turns.map(({ role, content }) => ({ role, content: [...content] })),
    ...(tools && { tools }),
    ...(choice && { tool_choice: choice }),
    ...(thinking.thinking && { thinking: thinking.thinking }),
    ...(Object.keys(output).length > 0 && { output_config: output }),
    ...toSampling(body, capabilities, thinks),
    ...toStop(body['stop']),
    ...toEndUser(request),
    ...toCacheMark(body),
    ...(stream && { stream: true }),
  }
}

function toStop(stop: unknown): { stop_sequences?: string[] } {
  const sequences = (typeof stop === 'string' ? [stop] : readList(stop)).filter(
    (sequence) => typeof sequence === 'string' && sequence !== '',
  ) as string[]
  if (sequences.length === 0) return {}
  if (sequences.some((sequence) => sequence.trim() === '')) {
    throw rejected('stop', 'this model stops at no sequence that is made of blanks alone')
  }
  return { stop_sequences: sequences }
}

function toEndUser({ body, endUser }: Work): { metadata?: { user_id: string } } {
  const user = readText(endUser) ?? readText(body['safety_identifier'])
  return user === undefined ? {} : { metadata: { user_id: user } }
}

/** Fields that would change the answer. */
function refuseUnsupported({ body, choices }: Work): void {
  if (choices > 1) throw rejected('n', 'this model gives one choice at a time')
  if (body['logprobs'] === true) throw rejected('logprobs', 'this model does not return them')
  if (hasEntries(body['logit_bias'])) throw rejected('logit_bias', 'this model takes none')
  for (const field of ['functions', 'function_call', 'audio']) {
    if (body[field] !== undefined) {
      throw rejected(
        field,
        `this model does not know it${field.startsWith('f') ? '; use tools' : ''}`,
      )
    }
  }
}

const hasEntries = (value: unknown): boolean => isObject(value) && Object.keys(value).length > 0
