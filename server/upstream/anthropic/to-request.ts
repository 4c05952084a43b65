/** Ours → theirs: a Messages request. Unsupported fields are refused when they would change the answer, otherwise dropped. */
import type { MessageCreateParamsBase } from '@anthropic-ai/sdk/resources/messages'
import type { Conversation } from '#domain/conversation.ts'
import type { Extra } from '#domain/extras.ts'
import { vendorName } from '#domain/provider.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import type { Generate } from '#domain/work.ts'
import { ownThoughts } from '../own-thoughts.ts'
import { rejected, requireGenerate } from '../rejected.ts'
import { ToolNames } from '../tool-names.ts'
import { capabilitiesOf } from './model-capabilities.ts'
import { outputBoundOf } from './output-bound.ts'
import { resolveThinking } from './resolve-thinking.ts'
import { toCacheMark } from './to-content.ts'
import { toFormat } from './to-format.ts'
import { toMessages } from './to-messages.ts'
import { type Sampling, toSampling } from './to-sampling.ts'
import { toThinking } from './to-thinking.ts'
import { toTools } from './to-tools.ts'

export type MessagesRequest = MessageCreateParamsBase & Sampling

/** The body to send. @throws UpstreamFailure `rejected` */
export function toRequest(
  call: Pick<UpstreamCall, 'request' | 'hop' | 'maxOutputTokens'>,
  names: ToolNames = new ToolNames(),
): MessagesRequest {
  const { request, hop } = call
  const { card } = hop
  const asked = requireGenerate(request)
  const conversation = names.renamed(asked.conversation())
  refuseUnsupported(asked, conversation)
  const capabilities = capabilitiesOf(vendorName(card))
  const maxTokens = outputBoundOf(call)
  const said = toMessages(ownThoughts(conversation.turns, hop))
  const { tools, tool_choice: choice } = toTools(conversation, said.messages, capabilities)
  const toolForced = choice?.type === 'any' || choice?.type === 'tool'
  const requested = toThinking(asked.reasoning, vendorName(card), maxTokens, toolForced)
  const { thinking, messages } = resolveThinking(requested, said.messages, capabilities)
  const { format, instruction } = toFormat(conversation.format)
  const system = [...said.system, ...instruction]
  const thinks = thinking.thinking !== undefined && thinking.thinking.type !== 'disabled'
  const output = { ...(thinking.effort && { effort: thinking.effort }), ...(format && { format }) }
  return {
    model: card.upstreamName,
    max_tokens: maxTokens,
    ...(system.length > 0 && { system }),
    messages: messages.map(({ role, content }) => ({ role, content: [...content] })),
    ...(tools && { tools }),
    ...(choice && { tool_choice: choice }),
    ...(thinking.thinking && { thinking: thinking.thinking }),
    ...(Object.keys(output).length > 0 && { output_config: output }),
    ...toSampling(conversation.sampling, capabilities, thinks),
    ...toStop(conversation.stop),
    ...(conversation.endUser !== undefined && { metadata: { user_id: conversation.endUser } }),
    ...toCacheMark(conversation),
    ...toModifiers(asked.extras),
    ...(asked.stream && { stream: true }),
  }
}

/** Speed and region, where the card has a factor for them. */
function toModifiers(extras: readonly Extra[] = []): PricedFields {
  return Object.fromEntries(
    extras.flatMap(({ need }) => (need.kind === 'modifier' ? [[need.field, need.value]] : [])),
  )
}

type PricedFields = Pick<MessageCreateParamsBase, 'speed' | 'inference_geo'>

function toStop(sequences: readonly string[]): { stop_sequences?: string[] } {
  if (sequences.length === 0) return {}
  if (sequences.some((sequence) => sequence.trim() === '')) {
    throw rejected('stop', 'this model stops at no sequence that is made of blanks alone')
  }
  return { stop_sequences: [...sequences] }
}

/** Fields that would change the answer. */
function refuseUnsupported({ choices }: Generate, { logprobs, chatOnly }: Conversation): void {
  if (choices > 1) throw rejected('n', 'this model gives one choice at a time')
  if (logprobs) throw rejected('logprobs', 'this model does not return them')
  for (const { path, isEmpty } of chatOnly) {
    if (path !== 'logit_bias') {
      const hint = path === 'audio' ? '' : '; use tools'
      throw rejected(path, `this model does not know it${hint}`)
    }
    if (!isEmpty) throw rejected(path, 'this model takes none')
  }
}
