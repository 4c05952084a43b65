/** Ours → theirs: a conversation of another dialect as the body that a client of the Responses API would send. */
import type { JsonObject } from '#domain/chat.ts'
import type { Conversation, Format, Tool, ToolChoice } from '#domain/conversation.ts'
import { MODIFIER_FIELDS } from '#domain/extras.ts'
import type { Hop } from '#domain/hop.ts'
import { isObject, readObject } from '#domain/json.ts'
import type { Reasoning } from '#domain/thinking.ts'
import type { Dialect, Generate } from '#domain/work.ts'
import { rejected, rejectTool } from '../../rejected.ts'
import type { ToolNames } from '../../tool-names.ts'
import { toTemperature } from '../from-conversation/to-chat.ts'
import { toEffort } from '../from-conversation/to-effort.ts'
import { toSchemaFormat } from '../from-conversation/to-schema-format.ts'
import { toItems } from './to-items.ts'
import { reasons } from './to-request.ts'

/** Without model, bound and what the gateway decides, which every body of this API gets. @throws UpstreamFailure `rejected` */
export function toBody(request: Generate, hop: Hop, names: ToolNames): JsonObject {
  const {
    card,
    provider: { name, type },
  } = hop
  const conversation = request.conversation()
  refuseUnsupported(request, conversation)
  const { turns, toolChoice, parallelToolCalls, logprobs, endUser } = conversation
  const isReasoner = reasons(card)
  const tools = [
    ...conversation.tools.map((tool) => toTool(tool, names)),
    ...toSearch(request.dialect, request.body),
  ]
  const text = toText(request, conversation.format)
  return {
    input: toItems(turns, name, names),
    ...(request.stream && { stream: true }),
    ...(tools.length > 0 && {
      tools,
      ...(toolChoice && { tool_choice: toChoice(toolChoice, conversation.tools, names) }),
      ...(!parallelToolCalls && { parallel_tool_calls: false }),
    }),
    ...(isReasoner && request.reasoning && toReasoning(request.reasoning, request.dialect, hop)),
    ...toTemperature(conversation.sampling, type, isReasoner),
    ...(Object.keys(text).length > 0 && { text }),
    ...(logprobs && {
      include: ['message.output_text.logprobs'],
      ...(logprobs.top && { top_logprobs: logprobs.top }),
    }),
    ...(endUser !== undefined && { user: endUser }),
    ...toShared(request),
  }
}

/** Fields that would change the answer, and that the API has no words for. */
function refuseUnsupported(
  { choices, wantsImages }: Generate,
  { stop, chatOnly }: Conversation,
): void {
  if (choices > 1) throw rejected('n', 'this model gives one choice at a time')
  if (wantsImages) throw rejected('modalities', 'this model draws nothing through this gateway')
  if (stop.length > 0) throw rejected('stop', 'this model stops at no sequence')
  for (const { path, isEmpty } of chatOnly) {
    if (path === 'logit_bias' && isEmpty) continue
    throw rejected(path, 'this model does not know it')
  }
}

/** Fields of chat that have the same name and meaning here. */
const SHARED = [
  ...MODIFIER_FIELDS,
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
] as const

function toShared({ dialect, body }: Generate): JsonObject {
  if (dialect !== 'chat') return {}
  return Object.fromEntries(
    SHARED.flatMap((field) => (isSet(body[field]) ? [[field, body[field]]] : [])),
  )
}

/** Where the client speaks of its thinking, what can be told of it is asked for too. */
function toReasoning(reasoning: Reasoning, dialect: Dialect, hop: Hop): JsonObject {
  const effort = toEffort(reasoning, dialect, hop)
  const summary = reasoning.effort === 'none' ? {} : { summary: 'auto' }
  return { reasoning: { ...(effort !== undefined && { effort }), ...summary } }
}

/** A search that chat asks for beside its tools. Whether it has a price was judged before. */
function toSearch(
  dialect: Dialect,
  { web_search_options: options }: JsonObject,
): readonly JsonObject[] {
  if (dialect !== 'chat' || !isObject(options)) return []
  const { search_context_size: size, user_location: place } = options
  const { approximate } = readObject(place)
  return [
    {
      type: 'web_search',
      ...(isSet(size) && { search_context_size: size }),
      ...(isObject(approximate) && { user_location: { ...approximate, type: 'approximate' } }),
    },
  ]
}

function toTool(tool: Tool, names: ToolNames): JsonObject {
  if (tool.type === 'unknown') throw rejectTool(tool)
  const { name, path, type, description } = tool
  if (name === undefined) throw rejected(path, 'must have a name')
  const words = description ? { description } : {}
  if (type === 'custom') {
    const { format } = tool
    return { type, name: names.toWire(name), ...words, ...(format && { format: toSyntax(format) }) }
  }
  const { $schema: _, ...parameters } = tool.schema ?? NO_PARAMETERS
  return {
    type,
    name: names.toWire(name, tool.namespace),
    ...words,
    parameters,
    // Without it, this API holds the model to a schema that it has changed.
    strict: tool.isStrict,
  }
}

const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} }

/** Chat has the grammar in an object of its own. */
const toSyntax = ({ grammar, ...format }: JsonObject): JsonObject =>
  isObject(grammar) ? { ...format, ...grammar } : format

function toChoice(choice: ToolChoice, tools: readonly Tool[], names: ToolNames): unknown {
  const toNamed = (name: string): JsonObject => {
    const isCustom = tools.some((tool) => tool.type === 'custom' && tool.name === name)
    return { type: isCustom ? 'custom' : 'function', name: names.toWire(name) }
  }
  switch (choice.mode) {
    case 'unknown':
      throw rejected('tool_choice', 'cannot be said on this wire')
    case 'tool':
      return toNamed(choice.name)
    case 'allowed':
      return {
        type: 'allowed_tools',
        mode: choice.isRequired ? 'required' : 'auto',
        tools: choice.names.map(toNamed),
      }
    default:
      return choice.mode
  }
}

function toText(
  { dialect, body: { verbosity } }: Generate,
  format: Format | undefined,
): JsonObject {
  return {
    ...(format && { format: toFormat(format) }),
    ...(dialect === 'chat' && isSet(verbosity) && { verbosity }),
  }
}

const toFormat = (format: Format): JsonObject =>
  format.type === 'json'
    ? { type: 'json_object' }
    : { type: 'json_schema', ...toSchemaFormat(format) }

const isSet = (value: unknown): boolean => value !== undefined && value !== null
