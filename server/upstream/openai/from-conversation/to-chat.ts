/** Ours → theirs: a conversation of another dialect as the body that a client of chat would send. */
import type { JsonObject } from '#domain/chat.ts'
import type { Conversation, Format, Sampling, Tool, ToolChoice } from '#domain/conversation.ts'
import type { Hop } from '#domain/hop.ts'
import { reasons } from '#domain/offer-cost.ts'
import type { ProviderType } from '#domain/provider.ts'
import type { Generate } from '#domain/work.ts'
import { rejected, rejectTool } from '../../rejected.ts'
import type { ToolNames } from '../../tool-names.ts'
import { toEffort } from './to-effort.ts'
import { toMessages } from './to-messages.ts'
import { toSchemaFormat } from './to-schema-format.ts'

/** Without model, stream and bound, which every body of this family gets. @throws UpstreamFailure `rejected` */
export function toChat(request: Generate, hop: Hop, names: ToolNames): JsonObject {
  const {
    card,
    provider: { type },
  } = hop
  const conversation = request.conversation()
  const { turns, format, stop, logprobs, endUser, cacheKey } = conversation
  const effort =
    reasons(card) && request.reasoning
      ? toEffort(request.reasoning, request.dialect, hop)
      : undefined
  return {
    messages: toMessages(turns, type, names),
    ...toTools(conversation, names),
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(format && { response_format: toFormat(format) }),
    ...toSampling(conversation.sampling, type, reasons(card)),
    ...(stop.length > 0 && { stop }),
    ...(logprobs && { logprobs: true, ...(logprobs.top && { top_logprobs: logprobs.top }) }),
    ...(endUser !== undefined && { user: endUser }),
    ...(cacheKey !== undefined && KNOW_CACHE_KEYS.has(type) && { prompt_cache_key: cacheKey }),
  }
}

/** Others may answer an unknown field with a 400. */
const KNOW_CACHE_KEYS: ReadonlySet<ProviderType> = new Set(['openai', 'azure'])

function toTools(
  { tools, toolChoice, parallelToolCalls }: Conversation,
  names: ToolNames,
): JsonObject {
  if (tools.length === 0) return {}
  return {
    tools: tools.map((tool) => toTool(tool, names)),
    ...(toolChoice && { tool_choice: toChoice(toolChoice, names) }),
    ...(!parallelToolCalls && { parallel_tool_calls: false }),
  }
}

function toTool(tool: Tool, names: ToolNames): JsonObject {
  if (tool.type === 'unknown') throw rejectTool(tool)
  const { name, path, type, description } = tool
  if (name === undefined) throw rejected(path, 'must have a name')
  const words = description ? { description } : {}
  if (type === 'custom') {
    const { format } = tool
    return { type, custom: { name: names.toWire(name), ...words, ...(format && { format }) } }
  }
  const { $schema: _, ...parameters } = tool.schema ?? {}
  return {
    type,
    function: {
      name: names.toWire(name, tool.namespace),
      ...words,
      ...(tool.schema && { parameters }),
      ...(tool.isStrict && { strict: true }),
    },
  }
}

function toChoice(choice: ToolChoice, names: ToolNames): unknown {
  const toNamed = (name: string): JsonObject => ({
    type: 'function',
    function: { name: names.toWire(name) },
  })
  switch (choice.mode) {
    case 'unknown':
      throw rejected('tool_choice', 'cannot be said on this wire')
    case 'tool':
      return toNamed(choice.name)
    case 'allowed': {
      const mode = choice.isRequired ? 'required' : 'auto'
      return {
        type: 'allowed_tools',
        allowed_tools: { mode, tools: choice.names.map(toNamed) },
      }
    }
    default:
      return choice.mode
  }
}

const toFormat = (format: Format): JsonObject =>
  format.type === 'json'
    ? { type: 'json_object' }
    : { type: 'json_schema', json_schema: toSchemaFormat(format) }

/** Providers that answer an unknown field with a 400. */
const WITHOUT_TOP_K: ReadonlySet<ProviderType> = new Set(['openai', 'azure', 'groq', 'mistral'])

function toSampling(sampling: Sampling, type: ProviderType, isReasoner: boolean): JsonObject {
  const { topK, presencePenalty, frequencyPenalty, seed } = sampling
  return {
    ...toTemperature(sampling, type, isReasoner),
    ...(topK !== undefined && !WITHOUT_TOP_K.has(type) && { top_k: topK }),
    ...(presencePenalty !== undefined && { presence_penalty: presencePenalty }),
    ...(frequencyPenalty !== undefined && { frequency_penalty: frequencyPenalty }),
    ...(seed !== undefined && { seed }),
  }
}

/** OpenAI's models that reason refuse a temperature. */
export function toTemperature(
  { temperature, topP }: Sampling,
  type: ProviderType,
  isReasoner: boolean,
): JsonObject {
  if (isReasoner && (type === 'openai' || type === 'azure')) return {}
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
  }
}
