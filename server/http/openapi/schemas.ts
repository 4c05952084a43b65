/** Every schema of the document by name: request forms and responses. */
import { z } from 'zod'
import { amendmentForm, issueForm } from '../read/key-request.ts'
import { chatForm } from '../surfaces/chat/read-request.ts'
import { embeddingsForm } from '../surfaces/embeddings/read-request.ts'
import { messagesForm } from '../surfaces/messages/read-request.ts'
import { rerankForm } from '../surfaces/rerank/read-request.ts'
import { responsesForm } from '../surfaces/responses/read-request.ts'
import { annotate, type JsonSchema } from './notes.ts'
import { completion, image, quote, toolCall } from './schemas/chat-answer.ts'
import { chunk } from './schemas/chat-chunk.ts'
import { CHAT_NOTES, PASSED_ON } from './schemas/chat-request.ts'
import { error, errorFields } from './schemas/error.ts'
import { generation } from './schemas/generation.ts'
import { amendedKey, issuedKey, keyInfo, keyList, keyRecord, revokedKey } from './schemas/key.ts'
import { AMENDMENT_NOTES, ISSUE_NOTES } from './schemas/key-request.ts'
import { contentPart, message, messages } from './schemas/messages.ts'
import {
  MESSAGES_NOTES,
  messagesAnswer,
  messagesCount,
  messagesError,
  messagesEvent,
  messagesModel,
  messagesModels,
} from './schemas/messages-api.ts'
import { modelCard, modelList } from './schemas/model.ts'
import { ITEMS, RESPONSES_NOTES, responsesAnswer, responsesEvent } from './schemas/responses-api.ts'
import {
  DOCUMENTS,
  EMBEDDINGS_NOTES,
  embeddings,
  INPUT,
  RERANK_NOTES,
  ranking,
} from './schemas/results.ts'
import { alive, digest, lowBalance, notice, readiness } from './schemas/service.ts'
import { usage } from './schemas/usage.ts'

/** `ChatRequest`, `KeyIssue` and `KeyAmendment` are the forms that validate requests. */
const SCHEMAS = {
  ChatRequest: chatForm,
  EmbeddingsRequest: embeddingsForm,
  RerankRequest: rerankForm,
  Embeddings: embeddings,
  Ranking: ranking,
  Messages: messages,
  Message: message,
  ContentPart: contentPart,
  ChatCompletion: completion,
  ChatCompletionChunk: chunk,
  Usage: usage,
  ToolCall: toolCall,
  Image: image,
  Quote: quote,
  ResponsesRequest: responsesForm,
  ResponsesAnswer: responsesAnswer,
  ResponsesEvent: responsesEvent,
  MessagesRequest: messagesForm,
  MessagesAnswer: messagesAnswer,
  MessagesEvent: messagesEvent,
  MessagesCount: messagesCount,
  MessagesModel: messagesModel,
  MessagesModels: messagesModels,
  MessagesError: messagesError,
  Model: modelCard,
  ModelList: modelList,
  Generation: generation,
  KeyInfo: keyInfo,
  KeyIssue: issueForm,
  KeyAmendment: amendmentForm,
  Key: keyRecord,
  IssuedKey: issuedKey,
  AmendedKey: amendedKey,
  KeyList: keyList,
  RevokedKey: revokedKey,
  Alive: alive,
  Readiness: readiness,
  LowBalance: lowBalance,
  Notice: notice,
  Digest: digest,
  Error: error,
  ErrorFields: errorFields,
} as const

export type SchemaName = keyof typeof SCHEMAS

export const refTo = (name: SchemaName): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** `components.schemas`. @throws Error if a form and its notes do not match */
export function renderSchemas(): Record<SchemaName, JsonSchema> {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(SCHEMAS)) registry.add(schema, { id })
  const uri = (id: string): string => `#/components/schemas/${id}`
  // `input` is the JSON side of a schema, for requests and responses alike.
  const rendered = z.toJSONSchema(registry, { io: 'input', uri, override: plain }).schemas
  for (const schema of Object.values(rendered)) {
    delete schema.$id
    delete schema.$schema
    liftDescriptions(schema)
  }
  const schemas = rendered as Record<SchemaName, JsonSchema>
  describeRequests(schemas)
  return schemas
}

/** Removes the bounds of safe integers, which zod adds to every integer. */
function plain({ jsonSchema }: { readonly jsonSchema: JsonSchema }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
}

/** Moves a description from the value's schema to the nullable field. */
function liftDescriptions(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return
  for (const part of Object.values(schema)) liftDescriptions(part)
  const { anyOf, description } = schema as JsonSchema
  const value = anyOf?.length === 2 && anyOf[1]?.type === 'null' ? anyOf[0] : undefined
  if (value?.description === undefined || description !== undefined) return
  Object.assign(schema, { description: value.description })
  delete value.description
}

function describeRequests({
  ChatRequest,
  EmbeddingsRequest,
  RerankRequest,
  ResponsesRequest,
  MessagesRequest,
  KeyIssue,
  KeyAmendment,
}: Record<SchemaName, JsonSchema>): void {
  annotate(ChatRequest, CHAT_NOTES)
  Object.assign(ChatRequest, {
    description:
      "OpenAI's whole chat body. Fields that the gateway does not know are passed on to a provider that speaks OpenAI's API, but for those that name what is kept there; null means absent.",
    properties: { ...ChatRequest.properties, messages: refTo('Messages'), ...PASSED_ON },
    additionalProperties: true,
  })
  annotate(EmbeddingsRequest, EMBEDDINGS_NOTES)
  Object.assign(EmbeddingsRequest, {
    description:
      "OpenAI's body. Fields that the gateway does not know are passed on; null means absent.",
    properties: { ...EmbeddingsRequest.properties, input: INPUT },
    required: ['model', 'input'],
    additionalProperties: true,
  })
  annotate(RerankRequest, RERANK_NOTES)
  Object.assign(RerankRequest, {
    description:
      "Cohere's body, or Voyage's. Fields that the gateway does not know are passed on; null means absent.",
    properties: { ...RerankRequest.properties, documents: DOCUMENTS },
    required: ['model', 'query', 'documents'],
    additionalProperties: true,
  })
  annotate(ResponsesRequest, RESPONSES_NOTES)
  Object.assign(ResponsesRequest, {
    description:
      "OpenAI's whole body of the Responses API. Other fields are passed on as they are to a model that answers in this API, and translated for others; `background` and what is kept at a provider are refused.",
    properties: { ...ResponsesRequest.properties, input: ITEMS },
    additionalProperties: true,
  })
  annotate(MessagesRequest, MESSAGES_NOTES)
  Object.assign(MessagesRequest, {
    description:
      "The whole body of Anthropic's API. What is not listed here is passed on as it came, but for `thread`, `mcp_servers`, `fallbacks`, what is kept at the provider, and what no model has a price for: those are refused.",
    additionalProperties: true,
  })
  annotate(KeyIssue, ISSUE_NOTES)
  annotate(KeyAmendment, AMENDMENT_NOTES)
  const kind = {
    type: 'string',
    const: 'ordinary',
    description: 'The only kind that can be made over HTTP',
  }
  Object.assign(KeyIssue, {
    description: 'A key to issue. A limit that is null or left out does not exist.',
    properties: { ...KeyIssue.properties, kind },
    additionalProperties: false,
  })
  Object.assign(KeyAmendment, {
    description:
      'Changes to a key, from its next request. Fields that are left out stay; null removes a limit.',
    additionalProperties: false,
  })
}
